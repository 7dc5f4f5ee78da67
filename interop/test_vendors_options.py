"""What a client asks for, before models that refuse it: the gateway leaves out or rewrites what a model does not take.

Every request goes to a provider that judges it as the vendor does. A client of the same dialect goes through an agent:
the gateway does not rewrite its request otherwise.
"""

import pytest

from harness.asking import ask
from harness.models import CLIENT_KEY, STRICT

CLOSED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
OPEN = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "s": {"type": "string", "pattern": "a"}},
}
REFERRING = {
    **CLOSED,
    "properties": {"n": {"$ref": "#/$defs/N", "title": "A number"}},
    "$defs": {"N": {"type": "integer"}},
}
EITHER_OBJECT = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}


def text(role: str, words: str) -> dict:
    return {"role": role, "content": words}


def contents(*turns: tuple[str, str]) -> list[dict]:
    return [{"role": role, "parts": [{"text": words}]} for role, words in turns]


BASE = {
    "chat": {"messages": [text("user", "Hello.")]},
    "responses": {"input": [text("user", "Hello.")], "store": False},
    "anthropic": {"messages": [text("user", "Hello.")], "max_tokens": 4096},
    "gemini": {"contents": contents(("user", "Hello."))},
}


def tool(name: str, schema: dict) -> dict[str, dict]:
    return {
        "chat": {"tools": [{"type": "function", "function": {"name": name, "parameters": schema}}]},
        "responses": {"tools": [{"type": "function", "name": name, "parameters": schema, "strict": False}]},
        "anthropic": {"tools": [{"name": name, "input_schema": schema}]},
        "gemini": {"tools": [{"functionDeclarations": [{"name": name, "parametersJsonSchema": schema}]}]},
    }


def effort(level: str) -> dict[str, dict]:
    return {
        "chat": {"reasoning_effort": level},
        "responses": {"reasoning": {"effort": level}},
        "anthropic": {"output_config": {"effort": level}},
        "gemini": {"generationConfig": {"thinkingConfig": {"thinkingLevel": level.upper()}}},
    }


def only(changes: dict[str, dict], *dialects: str) -> dict[str, dict]:
    return {dialect: changes[dialect] for dialect in dialects}


def joined(*changes: dict[str, dict]) -> dict[str, dict]:
    return {dialect: {**changes[0][dialect], **changes[1][dialect]} for dialect in changes[1]}


def generation(**config) -> dict:
    return {"generationConfig": config}


