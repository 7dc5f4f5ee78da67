"""Requests that are wrong, on every front, with nothing but HTTP: a clear error in the caller's words, and at once."""

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from harness.models import CLIENT_KEY

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/{model}:generateContent",
}
FRONT = pytest.mark.parametrize("front", PATHS)
MEGABYTE = 1 << 20
# The member that holds the conversation.
TURNS = {"chat": "messages", "responses": "input", "anthropic": "messages", "gemini": "contents"}


def good(front: str) -> dict:
    said = {"role": "user", "content": "Please roll."}
    return {
        "chat": {"messages": [said]},
        "responses": {"input": [said]},
        "anthropic": {"messages": [said], "max_tokens": 64},
        "gemini": {"contents": [{"role": "user", "parts": [{"text": "Please roll."}]}]},
    }[front]


def post(chat, front: str, body, model: str = "dice-{front}", headers: dict | None = None) -> tuple[int, dict, dict]:
    model = model.format(front=front)
    if isinstance(body, dict) and front != "gemini":
        body = {"model": model, **body}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = http.client.HTTPConnection(chat.url.removeprefix("http://"), timeout=60)
    given = {"authorization": f"Bearer {CLIENT_KEY}", "content-type": "application/json", **(headers or {})}
    try:
        connection.request("POST", PATHS[front].format(model=quote(model, safe="")), raw, given)
        answer = connection.getresponse()
        text = answer.read()
        try:
            said = json.loads(text)
        except ValueError:
            said = {"not json": text.decode(errors="replace")}
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, said
    finally:
        connection.close()


def is_refused(front: str, got: tuple[int, dict, dict], *statuses: int) -> str:
    """In the front's own words; gives the message."""
    status, headers, said = got
    assert status in statuses, said
    assert headers["content-type"].startswith("application/json")
    error = said["error"]
    if front == "anthropic":
        assert (said["type"], set(error)) >= ("error", {"type", "message"})
    elif front == "gemini":
        assert error["code"] == status and error["status"].isupper()
    else:
        assert {"message", "type", "param", "code"} <= set(error)
    message = error["message"]
    assert message and len(message) < 2000 and "panicked" not in message
    return message


def still_works(chat, front: str) -> None:
    status, _, said = post(chat, front, good(front))
    assert status == 200 and "42" in json.dumps(said)


NOT_OBJECTS = [b"", b"null", b"[]", b"7", b'"text"', b"{", b'{"model":', b"\xff\xfe", b"[" * 200_000, b"{}{}"]


@FRONT
@pytest.mark.parametrize("body", NOT_OBJECTS, ids=lambda body: body[:12].decode(errors="replace"))
def test_b_ch_01_a_body_that_is_no_request(chat, front, body):
    is_refused(front, post(chat, front, body), 400)
    still_works(chat, front)


@FRONT
@pytest.mark.parametrize("turns", [None, [], {}, 7, [None], [[]], ["text", 7]], ids=json.dumps)
def test_b_ch_01_a_conversation_that_is_none(chat, front, turns):
    message = is_refused(front, post(chat, front, {**good(front), TURNS[front]: turns}), 400)
    assert TURNS[front] in message


@FRONT
def test_b_ch_01_a_conversation_that_is_missing(chat, front):
    body = {name: value for name, value in good(front).items() if name != TURNS[front]}
    assert TURNS[front] in is_refused(front, post(chat, front, body), 400)


def turns_of(front: str, *turns) -> dict:
    return {**good(front), TURNS[front]: [*good(front)[TURNS[front]], *turns]}


