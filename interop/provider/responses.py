"""OpenAI Responses, as its servers speak it."""

from provider import chat
from provider.words import Answer, Asked, Refusal, Result, halves, invalid, need

NAME = "responses"
key = chat.key
error = chat.error
headers = chat.headers


def read(body: dict, _path: str) -> Asked:
    given = body.get("input")
    need(isinstance(given, (str, list)) and bool(given), "'input' must be a string or a list with something in it")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    system, said, results = body.get("instructions") or "", "", []
    rounds, unsigned, before = 0, 0, ""
    pending: set[str] = set()
    for index, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            need(item["call_id"] not in pending, f"input[{index}]: two calls have one id")
            pending.add(item["call_id"])
            rounds += before != "function_call"
            unsigned += before not in ("function_call", "reasoning")
        elif kind == "function_call_output":
            need(item["call_id"] in pending, f"input[{index}]: no tool call found for this output")
            pending.discard(item["call_id"])
            results.append(Result(item["call_id"], chat.text_of(item["output"])))
        elif kind == "reasoning":
            need(bool(item.get("encrypted_content")), f"input[{index}]: items are not kept when `store` is false")
        elif kind == "message" and item.get("role") in ("system", "developer"):
            system += chat.text_of(item["content"])
        elif kind == "message" and item.get("role") == "user":
            said, results, rounds, unsigned = chat.text_of(item["content"]), [], 0, 0
        elif kind == "message" and item.get("role") == "assistant":
            pass
        else:
            raise invalid(f"input[{index}]: the item {kind!r} of {item.get('role')!r} is unknown")
        before = kind
    need(not pending, f"No tool output found for function calls {sorted(pending)}.")
    stream = bool(body.get("stream"))
    return Asked(body["model"], stream, system, said, offered(body), tuple(results), rounds, unsigned)


def offered(body: dict) -> tuple[str, ...]:
    names = [tool["name"] for tool in body.get("tools") or [] if tool["type"] == "function"]
    need(len(names) == len(set(names)), "tools: two have one name")
    choice = body.get("tool_choice", "auto")
    if choice == "none":
        return ()
    if isinstance(choice, dict) and choice["type"] == "allowed_tools":
        names = [tool["name"] for tool in choice["tools"]]
    elif isinstance(choice, dict):
        names = [choice["name"]]
    return tuple(names)


def output(answer: Answer, number: int) -> list[dict]:
    """The items, done."""
    found = []
    if answer.thinking:
        summary = [{"type": "summary_text", "text": answer.thinking}]
        found.append(
            {"id": f"rs_{number:04}", "type": "reasoning", "summary": summary, "encrypted_content": "sealed=="}
        )
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        if answer.finish == "refusal":
            part = {"type": "refusal", "refusal": answer.text}
        status = "incomplete" if answer.finish == "length" else "completed"
        found.append(
            {"id": f"msg_{number:04}", "type": "message", "role": "assistant", "status": status, "content": [part]}
        )
    for index, (id, call) in enumerate(zip(chat.call_ids(answer, number), answer.calls, strict=True)):
        found.append(
            {
                "id": f"fc_{number:04}{index:04}",
                "type": "function_call",
                "status": "completed",
                "call_id": id,
                "name": call.name,
                "arguments": call.arguments,
            }
        )
    return found


def usage(answer: Answer) -> dict:
    spent = answer.usage
    return {
        "input_tokens": spent.input,
        "input_tokens_details": {"cached_tokens": spent.cached, "cache_write_tokens": 0},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": spent.thought},
        "total_tokens": spent.input + spent.output,
    }


def shell(asked: Asked, number: int, body: dict, **more) -> dict:
    return {
        "id": f"resp_{number:04}",
        "object": "response",
        "created_at": chat.CREATED,
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": asked.model,
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": body.get("store", True),
        "temperature": 1.0,
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "user": None,
        "metadata": body.get("metadata") or {},
        **more,
    }


def write(asked: Asked, answer: Answer, number: int, body: dict) -> dict:
    done = {"status": "completed", "output": output(answer, number), "usage": usage(answer)}
    if answer.finish == "length":
        done |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    return shell(asked, number, body, **done)


def item_events(item: dict, index: int) -> list[dict]:
    at = {"output_index": index, "item_id": item["id"]}
    if item["type"] == "reasoning":
        part = item["summary"][0]
        inside = {**at, "summary_index": 0}
        begun = {**item, "summary": []}
        middle = [
            {"type": "response.reasoning_summary_part.added", **inside, "part": {**part, "text": ""}},
            {"type": "response.reasoning_summary_text.delta", **inside, "delta": part["text"]},
            {"type": "response.reasoning_summary_text.done", **inside, "text": part["text"]},
            {"type": "response.reasoning_summary_part.done", **inside, "part": part},
        ]
    elif item["type"] == "message":
        begun = {**item, "status": "in_progress", "content": []}
        middle = message_events(item["content"][0], {**at, "content_index": 0})
    else:
        begun = {**item, "status": "in_progress", "arguments": ""}
        middle = [
            {"type": "response.function_call_arguments.delta", **at, "delta": part}
            for part in halves(item["arguments"])
        ]
        middle.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
    return [
        {"type": "response.output_item.added", "output_index": index, "item": begun},
        *middle,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def message_events(part: dict, at: dict) -> list[dict]:
    if part["type"] == "refusal":
        text, empty, kind, more = part["refusal"], {**part, "refusal": ""}, "refusal", {}
        done = {"type": "response.refusal.done", **at, "refusal": text}
    else:
        text, empty, kind, more = part["text"], {**part, "text": ""}, "output_text", {"logprobs": []}
        done = {"type": "response.output_text.done", **at, "text": text, "logprobs": []}
    pieces = Answer(text).pieces()
    return [
        {"type": "response.content_part.added", **at, "part": empty},
        *({"type": f"response.{kind}.delta", **at, "delta": piece, **more} for piece in pieces),
        done,
        {"type": "response.content_part.done", **at, "part": part},
    ]


def events(asked: Asked, answer: Answer, number: int, body: dict) -> list[tuple[str | None, dict | str]]:
    begun, done = shell(asked, number, body), write(asked, answer, number, body)
    found = [{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}]
    for index, item in enumerate(done["output"]):
        found += item_events(item, index)
    found.append({"type": f"response.{done['status']}", "response": done})
    return [(event["type"], {**event, "sequence_number": place}) for place, event in enumerate(found)]


def error_event(refusal: Refusal, number: int) -> tuple[str | None, dict]:
    _, code = chat.KINDS[refusal.kind]
    said = {"code": code or "server_error", "message": refusal.message, "param": None}
    return "error", {"type": "error", "sequence_number": number, **said}
