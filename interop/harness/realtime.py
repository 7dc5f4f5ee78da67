"""Live talks with OpenAI's official clients, in Python and in JavaScript, each with the same verbs."""

import asyncio
import base64
import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass, field

from openai import AsyncOpenAI
from websockets.exceptions import ConnectionClosed

from harness import sound
from harness.paths import INTEROP, NODE

LIMIT_S = 60
RATE = 24_000
FRAME = RATE * 2 // 10
LIGHTS = {
    "type": "function",
    "name": "lights",
    "description": "Switches the lights",
    "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
}
ON = "they are on"


@dataclass
class Heard:
    said: list[str] = field(default_factory=list)
    """By the model, one by one."""
    calls: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    """Which events there were, in order."""
    tools: list[str] = field(default_factory=list)
    """In the session's configuration, as it was told last."""
    audio: list[dict] = field(default_factory=list)
    """What was heard: `at` which second, in which `response`, and the `text` that the audio spells."""
    raw: str = ""
    """All that came, as text."""
    closed: list | None = None


@dataclass
class Talk:
    """A model and what is done, step by step: `say` (in writing), `audio`, `sound`, `send` (an event as it is), each until the
    model has said something that contains `until`, or the kind of event that `seen` names has come."""

    model: str
    steps: list[dict]
    instructions: str | None = None


def python(url: str, key: str, talk: Talk) -> Heard:
    """openai."""
    return asyncio.run(asyncio.wait_for(_python(url, key, talk), LIMIT_S))


async def _python(url: str, key: str, talk: Talk) -> Heard:
    client = AsyncOpenAI(api_key=key, base_url=f"{url}/v1")
    heard = Heard()
    options = {"max_size": None}
    try:
        async with client.realtime.connect(model=talk.model, websocket_connection_options=options) as connection:
            session = {"type": "realtime", "tools": [LIGHTS], "audio": {"input": {"transcription": {"model": "whisper-1"}}}}
            if talk.instructions:
                session["instructions"] = talk.instructions
            await connection.session.update(session=session)
            for step in talk.steps:
                before = len(heard.said), len(heard.kinds)
                await _do(connection, step)
                while not _is_met(step, heard, before):
                    await _take(connection, await connection.recv(), heard)
    except ConnectionClosed as closed:
        heard.closed = [closed.rcvd.code, closed.rcvd.reason] if closed.rcvd else [1006, ""]
    return heard


def _is_met(step: dict, heard: Heard, before: tuple[int, int]) -> bool:
    said, kinds = heard.said[before[0] :], heard.kinds[before[1] :]
    return any(step["until"] in line for line in said) if "until" in step else step.get("seen") in [None, *kinds]


async def _do(connection, step: dict) -> None:
    if "say" in step:
        content = [{"type": "input_text", "text": step["say"]}]
        await connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        await connection.response.create()
    if "audio" in step:
        await connection.input_audio_buffer.append(audio=base64.b64encode(step["audio"].encode()).decode())
    if "sound" in step:
        spoken = sound.encode(step["sound"], RATE)
        for at in range(0, len(spoken), FRAME):
            await connection.input_audio_buffer.append(audio=base64.b64encode(spoken[at : at + FRAME]).decode())
    if "send" in step:
        await connection.send(step["send"])


async def _take(connection, event, heard: Heard) -> None:
    heard.kinds.append(event.type)
    heard.raw += event.to_json(indent=None) if len(getattr(event, "delta", "")) < 1000 else ""
    if event.type == "response.output_audio.delta" and len(event.delta) < 1000:
        text = base64.b64decode(event.delta).decode()
        heard.audio.append({"at": time.monotonic(), "response": event.response_id, "text": text})
    elif event.type == "response.output_audio_transcript.done":
        heard.said.append(event.transcript)
    elif event.type == "error":
        heard.errors.append(event.error.code)
    elif event.type == "session.updated":
        heard.tools = [tool.name for tool in event.session.tools]
    elif event.type == "response.done":
        calls = [item for item in event.response.output if item.type == "function_call"]
        for call in calls if event.response.status == "completed" else []:
            heard.calls.append(call.name)
            answer = {"type": "function_call_output", "call_id": call.call_id, "output": ON}
            await connection.conversation.item.create(item=answer)
        if calls and event.response.status == "completed":
            await connection.response.create()


def node(program: str):
    def run(url: str, key: str, talk: Talk) -> Heard:
        asked = {"url": url, "key": key, "lights": LIGHTS, "on": ON, **asdict(talk)}
        for step in asked["steps"]:
            if "sound" in step:
                step["encoded"] = base64.b64encode(sound.encode(step["sound"], RATE)).decode()
        trust = os.environ.get("TOLLGATE_TEST_CA")
        done = subprocess.run(
            [str(NODE), str(INTEROP / "clients" / program), json.dumps(asked)],
            cwd=INTEROP,
            env={**os.environ, **({"NODE_EXTRA_CA_CERTS": trust} if trust else {})},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        try:
            return Heard(**json.loads(done.stdout.splitlines()[-1]))
        except (IndexError, ValueError):
            raise AssertionError(f"it heard nothing (exit {done.returncode}):\n{done.stderr[-3000:]}") from None

    return run


CLIENTS = {"python": python, "javascript": node("openai_realtime.mjs"), "agents": node("openai_agents.mjs")}


def sideband(url: str, key: str, call_id: str, until: str) -> Heard:
    """openai in Python, on a call that somebody else holds."""
    return asyncio.run(asyncio.wait_for(_sideband(url, key, call_id, until), LIMIT_S))


async def _sideband(url: str, key: str, call_id: str, until: str) -> Heard:
    client = AsyncOpenAI(api_key=key, base_url=f"{url}/v1")
    heard = Heard()
    async with client.realtime.connect(call_id=call_id) as connection:
        await _do(connection, {"say": "Look it up."})
        while not any(until in said for said in heard.said):
            await _take(connection, await connection.recv(), heard)
    return heard
