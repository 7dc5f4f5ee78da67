"""What a request says beside its text reaches the provider in the words of its API, or somebody says that it cannot."""

import json
import urllib.request

import pytest

from fronts import DIALECTS, FRONTS
from fronts.picture import PICTURE, with_picture
from harness.models import CLIENT_KEY, KINDS

EITHER = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
ONE_EACH = pytest.mark.parametrize("name", [front.name for front in DIALECTS.values()])
KIND = pytest.mark.parametrize("kind", KINDS)
AGENT = pytest.mark.parametrize("agent", [None, "dicer"])


@pytest.fixture(autouse=True)
def sent(chat):
    yield
    chat.check_sent()


@ONE_EACH
@KIND
@AGENT
def test_a_picture_reaches_every_provider(chat, name, kind, agent):
    front = chat.front(name, agent)
    assert front.ask(f"{kind}-echo", with_picture(front.dialect)).text == "You said: Look."
    [seen] = chat.seen
    assert seen.dialect == kind
    # Google's client writes Base64 for URLs, which stays so on the way to Google.
    body = json.dumps(seen.body)
    assert (PICTURE in body or PICTURE.replace("+", "-").replace("/", "_") in body) and "image/png" in body


def instructed(dialect: str) -> dict:
    return {
        "chat": {},
        "responses": {"instructions": "Speak in rhymes."},
        "anthropic": {"system": "Speak in rhymes."},
        "gemini": {"system_instruction": "Speak in rhymes."},
    }[dialect]


@ONE_EACH
@KIND
@AGENT
def test_instructions_reach_every_provider(chat, name, kind, agent):
    front = chat.front(name, agent)
    history = front.begin("Hello.")
    if front.dialect == "chat":
        history = [{"role": "system", "content": "Speak in rhymes."}, *history]
    said = front.ask(f"{kind}-instructed", history, **instructed(front.dialect)).text
    assert "Speak in rhymes." in said
    assert ("You roll dice for there." in said) == (agent == "dicer")


@ONE_EACH
@KIND
def test_a_limit_of_length_reaches_every_provider(chat, name, kind):
    given = {
        "chat": "max_tokens",
        "responses": "max_output_tokens",
        "anthropic": "max_tokens",
        "gemini": "max_output_tokens",
    }
    front = chat.front(name, "dicer")
    front.ask(f"{kind}-echo", front.begin("Hello."), **{given[front.dialect]: 77})
    body = chat.seen[0].body
    body = body.get("generationConfig", body)
    limits = ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"]
    assert [body[limit] for limit in limits if limit in body] == [77]


# Fields that only one API has; the last two are of nobody's making.
OWN = {
    "chat": {"logit_bias": {"50256": -100}, "metadata": {"a": "b"}, "extra_body": {"brand_new": {"x": [1, None]}}},
    "responses": {"truncation": "auto", "metadata": {"a": "b"}, "extra_body": {"brand_new": {"x": [1, None]}}},
    "anthropic": {"metadata": {"user_id": "u1"}, "extra_body": {"brand_new": {"x": [1, None]}}},
    "gemini": {"safety_settings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]},
}


@ONE_EACH
@AGENT
@EITHER
def test_what_only_one_api_knows_passes_where_both_speak_it(chat, name, agent, stream):
    front = chat.front(name, agent)
    front.ask(f"{front.dialect}-echo", front.begin("Hello."), stream=stream, **OWN[front.dialect])
    body = chat.seen[0].body
    if front.dialect == "gemini":
        assert body["safetySettings"] == [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    else:
        expected = {**OWN[front.dialect], **OWN[front.dialect]["extra_body"]}
        del expected["extra_body"]
        assert {field: body.get(field) for field in expected} == expected
        chat.seen[0].body.pop("brand_new")


@ONE_EACH
def test_what_another_api_has_no_words_for_is_named(chat, name):
    front = chat.front(name, "dicer")
    kind = "gemini" if front.dialect == "anthropic" else "anthropic"
    given = {field: value for field, value in OWN[front.dialect].items() if field != "extra_body"}
    heard = front.ask(f"{kind}-echo", front.begin("Hello."), **given)
    assert heard.text == "You said: Hello."
    assert heard.headers["x-tollgate-lost"]


def execute(chat, dialect: str, call: dict) -> dict:
    """Has a call run that was returned; gives what the client appends."""
    url = f"{chat.url}/v1/mcp/tool/execute?format={dialect}"
    headers = {
        "authorization": f"Bearer {CLIENT_KEY}",
        "content-type": "application/json",
        "x-tollgate-agent": "careful",
    }
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(call).encode(), headers), timeout=10) as answer:
        return json.load(answer)


@ONE_EACH
@EITHER
def test_a_call_that_was_returned_can_be_run_by_the_gateway(chat, name, stream):
    front = chat.front(name, "careful")
    history = front.begin("Please roll.")
    heard = front.ask(f"{front.dialect}-tool-once", history, stream=stream)
    [turn] = heard.native
    if front.dialect == "gemini":
        turn = turn.model_dump(mode="json", by_alias=True, exclude_none=True)
    [call] = {
        "chat": lambda: turn["tool_calls"],
        "responses": lambda: [turn],
        "anthropic": lambda: turn["content"],
        "gemini": lambda: turn["parts"],
    }[front.dialect]()
    message = execute(chat, front.dialect, call)
    heard = front.ask(f"{front.dialect}-tool-once", [*history, *heard.native, message], stream=stream)
    assert "makes 42" in heard.text
    assert heard.finish == "stop"


# OpenAI's helper for Responses in JavaScript takes no event that it does not know.
@pytest.mark.parametrize("name", [name for name in FRONTS if name != "openai-js-responses"])
def test_events_of_the_gateway_disturb_no_client(chat, name):
    front = chat.front(name, "dicer", events="true")
    heard = front.ask(f"{front.dialect}-tool-once", front.begin("Please roll."), stream=True)
    assert "42" in heard.text
    assert heard.finish == "stop"


@ONE_EACH
@EITHER
def test_the_next_model_answers_where_the_first_cannot(chat, name, stream):
    front = chat.front(name)
    heard = front.ask("falls-back", front.begin("Please roll."), stream=stream)
    assert "42" in heard.text
    assert [(seen.dialect, seen.status) for seen in chat.seen] == [
        ("chat", 500),
        ("anthropic", 200),
        ("anthropic", 200),
    ]
