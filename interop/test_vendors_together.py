"""All at once, four fronts before four strict APIs: reasoning, signatures, parallel calls, a picture, a schema."""

import json

import pytest

from fronts import DIALECTS
from fronts.picture import PICTURE, with_picture
from fronts.wishes import ALL_AT_ONCE, SCHEMA
from provider.strict_gemini import DUMMIES

MODELS = ["chat-gpt-6-sol", "responses-gpt-6.1-sol", "anthropic-claude-opus-5-5", "gemini-gemini-3.8-flash"]
EXPRESSION = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
ROLL = {"name": "roll", "description": "Rolls dice", "schema": {**EXPRESSION, "additionalProperties": False}}


# === Where each API has it ===

SCHEMAS = {
    "chat": lambda body: body["response_format"]["json_schema"]["schema"],
    "responses": lambda body: body["text"]["format"]["schema"],
    "anthropic": lambda body: body["output_config"]["format"]["schema"],
    "gemini": lambda body: body["generationConfig"]["responseJsonSchema"],
}
EFFORTS = {
    # It does not take one beside tools.
    "chat": lambda body: "low" if "reasoning_effort" not in body else "refused",
    "responses": lambda body: body["reasoning"]["effort"],
    "anthropic": lambda body: body["output_config"]["effort"],
    "gemini": lambda body: level(body["generationConfig"]["thinkingConfig"]).lower(),
}
# Calls of the turns that have some, and their results, as the second request has them.
CALLS = {
    "chat": lambda body: [len(one["tool_calls"]) for one in body["messages"] if one.get("tool_calls")],
    "responses": lambda body: [len([one for one in body["input"] if one.get("type") == "function_call"])],
    "anthropic": lambda body: [counted for one in body["messages"] if (counted := count(one, "tool_use"))],
    "gemini": lambda body: [
        counted
        for one in body["contents"]
        if (counted := len([part for part in one["parts"] if "functionCall" in part]))
    ],
}
RESULTS = {
    "chat": lambda body: len([one for one in body["messages"] if one["role"] == "tool"]),
    "responses": lambda body: len([one for one in body["input"] if one.get("type") == "function_call_output"]),
    "anthropic": lambda body: count(body["messages"][-1], "tool_result"),
    "gemini": lambda body: len([part for part in body["contents"][-1]["parts"] if "functionResponse" in part]),
}
# Reasoning of the first answer that came back; Chat Completions has none.
THOUGHTS = {
    "chat": lambda body: 1,
    "responses": lambda body: len([one for one in body["input"] if one.get("encrypted_content")]),
    "anthropic": lambda body: sum(count(one, "thinking") for one in body["messages"]),
    "gemini": lambda body: len(
        [
            part
            for one in body["contents"]
            for part in one["parts"]
            if part.get("thoughtSignature") not in (None, *DUMMIES)
        ]
    ),
}


def level(config: dict) -> str:
    """In Google's own spelling, or in that of its client for Python, which passes through."""
    return config.get("thinkingLevel") or config["thinking_level"]


def count(message: dict, kind: str) -> int:
    blocks = message["content"] if isinstance(message["content"], list) else []
    return len([block for block in blocks if block["type"] == kind])


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
