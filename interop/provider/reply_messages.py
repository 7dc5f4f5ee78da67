"""How Claude answers in Messages: signed thinking, tokens by the marks of the cache, every event."""

from dataclasses import replace

from provider import messages
from provider.issued import Sealed, Visit
from provider.prefix_cache import Counted
from provider.reply import count, think
from provider.strict_messages import thinking_type
from provider.strict_turns import prefix
from provider.words import Answer, Asked, Reply, halves


def reply(asked: Asked, answer: Answer, body: dict, visit: Visit) -> Reply:
    answer = think(answer, thinking_type(body, visit) != "disabled")
    answer = count(answer, prompt(body, visit))
    asked = replace(asked, model=visit.model.name)
    content = blocks(answer, body, visit)
    whole = {
        **messages.write(asked, answer, 0, body),
        "id": visit.issued.id("msg_01", 22),
        "content": content,
        "usage": usage(answer),
    }
    if body["max_tokens"] == 0:
        whole |= {"content": [], "stop_reason": "max_tokens", "usage": {**whole["usage"], "output_tokens": 0}}
    return Reply(whole, events(whole, answer))


def blocks(answer: Answer, body: dict, visit: Visit) -> list[dict]:
    found = []
    turns = messages.merged([one for one in body["messages"] if one["role"] != "system"])
    if answer.thinking:
        shown = (body.get("thinking") or {}).get("display") or visit.model.display
        text = "" if shown == "omitted" else answer.thinking
        sealed = Sealed("", visit.owner, visit.model.name, text, prefix(turns))
        found.append({"type": "thinking", "thinking": text, "signature": visit.issued.seal("EqQB", sealed)})
        if "redacted" in visit.ways:
            found.append({"type": "redacted_thinking", "data": visit.issued.seal("EmwK", sealed)})
    # Thinking was made here; text and calls are as ever.
    for block in messages.content(replace(answer, thinking=""), 0):
        if block["type"] == "tool_use" and block["id"].startswith("toolu_0000"):
            block["id"] = visit.issued.id("toolu_01", 22)
        found.append(block)
    return found


def prompt(body: dict, visit: Visit) -> Counted:
    """In the order of the cache: tools, system, messages."""
    found: list[tuple[object, str | None]] = []

    def add(block: dict) -> None:
        mark = block.get("cache_control")
        plain = {name: value for name, value in block.items() if name != "cache_control"}
        found.append((plain, mark.get("ttl", "5m") if mark else None))

    for block in [*(body.get("tools") or []), *messages.blocks_of(body.get("system"))]:
        add(block)
    for message in body["messages"]:
        for block in messages.blocks_of(message["content"]):
            add({**block, "role": message["role"]})
    if mark := body.get("cache_control"):
        found[-1] = (found[-1][0], mark.get("ttl", "5m"))
    place = (visit.owner, visit.model.name)
    return visit.issued.cache.count_marks(place, found, visit.model.cache_minimum)


def usage(answer: Answer) -> dict:
    spent = answer.usage
    hour = {
        "ephemeral_5m_input_tokens": spent.written - spent.written_1h,
        "ephemeral_1h_input_tokens": spent.written_1h,
    }
    return {
        **messages.usage(answer),
        "input_tokens": spent.input - spent.cached - spent.written,
        "cache_creation_input_tokens": spent.written,
        "cache_creation": hour,
        "output_tokens_details": {"thinking_tokens": spent.thought},
    }


def block_events(block: dict, index: int, raw: str) -> list[dict]:
    if block["type"] == "redacted_thinking":
        return [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_stop", "index": index},
        ]
    found = messages.block_events(block, index, raw)
    if block["type"] != "thinking":
        return found
    parts = [{"type": "thinking_delta", "thinking": part} for part in halves(block["thinking"])]
    parts.append({"type": "signature_delta", "signature": block["signature"]})
    middle = [{"type": "content_block_delta", "index": index, "delta": part} for part in parts]
    return [found[0], *middle, found[-1]]


def events(whole: dict, answer: Answer) -> list[tuple[str | None, dict | str]]:
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    begun["usage"].pop("output_tokens_details")
    found: list[dict] = [{"type": "message_start", "message": begun}]
    raw = iter(call.arguments for call in answer.calls)
    for index, block in enumerate(whole["content"]):
        found += block_events(block, index, next(raw) if block["type"] == "tool_use" else "")
        found.append({"type": "ping"})
    last = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    counted = {name: whole["usage"][name] for name in CUMULATIVE}
    found.append({"type": "message_delta", "delta": last, "usage": counted})
    found.append({"type": "message_stop"})
    return [(event["type"], event) for event in found]


CUMULATIVE = (
    "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens", "output_tokens_details",
)  # fmt: skip
