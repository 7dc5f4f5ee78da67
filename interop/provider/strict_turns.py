"""What Messages of Anthropic refuses: the order of turns, calls and results, and thinking that is not what it was."""

import re

from provider import messages
from provider.issued import Visit, digest
from provider.words import invalid

ID = re.compile(r"[a-zA-Z0-9_-]+")
THOUGHTS = ("thinking", "redacted_thinking")
DROP = "thinking-binding-controls-2026-08-01"


def check(body: dict, visit: Visit) -> None:
    given = body["messages"]
    check_system(given, visit)
    turns = messages.merged([one for one in given if one["role"] != "system"])
    if turns[0]["role"] != "user":
        raise invalid('messages: first message must use the "user" role')
    for at, turn in enumerate(turns):
        check_text(turn, at, last=at == len(turns) - 1)
    if turns[-1]["role"] == "assistant" and not visit.model.prefill:
        message = "This model does not support assistant message prefill."
        raise invalid(f"{message} The conversation must end with a user message.")
    check_pairs(turns)
    check_thoughts(body, turns, visit)
    if "unconfirmed" in visit.ways and not body.get("tools") and any(calls_of(turn) for turn in turns):
        raise invalid("Requests which include `tool_use` or `tool_result` blocks must define tools.")


def check_system(given: list[dict], visit: Visit) -> None:
    for at, message in enumerate(given):
        if message["role"] != "system":
            continue
        if not visit.model.system_role:
            raise invalid(f"messages.{at}: role 'system' is not supported on this model")
        before = given[at - 1]["role"] if at else None
        after = given[at + 1]["role"] if at + 1 < len(given) else None
        if before != "user" or after not in (None, "assistant"):
            message = "must follow a user message and be the last message or precede an assistant message"
            raise invalid(f"messages.{at}: role 'system' {message}")


def check_text(turn: dict, at: int, last: bool) -> None:
    if not turn["content"] and not (last and turn["role"] == "assistant"):
        message = "all messages must have non-empty content except for the optional final assistant message"
        raise invalid(f"messages.{at}: {message}")
    for block in turn["content"]:
        if block["type"] == "text" and not block["text"]:
            raise invalid("messages: text content blocks must be non-empty")
        if block["type"] == "text" and not block["text"].strip():
            raise invalid("messages: text content blocks must contain non-whitespace text")
    final = turn["content"][-1] if turn["content"] else {}
    if last and turn["role"] == "assistant" and final.get("type") == "text" and final["text"] != final["text"].rstrip():
        raise invalid("messages: final assistant content cannot end with trailing whitespace")


def calls_of(turn: dict) -> list[str]:
    return [block["id"] for block in turn["content"] if block["type"] == "tool_use"]


def check_pairs(turns: list[dict]) -> None:
    known: set[str] = set()
    for at, turn in enumerate(turns):
        if turn["role"] == "user":
            check_results(turn, at, calls_of(turns[at - 1]) if at else [])
            continue
        for index, block in enumerate(turn["content"]):
            if block["type"] != "tool_use":
                continue
            if not ID.fullmatch(block["id"]):
                message = "String should match pattern '^[a-zA-Z0-9_-]+$'"
                raise invalid(f"messages.{at}.content.{index}.tool_use.id: {message}")
            if block["id"] in known:
                raise invalid("messages: `tool_use` ids must be unique")
            known.add(block["id"])
        calls = calls_of(turn)
        kinds = [block["type"] for block in turn["content"]]
        after = kinds[kinds.index("tool_use") :] if calls else []
        answered = at + 1 < len(turns) and not results_missing(turns[at + 1], calls)
        if calls and (not answered or set(after) - {"tool_use"}):
            raise unanswered(at, calls)


def results_missing(turn: dict, calls: list[str]) -> set[str]:
    """Results have to be the first blocks."""
    found = set()
    for block in turn["content"]:
        if block["type"] != "tool_result":
            break
        found.add(block["tool_use_id"])
    return set(calls) - found


def unanswered(at: int, calls: list[str]):
    message = f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(calls)}."
    more = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    return invalid(f"messages.{at}: {message} {more}")


def check_results(turn: dict, at: int, calls: list[str]) -> None:
    seen = set()
    for index, block in enumerate(turn["content"]):
        if block["type"] != "tool_result":
            continue
        id = block["tool_use_id"]
        if id not in calls:
            message = f"unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must"
            message += " have a corresponding `tool_use` block in the previous message."
            raise invalid(f"messages.{at}.content.{index}: {message}")
        if id in seen:
            message = f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            raise invalid(f"messages.{at}.content.{index}: {message}")
        seen.add(id)


def check_thoughts(body: dict, turns: list[dict], visit: Visit) -> None:
    thinking = body.get("thinking") or {}
    drop = (thinking.get("block_binding") or {}).get("prefix_mismatch_behavior") == "drop_block" and DROP in visit.betas
    for at, turn in enumerate(turns):
        for index, block in enumerate(turn["content"]):
            if block["type"] not in THOUGHTS:
                continue
            place = f"messages.{at}.content.{index}"
            if turn["role"] == "user":
                raise invalid(f"{place}: `{block['type']}` blocks may only be specified in assistant messages")
            plain = block["type"] == "thinking"
            made = visit.issued.sealed.get(block["signature"] if plain else block["data"])
            word = "signature" if plain else "data"
            if made is None or (plain and made.text != block["thinking"]):
                raise invalid(f"{place}: Invalid `{word}` in `{block['type']}` block")
            if visit.model.bound and made.model == visit.model.name and made.before != prefix(turns[:at]) and not drop:
                message = f"Invalid `{word}` in `{block['type']}` block: it is bound to a different conversation"
                raise invalid(f"{place}: {message}")
    final = max((at for at, turn in enumerate(turns) if turn["role"] == "assistant"), default=None)
    if thinking.get("type") == "enabled" and final is not None and calls_of(turns[final]):
        first = turns[final]["content"][0]["type"]
        if first not in THOUGHTS:
            message = f"Expected `thinking` or `redacted_thinking`, but found `{first}`. When `thinking` is enabled, a"
            message += " final `assistant` message must start with a thinking block (preceeding the lastmost set of"
            raise invalid(f"messages.{final}.content.0.type: {message} `tool_use` and `tool_result` blocks).")


def prefix(turns: list[dict]) -> str:
    """What a thinking block is bound to: all turns before it, without marks for the cache."""
    return digest([{"role": turn["role"], "content": [plain(block) for block in turn["content"]]} for turn in turns])


def plain(block: dict) -> dict:
    found = {name: value for name, value in block.items() if name != "cache_control" and value not in (None, False)}
    if found.get("type") == "tool_result":
        found["content"] = [plain(one) for one in messages.blocks_of(found.get("content"))]
    return found