JSON = {"responseMimeType": "application/json"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "1"}
LONG_ID = "functions.roll:0/" + "x" * 60
ITEM = {"type": "function_call", "call_id": "call_1", "name": "roll", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
PART = {"functionCall": {"name": "roll", "args": {}}}
ANSWER = {"functionResponse": {"name": "roll", "response": {"output": "1"}}}
ROLL = tool("roll", {"type": "object", "properties": {"a": {"type": "string"}}})


def schema(given: dict) -> dict[str, dict]:
    return {
        "chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "it", "schema": given}}},
        "responses": {"text": {"format": {"type": "json_schema", "name": "it", "schema": given}}},
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": given}}},
        "gemini": generation(**JSON, responseJsonSchema=given),
    }


def middle(role: str) -> list[dict]:
    return [text("user", "A"), text("assistant", "B"), text(role, "S"), text("user", "C")]


# Name -> what each client sends.
CASES: dict[str, dict[str, dict]] = {
    "nothing": {dialect: {} for dialect in BASE},
    "temperature": {
        **{dialect: {"temperature": 0.5} for dialect in ("chat", "responses", "anthropic")},
        "gemini": generation(temperature=0.5),
    },
    "temperature and top_p": {
        **{dialect: {"temperature": 0.5, "top_p": 0.5} for dialect in ("chat", "responses")},
        "gemini": generation(temperature=0.5, topP=0.5),
    },
    "top_k": {"anthropic": {"top_k": 5}, "gemini": generation(topK=5)},
    "forced tool": joined(
        ROLL,
        {
            "chat": {"tool_choice": "required"},
            "responses": {"tool_choice": {"type": "function", "name": "roll"}},
            "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
        },
    ),
    "closed schema": schema(CLOSED),
    "open schema": only(schema(OPEN), "chat", "responses"),
    "schema with references": only(schema(REFERRING), "chat", "responses", "anthropic"),
    "JSON": {"gemini": generation(**JSON)},
    "short answer": {
        "chat": {"max_tokens": 5},
        "anthropic": {"max_tokens": 5},
        "gemini": generation(maxOutputTokens=5),
    },
    "five stops": {"anthropic": {"stop_sequences": list("abcde")}, "gemini": generation(stopSequences=list("abcde"))},
    "late system prompt": {"chat": {"messages": middle("system")}, "responses": {"input": middle("developer")}},
    "assistant first": {
        "chat": {"messages": [text("assistant", "B"), text("user", "A")]},
        "responses": {"input": [text("assistant", "B"), text("user", "A")]},
        "gemini": {"contents": contents(("model", "B"), ("user", "A"))},
    },
    "prefill": {
        "chat": {"messages": [text("user", "A"), text("assistant", "B ")]},
        "responses": {"input": [text("user", "A"), text("assistant", "B ")]},
        "anthropic": {"messages": [text("user", "A"), text("assistant", "B ")]},
        "gemini": {"contents": contents(("user", "A"), ("model", "B "))},
    },
    "blank text": {
        "chat": {"messages": [text("user", "A"), text("assistant", " "), text("user", "C")]},
        "responses": {"input": [text("user", "A"), text("assistant", " "), text("user", "C")]},
        "gemini": {"contents": contents(("user", "A"), ("model", " "), ("user", "C"))},
    },
    "words before a result": joined(
        ROLL, {"responses": {"input": [text("user", "A"), ITEM, text("user", "?"), OUTPUT]}}
    ),
    "text between calls": joined(
        ROLL,
        {
            "responses": {
                "input": [
                    text("user", "A"), ITEM, text("assistant", "and"), {**ITEM, "call_id": "call_2"}, OUTPUT,
                    {**OUTPUT, "call_id": "call_2"},
                ]
            },
            "gemini": {
                "contents": [
                    *contents(("user", "A")),
                    {"role": "model", "parts": [PART, {"text": "wait"}]},
                    {"role": "user", "parts": [ANSWER]},
                ]
            },
        },
    ),
    "one id twice": joined(ROLL, {"chat": {"messages": [text("user", "A"), CALLED, RESULT, CALLED, RESULT]}}),
    "long id": joined(
        ROLL,
        {
            "chat": {
                "messages": [
                    text("user", "A"),
                    {**CALLED, "tool_calls": [{**CALL, "id": LONG_ID}]},
                    {**RESULT, "tool_call_id": LONG_ID},
                ]
            }
        },
    ),
    "tool with references": only(tool("roll", REFERRING), "chat", "responses", "anthropic"),
    "schema of alternatives": only(tool("roll", EITHER_OBJECT), "chat", "responses", "gemini"),
    "name with dots": only(tool("a.b", CLOSED), "gemini"),
    "long name": only(tool("n" * 70, CLOSED), "anthropic", "gemini"),
    "effort none": only(effort("none"), "chat", "responses"),
    "effort minimal": only(effort("minimal"), "chat", "responses", "gemini"),
    "effort low": effort("low"),
    "effort xhigh": only(effort("xhigh"), "chat", "responses", "anthropic"),
    "effort max": only(effort("max"), "chat", "responses", "anthropic"),
    "tools and effort": joined(effort("low"), ROLL),
    "thinking budget": {
        "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        "gemini": generation(thinkingConfig={"thinkingBudget": 2048}),
    },
    "no thinking": {"anthropic": {"thinking": {"type": "disabled"}}},
}  # fmt: skip


def pairs(case: str, kind: str) -> list[tuple[str, str]]:
    """The clients and models of a case."""
    changes = CASES[case]
    return [
        (dialect, model)
        for dialect in changes
        for model in STRICT[kind]
        if dialect != kind or "tools" not in changes[dialect]
    ]


@pytest.mark.parametrize("case, kind", [(case, kind) for case in CASES for kind in STRICT if pairs(case, kind)])
def test_a_model_is_sent_only_what_it_takes(chat, case, kind):
    refused = []
    for dialect, model in pairs(case, kind):
        chat.provider.forget()
        agent = {"x_tollgate_agent": "dicer"} if dialect == kind else {}
        body = {**BASE[dialect], **CASES[case][dialect], "model": f"{kind}-{model}+echo"}
        status, answer = ask(chat.url, dialect, body, CLIENT_KEY, **agent)
        if (status, [seen.status for seen in chat.seen]) != (200, [200]):
            refused.append(f"{dialect} -> {model}: {answer}")
    assert not refused, "\n".join(refused)