# A conversation that no provider takes: role unknown; results without a call, for an unknown one, twice.
STRAY = {
    "chat": {
        "unknown role": [{"role": "wizard", "content": "Hi."}],
        "result without a call": [{"role": "tool", "tool_call_id": "call_1", "content": "42"}],
        "call without a result": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}],
            },
            {"role": "user", "content": "And?"},
        ],
    },
    "responses": {
        "unknown role": [{"role": "wizard", "content": "Hi."}],
        "result without a call": [{"type": "function_call_output", "call_id": "call_1", "output": "42"}],
        "call without a result": [
            {"type": "function_call", "call_id": "call_1", "name": "roll", "arguments": "{}"},
            {"role": "user", "content": "And?"},
        ],
    },
    "anthropic": {
        "unknown role": [{"role": "wizard", "content": "Hi."}],
        "result without a call": [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "42"}]}
        ],
        "call without a result": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "roll", "input": {}}]},
            {"role": "user", "content": "And?"},
        ],
    },
    "gemini": {
        "unknown role": [{"role": "wizard", "parts": [{"text": "Hi."}]}],
        "result without a call": [
            {"role": "user", "parts": [{"functionResponse": {"name": "roll", "response": {"output": "42"}}}]}
        ],
        "call without a result": [
            {"role": "model", "parts": [{"functionCall": {"name": "roll", "args": {}}}]},
            {"role": "user", "parts": [{"text": "And?"}]},
        ],
    },
}


@FRONT
@pytest.mark.parametrize("what", STRAY["chat"])
def test_b_ch_02_turns_that_do_not_fit_together(chat, front, what):
    is_refused(front, post(chat, front, turns_of(front, *STRAY[front][what])), 400)
    still_works(chat, front)


def saying(front: str, content) -> dict:
    turn = {"role": "user", "parts" if front == "gemini" else "content": content}
    return {**good(front), TURNS[front]: [turn]}


@FRONT
@pytest.mark.parametrize(
    "content", [7, True, {"text": 7}, [7], [{"type": "text", "text": 7}], [{"text": 7}]], ids=json.dumps
)
def test_b_ch_03_content_of_the_wrong_type(chat, front, content):
    is_refused(front, post(chat, front, saying(front, content)), 400)


@FRONT
def test_b_ch_03_much_content_is_refused_and_holds_nobody_up(chat, front):
    text = "x" * MEGABYTE
    large = saying(front, [{"text": text}] if front == "gemini" else text)
    with ThreadPoolExecutor() as pool:
        refused = [pool.submit(post, chat, front, large) for _ in range(3)]
        began = time.monotonic()
        still_works(chat, front)
        assert time.monotonic() - began < 10
        for one in refused:
            assert "too long" in is_refused(front, one.result(), 400)


@FRONT
def test_b_ch_03_ten_thousand_parts(chat, front):
    part = {"chat": {"type": "text"}, "responses": {"type": "input_text"}, "anthropic": {"type": "text"}, "gemini": {}}
    content = [{**part[front], "text": "x "} for _ in range(10_000)]
    status, _, said = post(chat, front, saying(front, content))
    assert status in (200, 400), said
    still_works(chat, front)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://169.254.169.254/latest/meta-data", "javascript:alert(1)"]
)
def test_b_ch_03_the_gateway_never_fetches_images_itself(chat, url):
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "Please roll."}]
    status, _, said = post(chat, "chat", saying("chat", content))
    # The provider is told the address as it is; nobody here looks behind it.
    assert status in (200, 400), said
    assert "root:" not in json.dumps(said)


def offering(front: str, *names) -> dict:
    schema = {"type": "object", "properties": {}}
    tools = {
        "chat": [{"type": "function", "function": {"name": name, "parameters": schema}} for name in names],
        "responses": [{"type": "function", "name": name, "parameters": schema, "strict": False} for name in names],
        "anthropic": [{"name": name, "input_schema": schema} for name in names],
        "gemini": [{"functionDeclarations": [{"name": name, "parametersJsonSchema": schema} for name in names]}],
    }
    return {**good(front), "tools": tools[front]}


@FRONT
@pytest.mark.parametrize("names", [("twice", "twice"), ("",), (7,), (None,)], ids=str)
def test_b_ch_04_tools_with_names_that_cannot_be(chat, front, names):
    is_refused(front, post(chat, front, offering(front, *names)), 400)


@FRONT
@pytest.mark.parametrize("name", ["a" * 65, "a" * 129, "with space", "würfeln", "🎲"], ids=lambda name: name[:12])
def test_b_ch_04_tools_with_names_outside_the_rules(chat, front, name):
    status, _, said = post(chat, front, offering(front, name))
    # Some dialects have room for such a name; what none takes is refused and named.
    assert status in (200, 400), said
    still_works(chat, front)


