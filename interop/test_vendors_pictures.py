"""Pictures that tools return, four fronts before four strict APIs, beside all else: reasoning, parallel calls, a schema.

Each API has its own place for them: Chat Completions behind all results, in a message of the user; Gemini inside the
result and only as bytes; the others inside the result.
"""

import sys

import pytest

from fronts import DIALECTS
from fronts.picture import PICTURE, results_with_picture
from fronts.places import SCHEMAS, THOUGHTS
from fronts.wishes import ALL_AT_ONCE, MODELS, SCHEMA
from harness import models
from harness.paths import INTEROP

PHOTO = {
    "name": "camera_photo",
    "description": "Takes a photo",
    "schema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
}
PHOTO["schema"]["additionalProperties"] = False
# It binds its thoughts to all that was before them.
BINDING = "claude-opus-5-5"
ADDRESS = "https://example.com/cat.png"
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.fixture(scope="module")
def with_camera(tmp_path_factory):
    """A gateway with a tool that returns pictures."""
    camera = {"transport": "stdio", "command": [sys.executable, str(INTEROP / "servers" / "camera.py")]}
    photographer = {
        "tools": ["camera_photo"],
        "auto_execute": ["camera_photo"],
        "models": ["chat-echo"],
        "max_depth": 4,
    }
    page = {"tools": ["camera_page"], "auto_execute": ["camera_page"], "pinned_tools": ["camera_page"]}
    reader = {**page, "models": ["narrow"], "max_depth": 8}
    plain = {"tools": [], "models": ["chat-echo"]}
    narrow = {**models.model("anthropic", f"{BINDING}+pages-5"), "context_window": 6000, "max_output": 256}
    more = {
        "models": {**models.named_models(), "narrow": narrow},
        "servers": {"camera": camera},
        "default_agent": "plain",
        "agents": {"photographer": photographer, "reader": reader, "plain": plain},
    }
    with models.started(tmp_path_factory.mktemp("camera"), **more) as running:
        running.gateway.wait_for_server("camera")
        yield running


@pytest.fixture
def chat(with_camera):
    with_camera.provider.forget()
    return with_camera


def begin(chat, dialect: str, agent: str | None):
    front = chat.front(DIALECTS[dialect].name, agent)
    front.kept = {"reasoning_details"}
    front.more = getattr(front, "more", frozenset()) | {"obfuscation"}
    return front


def pictures(value) -> int:
    """How many there are in a part of a body, in either spelling of Base64."""
    if isinstance(value, dict):
        return sum(pictures(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(pictures(inner) for inner in value)
    return isinstance(value, str) and PICTURE in value.replace("-", "+").replace("_", "/")


# Pictures of the second request in the places where the vendor takes them.
PLACES = {
    "chat": lambda body: pictures(body["messages"][-1]["content"]) if body["messages"][-1]["role"] == "user" else 0,
    "responses": lambda body: pictures(
        [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
    ),
    "anthropic": lambda body: pictures(
        [block["content"] for block in body["messages"][-1]["content"] if block["type"] == "tool_result"]
    ),
    "gemini": lambda body: pictures(
        [part["functionResponse"]["parts"] for part in body["contents"][-1]["parts"] if "functionResponse" in part]
    ),
}


def wishes(dialect: str, kind: str, agent: str | None) -> dict:
    found = dict(ALL_AT_ONCE[dialect])
    if kind == dialect == "chat" and agent is None:
        # What the client says to its own API is passed on as it is, and refused.
        del found["reasoning_effort"]
    return found


def check(chat, kind: str, count: int) -> None:
    assert [(seen.dialect, seen.status) for seen in chat.seen] == [(kind, 200)] * 2
    second = chat.seen[1].body
    assert (PLACES[kind](second), pictures(second)) == (count, count), second
    assert THOUGHTS[kind](second) == 1, second
    assert all(SCHEMAS[kind](seen.body) == SCHEMA for seen in chat.seen)


@STREAM
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_pictures_of_an_agents_tools_reach_every_api(chat, dialect, model, stream):
    kind = model.partition("-")[0]
    front = begin(chat, dialect, "photographer")
    history = front.begin("Two photos, please.")
    heard = front.ask(f"{model}+photos", history, [], stream, **wishes(dialect, kind, "photographer"))
    assert [call["status"] for call in heard.told["calls"]] == ["ok"] * 2
    assert "Photo 0." in heard.text and "Photo 1." in heard.text
    check(chat, kind, 2)
    go_on_with_all_that_was_done(chat, front, model, [*history, *heard.told["history"]], stream)


def go_on_with_all_that_was_done(chat, front, model: str, history: list, stream: bool) -> None:
    """The next turn, with the messages of `tollgate.history`."""
    asked = wishes(front.dialect, model.partition("-")[0], "photographer")
    front.ask(f"{model}+photos", [*history, *front.begin("Once more.")], [], stream, **asked)
    assert [seen.status for seen in chat.seen] == [200] * 4
    assert [pictures(seen.body) for seen in chat.seen] == [0, 2, 2, 4]


@STREAM
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_results_that_were_shortened_do_not_turn_thoughts_against_the_agent(chat, dialect, stream):
    """What is before a thought is then no longer what the model saw."""
    front = begin(chat, dialect, "reader")
    history = front.begin("Read all pages.")
    heard = front.ask("narrow", history, [], stream)
    assert [call["status"] for call in heard.told["calls"]] == ["ok"] * 5
    assert all(seen.status == 200 for seen in chat.seen), chat.seen
    assert heard.told["ended"] == "answered" and "Page 4." in heard.text
    first = str(chat.seen[-1].body).partition("Page 1.")[0]
    assert "Page 0." in first and first.count("word ") < 100, "the oldest is shortened"
    again = [*history, *heard.told["history"], *front.begin("Once more.")]
    front.ask(f"anthropic-{BINDING}+echo", again, [], stream)
    assert chat.seen[-1].status == 200


@STREAM
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_pictures_of_a_clients_tools_reach_every_api(chat, dialect, model, stream):
    kind = model.partition("-")[0]
    front = begin(chat, dialect, None)
    history = front.begin("Two photos, please.")
    asked = wishes(dialect, kind, None)
    heard = front.ask(f"{model}+photos", history, [PHOTO], stream, **asked)
    assert len(heard.calls) == 2
    history = [*history, *heard.native, *results_with_picture(dialect, heard.calls)]
    assert "Here." in front.ask(f"{model}+photos", history, [PHOTO], stream, **asked).text
    check(chat, kind, 2)


@STREAM
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dialect", ["chat", "responses", "anthropic"])
def test_a_picture_at_an_address_never_fails_the_turn(chat, dialect, model, stream):
    """Gemini takes only bytes in a result; the model is told the address."""
    kind = model.partition("-")[0]
    front = begin(chat, dialect, None)
    history = front.begin("Two photos, please.")
    asked = wishes(dialect, kind, None)
    heard = front.ask(f"{model}+photos", history, [PHOTO], stream, **asked)
    history = [*history, *heard.native, *results_with_picture(dialect, heard.calls, ADDRESS)]
    front.ask(f"{model}+photos", history, [PHOTO], stream, **asked)
    assert [(seen.dialect, seen.status) for seen in chat.seen] == [(kind, 200)] * 2
    assert str(chat.seen[1].body).count(ADDRESS) == 2
