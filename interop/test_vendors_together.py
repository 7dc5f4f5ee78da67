"""All at once, four fronts before four strict APIs: reasoning, signatures, parallel calls, a picture, a schema."""

import json

import pytest

from fronts import DIALECTS
from fronts.picture import PICTURE, with_picture
from fronts.places import CALLS, EFFORTS, RESULTS, SCHEMAS, THOUGHTS
from fronts.wishes import ALL_AT_ONCE, MODELS, SCHEMA

EXPRESSION = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
ROLL = {"name": "roll", "description": "Rolls dice", "schema": {**EXPRESSION, "additionalProperties": False}}


def has_picture(body: dict) -> bool:
    text = json.dumps(body)
    return PICTURE in text or PICTURE.replace("+", "-").replace("/", "_") in text


def ask_of_client(front, model: str, asked: dict, stream: bool) -> None:
    """The client runs the tools."""
    history = with_picture(front.dialect)
    heard = front.ask(f"{model}+parallel", history, [ROLL], stream, **asked)
    assert len(heard.calls) == 3
    history = front.go_on(history, heard, {call.id: "It is 42." for call in heard.calls})
    assert "The tool said" in front.ask(f"{model}+parallel", history, [ROLL], stream, **asked).text


def ask_of_agent(front, model: str, asked: dict, stream: bool) -> None:
    """The gateway runs them."""
    heard = front.ask(f"{model}+parallel", with_picture(front.dialect), [], stream, **asked)
    assert [call["status"] for call in heard.told["calls"]] == ["ok"] * 3


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("agent", [None, "dicer"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_all_at_once_passes_between_every_two_apis(chat, dialect, model, agent, stream):
    kind = model.partition("-")[0]
    front = chat.front(DIALECTS[dialect].name, agent)
    front.kept = {"reasoning_details"}
    front.more = getattr(front, "more", frozenset()) | {"obfuscation"}
    asked = dict(ALL_AT_ONCE[dialect])
    if kind == dialect == "chat" and agent is None:
        # What the client says to its own API is passed on as it is, and refused.
        del asked["reasoning_effort"]
    (ask_of_agent if agent else ask_of_client)(front, model, asked, stream)
    assert [(seen.dialect, seen.status) for seen in chat.seen] == [(kind, 200)] * 2
    for seen in chat.seen:
        assert has_picture(seen.body)
        assert SCHEMAS[kind](seen.body) == SCHEMA
        assert EFFORTS[kind](seen.body) == "low"
    second = chat.seen[1].body
    assert (CALLS[kind](second), RESULTS[kind](second)) == ([3], 3)
    assert THOUGHTS[kind](second) == 1, second