def choosing(front: str, name: str) -> dict:
    choice = {
        "chat": {"tool_choice": {"type": "function", "function": {"name": name}}},
        "responses": {"tool_choice": {"type": "function", "name": name}},
        "anthropic": {"tool_choice": {"type": "tool", "name": name}},
        "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]}}},
    }
    return {**good(front), **choice[front]}


@FRONT
def test_b_ch_05_a_choice_of_a_tool_that_is_hidden(chat, front):
    assert "write_file" in is_refused(front, post(chat, front, choosing(front, "write_file")), 400)
    assert chat.seen == [], "no provider was asked"


@FRONT
@pytest.mark.parametrize(
    "model",
    ["nobody", "DICE-CHAT", "roll", "../../x", "nobody/x", "", "x" * 10_000, "a\nb"],
    ids=lambda name: name[:9],
)
def test_b_ch_07_models_that_nobody_knows(chat, front, model):
    is_refused(front, post(chat, front, good(front), model), 400, 404, 414, 431)
    assert chat.seen == []


NUMBERS = {
    "chat": ["max_tokens", "max_completion_tokens", "temperature", "top_p", "n"],
    "responses": ["max_output_tokens", "temperature", "top_p"],
    "anthropic": ["max_tokens", "temperature", "top_k"],
}


@pytest.mark.parametrize("front", NUMBERS)
@pytest.mark.parametrize("value", ["5", {}, [1], True], ids=json.dumps)
def test_b_ch_09_figures_of_the_wrong_type(chat, front, value):
    for name in NUMBERS[front]:
        message = is_refused(front, post(chat, front, {**good(front), name: value}), 400)
        assert name in message


@FRONT
@pytest.mark.parametrize("value", [-1, 0, 2**63, 1e300], ids=str)
def test_b_ch_09_lengths_that_cannot_be(chat, front, value):
    name = {"chat": "max_tokens", "responses": "max_output_tokens", "anthropic": "max_tokens"}.get(front)
    more = {name: value} if name else {"generationConfig": {"maxOutputTokens": value}}
    got = post(chat, front, {**good(front), **more})
    # OpenAI's dialects leave it to the provider to say how much is too much.
    if not (value == 2**63 and front in ("chat", "responses") and got[0] == 200):
        is_refused(front, got, 400)


@pytest.mark.parametrize("front", ["chat", "responses", "anthropic"])
@pytest.mark.parametrize("value", ["yes", 1, {}], ids=json.dumps)
def test_b_ch_10_a_stream_that_is_neither_wanted_nor_not(chat, front, value):
    assert "stream" in is_refused(front, post(chat, front, {**good(front), "stream": value}), 400)


@pytest.mark.parametrize("n", [2, 1000])
def test_b_ch_10_several_answers_at_once_from_an_agent(chat, n):
    assert "n" in is_refused("chat", post(chat, "chat", {**good("chat"), "n": n}), 400)


@FRONT
def test_b_ch_12_filters_only_take_away(chat, front):
    hidden = {"x-tollgate-include-tools": "write_file,*"}
    status, _, _ = post(chat, front, good(front), headers=hidden)
    assert status == 200
    assert "write_file" not in json.dumps([seen.body for seen in chat.seen])
    nothing = {"x-tollgate-exclude-tools": "*"}
    status, headers, said = post(chat, front, good(front), headers=nothing)
    assert (status, headers["x-tollgate-tools-visible"]) == (200, "0"), said
    many = {"x-tollgate-include-tools": ",".join(f"t{index}" for index in range(10_000))}
    is_refused(front, post(chat, front, good(front), headers=many), 400, 431)


@FRONT
def test_a_wrong_method_and_a_wrong_type_are_told_apart(chat, front):
    connection = http.client.HTTPConnection(chat.url.removeprefix("http://"), timeout=10)
    connection.request("GET", PATHS[front].format(model="dicer"), headers={"authorization": f"Bearer {CLIENT_KEY}"})
    assert connection.getresponse().status in (404, 405)
    connection.close()
    got = post(chat, front, good(front), headers={"content-type": "text/plain"})
    assert got[0] in (200, 400, 415)
