"""Voice platforms that call tools, from their documents: their requests, signed as they sign them."""

import hmac
import json
import time
import urllib.error
import urllib.request


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, dict]:
    request = urllib.request.Request(url, body, {"content-type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def vapi(url: str, headers: dict[str, str], call: str, *tools: tuple[str, str, dict]) -> tuple[int, dict]:
    """A message with calls: id, name, arguments of each. It has all three lists, as those of the service do."""
    functions = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}} for id, name, arguments in tools
    ]
    listed = [{"id": id, "name": name, "arguments": arguments} for id, name, arguments in tools]
    both = [{"type": "function", "function": {"name": one["function"]["name"]}, "toolCall": one} for one in functions]
    message = {
        "timestamp": int(time.time() * 1000), "type": "tool-calls", "toolCalls": functions, "toolCallList": listed,
        "toolWithToolCallList": both, "call": {"id": call, "type": "inboundPhoneCall"}, "assistant": {"name": "Mary"},
        "artifact": {"messages": []},
    }  # fmt: skip
    status, answer = post(url, json.dumps({"message": message}).encode(), headers)
    for result in answer.get("results", []):
        # Vapi drops what it does not understand without a word.
        assert result.keys() <= {"name", "toolCallId", "result", "error", "message"}, result
        text = result.get("result", result.get("error"))
        assert isinstance(text, str) and "\n" not in text, result
    return status, answer


def retell(url: str, key: str, body: dict, at_ms: int | None = None) -> tuple[int, dict]:
    text = json.dumps(body).encode()
    at = str(at_ms or int(time.time() * 1000))
    digest = hmac.new(key.encode(), text + at.encode(), "sha256").hexdigest()
    status, answer = post(url, text, {"x-retell-signature": f"v={at},d={digest}"})
    assert len(json.dumps(answer)) <= 15_000
    return status, answer
