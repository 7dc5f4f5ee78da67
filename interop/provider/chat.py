"""OpenAI Chat Completions, as its servers speak it."""

from provider.words import Answer, Asked, Refusal, Result, halves, invalid, need

NAME = "chat"
CREATED = 1763200000
KINDS = {
    "invalid": ("invalid_request_error", None),
    "key": ("invalid_request_error", "invalid_api_key"),
    "model": ("invalid_request_error", "model_not_found"),
    "rate": ("requests", "rate_limit_exceeded"),
    "overloaded": ("server_error", None),
    "length": ("invalid_request_error", "context_length_exceeded"),
    "failed": ("server_error", None),
}


def key(headers) -> str | None:
    return (headers.get("authorization") or "").removeprefix("Bearer ") or None


def text_of(content) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def read(body: dict, _path: str) -> Asked:
    messages = body.get("messages")
    need(isinstance(messages, list) and bool(messages), "'messages' must be a list with something in it")
    system, said, results, rounds = "", "", [], 0
    pending: set[str] = set()
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            need(message.get("tool_call_id") in pending, f"messages[{index}]: no call before this result has its id")
            pending.discard(message["tool_call_id"])
            results.append(Result(message["tool_call_id"], text_of(message["content"])))
            continue
        need(not pending, f"messages[{index}]: the calls {sorted(pending)} before it have no result")
        if role in ("system", "developer"):
            system += text_of(message["content"])
        elif role == "user":
            # Pictures of results stand behind them, without a word.
            if (words := text_of(message["content"])) or not results:
                said, results, rounds = words, [], 0
        elif role == "assistant":
            calls = message.get("tool_calls") or []
            need(bool(calls) or message.get("content") is not None, f"messages[{index}]: neither content nor calls")
            pending = {call["id"] for call in calls}
            need(len(pending) == len(calls), f"messages[{index}]: two calls have one id")
            rounds += bool(calls)
        else:
            raise invalid(f"messages[{index}]: the role {role!r} is unknown")
    need(not pending, f"the calls {sorted(pending)} have no result")
    return Asked(body["model"], bool(body.get("stream")), system, said, offered(body), tuple(results), rounds)


def offered(body: dict) -> tuple[str, ...]:
    names = [tool["function"]["name"] for tool in body.get("tools") or [] if tool["type"] == "function"]
    need(len(names) == len(set(names)), "tools: two have one name")
    choice = body.get("tool_choice", "auto")
    if choice == "none":
        return ()
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        names = [tool["function"]["name"] for tool in choice["allowed_tools"]["tools"]]
    elif isinstance(choice, dict):
        names = [choice["function"]["name"]]
    return tuple(names)


def finish(answer: Answer) -> str:
    if answer.finish == "stop":
        return "tool_calls" if answer.calls else "stop"
    return {"length": "length", "refusal": "stop"}[answer.finish]


def usage(answer: Answer) -> dict:
    spent = answer.usage
    return {
        "prompt_tokens": spent.input,
        "completion_tokens": spent.output,
        "total_tokens": spent.input + spent.output,
        "prompt_tokens_details": {"cached_tokens": spent.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": spent.thought,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def call_ids(answer: Answer, number: int) -> list[str]:
    return [call.id or f"call_{number:04}{index:04}" for index, call in enumerate(answer.calls)]


def write(asked: Asked, answer: Answer, number: int, _body: dict) -> dict:
    refused = answer.finish == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused or (answer.calls and not answer.text) else answer.text,
        "refusal": answer.text if refused else None,
        "annotations": [],
    }
    if answer.calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for id, call in zip(call_ids(answer, number), answer.calls, strict=True)
        ]
    return {
        "id": f"chatcmpl-{number:04}",
        "object": "chat.completion",
        "created": CREATED,
        "model": asked.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish(answer)}],
        "usage": usage(answer),
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
    }


def deltas(answer: Answer, number: int) -> list[dict]:
    found = [{"role": "assistant", "content": None if answer.calls and not answer.text else "", "refusal": None}]
    field = "refusal" if answer.finish == "refusal" else "content"
    found += [{field: piece} for piece in answer.pieces()]
    for index, (id, call) in enumerate(zip(call_ids(answer, number), answer.calls, strict=True)):
        function = {"name": call.name, "arguments": ""}
        found.append({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        found += [
            {"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in halves(call.arguments)
        ]
    return found


def events(asked: Asked, answer: Answer, number: int, body: dict) -> list[tuple[str | None, dict | str]]:
    wanted = (body.get("stream_options") or {}).get("include_usage")
    chunk = {
        "id": f"chatcmpl-{number:04}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": asked.model,
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
    }
    # With `include_usage` every chunk has the field, and one more chunk the figures.
    none = {"usage": None} if wanted else {}

    def one(delta: dict, why: str | None) -> dict:
        return {**chunk, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": why}], **none}

    found = [one(delta, None) for delta in deltas(answer, number)] + [one({}, finish(answer))]
    if wanted:
        found.append({**chunk, "choices": [], "usage": usage(answer)})
    return [(None, event) for event in found] + [(None, "[DONE]")]


def error(refusal: Refusal) -> dict:
    kind, code = KINDS[refusal.kind]
    said = {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.code or code}
    return {"error": said}


def error_event(refusal: Refusal, _number: int) -> tuple[str | None, dict]:
    return None, error(refusal)


def headers(refusal: Refusal) -> dict[str, str]:
    return {} if refusal.retry_s is None else {"retry-after": str(refusal.retry_s)}
