"""What a strict provider said about a request: taken, or refused for the right reason in the vendor's own form."""

Answer = tuple[int, dict]
"""Status and JSON, as `harness.asking.ask` returns them."""


def taken(answer: Answer) -> dict:
    status, body = answer
    assert status == 200, body
    return body


def refused_by_openai(answer: Answer, param: str | None, code: str | None, words: str) -> None:
    status, body = answer
    assert status == 400, body
    error = body["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code), error
    assert words in error["message"], error


def refused_by_anthropic(answer: Answer, words: str) -> None:
    status, body = answer
    assert (status, body["type"]) == (400, "error"), body
    assert body["error"]["type"] == "invalid_request_error" and body["request_id"]
    assert words in body["error"]["message"], body


def refused_by_gemini(answer: Answer, words: str) -> None:
    status, body = answer
    assert (status, body["error"]["code"], body["error"]["status"]) == (400, 400, "INVALID_ARGUMENT"), body
    assert words in body["error"]["message"], body
    assert body["error"]["details"][0]["@type"].endswith("google.rpc.BadRequest")
