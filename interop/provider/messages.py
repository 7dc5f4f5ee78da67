"""Anthropic Messages, as its servers speak it."""

import json

from provider.words import Answer, Asked, Refusal, Result, halves, need

NAME = "anthropic"
LATEST = "2026-10-21"
SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"
KINDS = {
    "invalid": "invalid_request_error",
    "key": "authentication_error",
    "model": "not_found_error",
    "rate": "rate_limit_error",
    "overloaded": "overloaded_error",
    "length": "invalid_request_error",
    "failed": "api_error",
}


def key(headers) -> str | None:
    return headers.get("x-api-key") or (headers.get("authorization") or "").removeprefix("Bearer ") or None


def blocks_of(content) -> list[dict]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def text_of(content) -> str:
    return "".join(block.get("text", "") for block in blocks_of(content))


def read(body: dict, _path: str) -> Asked:
    messages = body.get("messages")
    need(isinstance(messages, list) and bool(messages), "messages: Field required")
    need(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens: Field required")
    need(messages[0]["role"] == "user", 'messages: first message must use the "user" role')
    said, results, rounds, unsigned = "", [], 0, 0
    pending: set[str] = set()
    for index, message in enumerate(merged(messages)):
        blocks = message["content"]
        need(bool(blocks), f"messages.{index}: all messages must have non-empty content")
        for block in blocks:
            empty = block["type"] == "text" and not block["text"].strip()
            need(not empty, f"messages.{index}: text content blocks must contain non-whitespace text")
        if message["role"] == "assistant":
            need(not pending, f"messages.{index}: `tool_use` ids without `tool_result` blocks: {sorted(pending)}")
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            need(len(set(calls)) == len(calls), f"messages.{index}: `tool_use` ids must be unique")
            signed = any(block.get("signature") == SIGNATURE for block in blocks)
            pending, rounds, unsigned = set(calls), rounds + bool(calls), unsigned + (bool(calls) and not signed)
            continue
        need(message["role"] == "user", f"messages.{index}.role: Input should be 'user' or 'assistant'")
        returned = [block for block in blocks if block["type"] == "tool_result"]
        ids = {block["tool_use_id"] for block in returned}
        need(ids <= pending, f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks")
        need(ids == pending, f"messages.{index}: `tool_use` ids without `tool_result` blocks: {sorted(pending - ids)}")
        need(blocks[: len(returned)] == returned, f"messages.{index}: `tool_result` blocks have to come first")
        pending = set()
        results += [Result(block["tool_use_id"], text_of(block.get("content"))) for block in returned]
        if words := text_of([block for block in blocks if block["type"] == "text"]):
            said, results, rounds, unsigned = words, [], 0, 0
    need(not pending, f"`tool_use` ids were found without `tool_result` blocks: {sorted(pending)}")
    system = text_of(body.get("system"))
    stream = bool(body.get("stream"))
    return Asked(body["model"], stream, system, said, offered(body), tuple(results), rounds, unsigned)


def merged(messages: list[dict]) -> list[dict]:
    """Neighbours of one role are one turn here."""
    found: list[dict] = []
    for message in messages:
        blocks = blocks_of(message["content"])
        if found and found[-1]["role"] == message["role"]:
            found[-1]["content"] += blocks
        else:
            found.append({"role": message["role"], "content": [*blocks]})
    return found


def offered(body: dict) -> tuple[str, ...]:
    names = [tool["name"] for tool in body.get("tools") or [] if tool.get("type", "custom") == "custom"]
    need(len(names) == len(set(names)), "tools: Tool names must be unique.")
    choice = body.get("tool_choice") or {"type": "auto"}
    need(bool(names) or choice["type"] in ("auto", "none"), "tool_choice: there are no tools")
    if choice["type"] == "none":
        return ()
    return (choice["name"],) if choice["type"] == "tool" else tuple(names)


def stop_reason(answer: Answer) -> str:
    if answer.finish == "stop":
        return "tool_use" if answer.calls else "end_turn"
    return {"length": "max_tokens", "refusal": "refusal"}[answer.finish]


def usage(answer: Answer) -> dict:
    """What came from the cache is counted apart here."""
    spent = answer.usage
    return {
        "input_tokens": spent.input - spent.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": spent.cached,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": spent.output,
        "service_tier": "standard",
    }


def parsed(arguments: str) -> dict:
    """A whole answer can only hold objects."""
    try:
        value = json.loads(arguments, parse_constant=lambda _: None)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"unreadable": arguments}


def content(answer: Answer, number: int) -> list[dict]:
    found = []
    if answer.thinking:
        found.append({"type": "thinking", "thinking": answer.thinking, "signature": SIGNATURE})
    if answer.text:
        found.append({"type": "text", "text": answer.text})
    for index, call in enumerate(answer.calls):
        id = call.id or f"toolu_{number:04}{index:04}"
        found.append({"type": "tool_use", "id": id, "name": call.name, "input": parsed(call.arguments)})
    return found


def write(asked: Asked, answer: Answer, number: int, _body: dict) -> dict:
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content(answer, number),
        "stop_reason": stop_reason(answer),
        "stop_sequence": None,
        "usage": usage(answer),
    }


def block_events(block: dict, index: int, raw: str) -> list[dict]:
    if block["type"] == "text":
        begun = {"type": "text", "text": ""}
        parts = [{"type": "text_delta", "text": piece} for piece in Answer(block["text"]).pieces()]
    elif block["type"] == "thinking":
        begun = {"type": "thinking", "thinking": "", "signature": ""}
        parts = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    else:
        begun = {**block, "input": {}}
        parts = [{"type": "input_json_delta", "partial_json": part} for part in ["", *halves(raw)]]
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": part} for part in parts),
        {"type": "content_block_stop", "index": index},
    ]


def events(asked: Asked, answer: Answer, number: int, body: dict) -> list[tuple[str | None, dict | str]]:
    done = write(asked, answer, number, body)
    begun = {**done, "content": [], "stop_reason": None, "usage": {**done["usage"], "output_tokens": 1}}
    found = [{"type": "message_start", "message": begun}]
    raw = iter(call.arguments for call in answer.calls)
    for index, block in enumerate(done["content"]):
        found += block_events(block, index, next(raw) if block["type"] == "tool_use" else "")
        if index == 0:
            found.insert(2, {"type": "ping"})
    last = {"stop_reason": done["stop_reason"], "stop_sequence": None}
    found.append({"type": "message_delta", "delta": last, "usage": {"output_tokens": answer.usage.output}})
    found.append({"type": "message_stop"})
    return [(event["type"], event) for event in found]


def error(refusal: Refusal) -> dict:
    said = {"type": KINDS[refusal.kind], "message": refusal.message}
    return {"type": "error", "error": said, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


def error_event(refusal: Refusal, _number: int) -> tuple[str | None, dict]:
    return "error", error(refusal)


def headers(refusal: Refusal) -> dict[str, str]:
    return {} if refusal.retry_s is None else {"retry-after": str(refusal.retry_s)}


def check_version(headers, body: dict) -> None:
    version = headers.get("anthropic-version")
    need(version in ("2023-06-01", LATEST), "anthropic-version: header is required")
    removed = sorted({"temperature", "top_p", "top_k"} & set(body)) if version == LATEST else []
    need(not removed, f"{removed}: Extra inputs are not permitted")
