"""The script of steps, for both generations of the Python SDK. See README.md for the steps.

The two generations differ in how they connect, cancel and watch; that part is in `Peer`, made by py1.py and py2.py.
Everything else has the same names in both.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Peer:
    """A connected client, and what it has heard."""

    client: Any
    protocol: str
    prompt_ref: Callable[[str], Any]
    uri: Callable[[str], Any]
    cancel: Callable[[], Awaitable[None]]
    watch_tools: Callable[[], Awaitable[None]]
    watch_resource: Callable[[str], Awaitable[None]]


@dataclass
class Heard:
    """Filled by callbacks while steps run."""

    questions: list[str] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    tools_changed: asyncio.Event = field(default_factory=asyncio.Event)
    resource_updated: asyncio.Event = field(default_factory=asyncio.Event)

    def reply(self, message: str) -> dict[str, Any]:
        self.questions.append(message)
        return self.answer or {"action": "decline"}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--url")
    target.add_argument("--command", type=json.loads, help="a JSON list: program and arguments")
    parser.add_argument("--era", choices=["legacy", "modern", "auto"], default="auto")
    parser.add_argument("--steps", type=json.loads, required=True)
    return parser.parse_args()


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def every_page(fetch: Callable[..., Awaitable[Any]], key: str) -> list[Any]:
    items: list[Any] = []
    cursor = None
    while True:
        page = plain(await (fetch(cursor=cursor) if cursor else fetch()))
        items += page[key]
        cursor = page.get("nextCursor")
        if not cursor:
            return items


async def call(peer: Peer, heard: Heard, step: dict[str, Any]) -> dict[str, Any]:
    progress: list[list[float]] = []

    async def on_progress(done: float, total: float | None, _message: str | None) -> None:
        progress.append([done, total])

    heard.questions.clear()
    heard.answer = step.get("answer")
    arguments = step.get("arguments", {})
    more = {"meta": step["meta"]} if "meta" in step else {}
    calling = peer.client.call_tool(step["name"], arguments, progress_callback=on_progress, **more)
    running = asyncio.ensure_future(calling)
    if "cancel_after_ms" in step:
        # As soon as it surely runs: it has told how far it is.
        for _ in range(step["cancel_after_ms"] // 20):
            if progress:
                break
            await asyncio.sleep(0.02)
        await peer.cancel()
        running.cancel()
        await asyncio.wait([running], timeout=2)
        return {"cancelled": True, "progress": progress}
    result = plain(await running)
    return {"result": result, "progress": progress, "questions": list(heard.questions)}


async def count_rises(peer: Peer, heard: Heard, step: dict[str, Any]) -> dict[str, Any]:
    """Runs the inner step and waits until the number that a tool tells has become larger."""

    async def number() -> int:
        return int(plain(await peer.client.call_tool(step["name"], {}))["content"][0]["text"])

    before = await number()
    inner = await run_step(peer, heard, step["during"])
    while await number() <= before:
        await asyncio.sleep(0.05)
    return {"rose": True, "during": inner}


async def wait(event: asyncio.Event, step: dict[str, Any]) -> dict[str, Any]:
    await asyncio.wait_for(event.wait(), step.get("timeout_ms", 5000) / 1000)
    event.clear()
    return {"heard": True}


async def run_step(peer: Peer, heard: Heard, step: dict[str, Any]) -> dict[str, Any]:
    client = peer.client
    match step["do"]:
        case "list_tools":
            return {"tools": await every_page(client.list_tools, "tools")}
        case "call":
            return await call(peer, heard, step)
        case "list_resources":
            return {"resources": await every_page(client.list_resources, "resources")}
        case "list_templates":
            return {"templates": await every_page(client.list_resource_templates, "resourceTemplates")}
        case "read":
            return {"contents": plain(await client.read_resource(peer.uri(step["uri"])))["contents"]}
        case "list_prompts":
            return {"prompts": await every_page(client.list_prompts, "prompts")}
        case "prompt":
            return {"messages": plain(await client.get_prompt(step["name"], step["arguments"]))["messages"]}
        case "complete":
            result = await client.complete(peer.prompt_ref(step["prompt"]), step["argument"])
            return {"values": plain(result)["completion"]["values"]}
        case "count_rises":
            return await count_rises(peer, heard, step)
        case "watch_tools":
            heard.tools_changed.clear()
            await peer.watch_tools()
            return {}
        case "watch_resource":
            await peer.watch_resource(step["uri"])
            return {}
        case "wait_tools_changed":
            return await wait(heard.tools_changed, step)
        case "wait_resource_updated":
            return await wait(heard.resource_updated, step)
        case other:
            raise ValueError(f"unknown step {other}")


async def run_steps(peer: Peer, heard: Heard, steps: list[dict[str, Any]]) -> None:
    """Runs the steps in turn; a failing one is recorded and the next one still runs."""
    seen = []
    for step in steps:
        try:
            seen.append(await asyncio.wait_for(run_step(peer, heard, step), step.get("limit_ms", 10_000) / 1000))
        except Exception as error:
            code = getattr(getattr(error, "error", None), "code", None)
            seen.append({"error": {"code": code, "message": str(error), "type": type(error).__name__}})
    json.dump({"protocol": peer.protocol, "steps": seen}, sys.stdout)
    sys.stdout.write("\n")
    sys.stdout.flush()
