"""The fake provider as Anthropic's Messages: what it refuses and why, and what it takes."""

import pytest

from harness.asking import ask
from harness.judgement import refused_by_anthropic as refused
from harness.judgement import taken

MODEL = "claude-opus-4-8"
CLOSED = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
CLOSED |= {"additionalProperties": False}
ROLL = {"name": "roll", "input_schema": CLOSED}
USER = {"role": "user", "content": "Please roll."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "roll", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "42"}
TEXT = {"type": "text", "text": "Hm."}
MANUAL = {"type": "enabled", "budget_tokens": 1024}


def said(*blocks) -> dict:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks) -> dict:
    return {"role": "user", "content": list(blocks)}


def send(provider, script: str = "echo", model: str = MODEL, beta: str = "", **body) -> tuple[int, dict]:
    given = {"model": f"{model}+{script}", "messages": [USER], "max_tokens": 4096, **body}
    return ask(provider.url, "anthropic", given, **({"anthropic_beta": beta} if beta else {}))


def schema(**more) -> dict:
    return {"output_config": {"format": {"type": "json_schema", "schema": {**CLOSED, **more}}}}


MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
FORM = [
    ({"messages": []}, "messages: at least one message is required"),
    ({"n": 2}, "n: Extra inputs are not permitted"),
    ({"mcp_servers": []}, "mcp_servers: Extra inputs are not permitted"),
    ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
    (
        {"messages": [{"role": "robot", "content": ""}]},
        "messages.0.role: Input should be 'user', 'assistant' or 'system'",
    ),
    ({"messages": [user({"type": "news"})]}, "Input tag 'news' found using 'type' does not match"),
    ({"messages": [user({**TEXT, "more": 1})]}, "messages.0.content.0.text.more: Extra inputs are not permitted"),
    ({"messages": [said(TEXT), USER]}, 'first message must use the "user" role'),
    ({"messages": [user({"type": "text", "text": ""})]}, "text content blocks must be non-empty"),
    ({"messages": [user({"type": "text", "text": " "})]}, "text content blocks must contain non-whitespace text"),
    ({"messages": [{"role": "user", "content": []}]}, "all messages must have non-empty content"),
    ({"messages": [USER, said(TEXT)]}, "does not support assistant message prefill"),
    ({"thinking": {"type": "enabled"}}, "thinking.enabled.budget_tokens: Field required"),
    ({"output_config": {"effort": "some"}}, "output_config.effort: Input should be 'low'"),
    ({"tool_choice": {"type": "auto"}}, "may only be specified while providing tools"),
    ({"tools": [ROLL], "tool_choice": {"type": "tool", "name": "add"}}, "Tool 'add' not found"),
    ({"tools": [ROLL, ROLL]}, "Tool names must be unique"),
    ({"tools": [{**ROLL, "name": "a.b"}]}, "tools.0.custom.name: String should match pattern"),
    ({"tools": [{**ROLL, "parameters": {}}]}, "parameters: Extra inputs are not permitted"),
    ({"tools": [{"name": "a", "input_schema": {}}]}, "input_schema.type: Field required"),
    ({"tools": [{"name": "a", "input_schema": {"type": "object", "anyOf": []}}]}, "at the top level"),
    ({"tools": [{**ROLL, "strict": True, "input_schema": {"type": "object"}}]}, "'additionalProperties' must be"),
    (schema(additionalProperties=True), "'additionalProperties' must be explicitly set to false"),
    (schema(properties={"a": {"type": "integer", "minimum": 1}}), "property 'minimum' is not supported"),
    (schema(properties={"a": {"type": "string", "maxLength": 1}}), "property 'maxLength' is not supported"),
    (schema(properties={"a": {"type": "array", "minItems": 2}}), "'minItems' values other than 0 or 1"),
    ({"max_tokens": 0, "stream": True}, "max_tokens: 0 cannot be used with `stream`"),
    (
        {"messages": [user(*[{**TEXT, **MARK}] * 5)]},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    ({"messages": [user({**TEXT, **MARK}, {**TEXT, **HOUR})]}, "must not come after a ttl='5m'"),
    ({"messages": [user({"type": "text", "text": "", **MARK})]}, "cache_control cannot be set for empty text blocks"),
]
PAIRS = [
    ([USER, said(CALL)], "prefill"),
    ([USER, said(CALL), USER], "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after"),
    ([USER, said(CALL), user(TEXT, RESULT)], "without `tool_result` blocks immediately after: toolu_1"),
    ([USER, said(CALL, {**CALL, "id": "toolu_2"}), user(RESULT)], "without `tool_result` blocks immediately after"),
    ([USER, said(CALL, TEXT), user(RESULT)], "without `tool_result` blocks immediately after"),
    ([USER, said(TEXT), user(RESULT)], "unexpected `tool_use_id` found in `tool_result` blocks: toolu_1"),
    ([user(RESULT)], "unexpected `tool_use_id` found in `tool_result` blocks"),
    ([USER, said(CALL), user(RESULT, RESULT)], "each tool_use must have a single result"),
    ([USER, said(CALL, CALL), user(RESULT)], "`tool_use` ids must be unique"),
    ([USER, said(CALL), user(RESULT), said(CALL), user(RESULT)], "`tool_use` ids must be unique"),
    (
        [USER, said({**CALL, "id": "a.b"}), user({**RESULT, "tool_use_id": "a.b"})],
        "messages.1.content.0.tool_use.id: String should match pattern",
    ),
]
FORCED = {"tools": [ROLL], "tool_choice": {"type": "any"}}
MODELS = [
    ("claude-opus-4-8", {"thinking": MANUAL}, '"thinking.type.enabled" is not supported for this model'),
    ("claude-opus-5-5", {"thinking": MANUAL}, '"thinking.type.enabled" is not supported for this model'),
    ("claude-opus-5-5", {"thinking": {"type": "disabled"}}, '"thinking.type.disabled" is not supported for this model'),
    ("claude-haiku-4-5", {"thinking": {"type": "adaptive"}}, '"thinking.type.adaptive" is not supported'),
    (
        "claude-opus-5",
        {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}},
        '"thinking.type.disabled" is not supported for this model',
    ),
    ("claude-opus-4-8", {"temperature": 0.5}, "`temperature` is deprecated for this model."),
    ("claude-opus-4-8", {"top_p": 0.5}, "`top_p` is deprecated for this model."),
    ("claude-opus-4-8", {"top_k": 5}, "`top_k` is deprecated for this model."),
    ("claude-opus-4-6", {"temperature": 1.5}, "temperature: range: 0..1"),
    ("claude-opus-4-6", {"temperature": 0.5, "top_p": 0.5}, "cannot both be specified"),
    ("claude-opus-4-6", {"temperature": 0.5, "thinking": MANUAL}, "`temperature` may only be set to 1"),
    ("claude-opus-4-6", {"thinking": {**MANUAL, "budget_tokens": 1000}}, "greater than or equal to 1024"),
    (
        "claude-opus-4-6",
        {"thinking": {**MANUAL, "budget_tokens": 4096}},
        "must be greater than `thinking.budget_tokens`",
    ),
    ("claude-opus-4-6", {"thinking": MANUAL, **FORCED}, "Thinking may not be enabled when tool_choice forces tool use"),
    ("claude-opus-4-6", {"output_config": {"effort": "xhigh"}}, "output_config.effort: 'xhigh' is not supported"),
    ("claude-haiku-4-5", {"output_config": {"effort": "low"}}, "does not support the effort parameter"),
    ("claude-fable-5-1", FORCED, 'tool_choice: type "tool" and "any" are not supported'),
    ("claude-opus-5-5", FORCED, 'tool_choice: type "tool" and "any" are not supported'),
    (
        "claude-opus-4-7",
        {"messages": [USER, {"role": "system", "content": "Hm."}]},
        "role 'system' is not supported on",
    ),
    ("claude-opus-4-8", {"messages": [{"role": "system", "content": "Hm."}, USER]}, "role 'system' must follow a user"),
    ("claude-opus-4-8", {"messages": [USER, {"role": "system", "content": "Hm."}, USER]}, "role 'system' must follow"),
]


@pytest.mark.parametrize("change, words", FORM)
def test_a_request_of_the_wrong_form_is_refused(provider, change, words):
    refused(send(provider, **change), words)


def test_a_limit_is_required(provider):
    status, body = ask(provider.url, "anthropic", {"model": MODEL, "messages": [USER]})
    refused((status, body), "max_tokens: Field required")


@pytest.mark.parametrize("messages, words", PAIRS)
def test_calls_and_results_are_pairs(provider, messages, words):
    refused(send(provider, messages=messages, tools=[ROLL]), words)


@pytest.mark.parametrize("model, change, words", MODELS)
def test_a_model_refuses_what_it_does_not_have(provider, model, change, words):
    refused(send(provider, model=model, **change), words)


def test_a_model_takes_what_it_has(provider):
    taken(send(provider, model="claude-opus-4-8", temperature=1.0, top_p=0.99, **FORCED))
    taken(send(provider, model="claude-opus-4-6", temperature=0.5, thinking={"type": "disabled"}))
    taken(send(provider, model="claude-haiku-4-5", thinking=MANUAL))
    taken(send(provider, model="claude-haiku-4-5", messages=[USER, said(TEXT)]))
    taken(send(provider, model="claude-sonnet-5-5", thinking={"type": "between_tools"}))
    taken(send(provider, model="claude-fable-5-2", output_config={"effort": "max"}))
    taken(send(provider, messages=[USER, {"role": "system", "content": "Be short."}]))
    taken(send(provider, messages=[USER, said(CALL), user(RESULT, TEXT)], tools=[ROLL]))
    taken(send(provider, messages=[USER, USER, said(TEXT), said(CALL), user(RESULT)], tools=[ROLL]))
    taken(send(provider, beta="mcp-client-2025-11-20", mcp_servers=[]))
    taken(send(provider, **schema(properties={"expression": {"type": "string", "enum": ["a"]}})))
    assert taken(send(provider, max_tokens=0))["content"] == []


# === Thinking that comes back ===


def think(provider, model: str, script: str = "tool-once", **more) -> list[dict]:
    return taken(send(provider, script, model, tools=[ROLL], **more))["content"]


def back(call: dict) -> dict:
    return user({**RESULT, "tool_use_id": call["id"]})


def test_thinking_is_signed_and_shown_as_the_model_does(provider):
    thought, _ = think(provider, "claude-opus-5-5")
    assert (thought["type"], thought["thinking"], bool(thought["signature"])) == ("thinking", "", True)
    thought, _ = think(provider, "claude-opus-5-5", thinking={"type": "adaptive", "display": "summarized"})
    assert thought["thinking"]
    thought, _ = think(provider, "claude-haiku-4-5", thinking=MANUAL)
    assert thought["thinking"]
    assert [block["type"] for block in think(provider, "claude-opus-4-8")] == ["tool_use"]
    kinds = [block["type"] for block in think(provider, "claude-opus-5-5", "tool-once.redacted")]
    assert kinds == ["thinking", "redacted_thinking", "tool_use"]


def test_thinking_comes_back_as_it_was(provider):
    given = {"model": "claude-haiku-4-5", "thinking": MANUAL}
    thought, call = think(provider, **given)
    more = {**given, "script": "tool-once", "tools": [ROLL]}
    taken(send(provider, messages=[USER, said(thought, call), back(call)], **more))
    signature = "Invalid `signature` in `thinking` block"
    edited = {**thought, "thinking": "Nothing."}
    refused(send(provider, messages=[USER, said(edited, call), back(call)], **more), signature)
    forged = {**thought, "signature": "EqQBAAAA"}
    refused(send(provider, messages=[USER, said(forged, call), back(call)], **more), signature)
    gone = "Expected `thinking` or `redacted_thinking`, but found `tool_use`"
    refused(send(provider, messages=[USER, said(call), back(call)], **more), gone)
    redacted = {"type": "redacted_thinking", "data": "EmwKAAAA"}
    answer = send(provider, messages=[USER, said(redacted, call), back(call)], **more)
    refused(answer, "Invalid `data` in `redacted_thinking` block")


def test_adaptive_thinking_may_be_left_out(provider):
    _, call = think(provider, "claude-opus-5-5")
    taken(send(provider, model="claude-opus-5-5", messages=[USER, said(call), back(call)], tools=[ROLL]))


def test_thinking_belongs_to_its_conversation(provider):
    thought, call = think(provider, "claude-fable-5-2")
    more = {"model": "claude-fable-5-2", "tools": [ROLL]}
    taken(send(provider, messages=[USER, said(thought, call), back(call)], **more))
    other = {"role": "user", "content": "Roll twice."}
    answer = send(provider, messages=[other, said(thought, call), back(call)], **more)
    refused(answer, "bound to a different conversation")
    # Other models take it.
    given = [other, said(thought, call), back(call)]
    taken(send(provider, model="claude-opus-4-8", messages=given, tools=[ROLL]))


def test_only_a_switch_refuses_what_is_not_certain(provider):
    messages = [USER, said(CALL), user(RESULT)]
    taken(send(provider, messages=messages))
    refused(send(provider, "echo.unconfirmed", messages=messages), "must define tools")


def test_marks_decide_what_comes_from_the_cache(provider):
    long = {"type": "text", "text": "All about dice. " * 2000, **MARK}
    first = taken(send(provider, system=[long]))["usage"]
    second = taken(send(provider, system=[long], messages=[{"role": "user", "content": "And now?"}]))["usage"]
    assert first["cache_read_input_tokens"] == 0 and first["cache_creation_input_tokens"] > 8000
    assert first["cache_creation"]["ephemeral_5m_input_tokens"] == first["cache_creation_input_tokens"]
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"]
    assert second["cache_creation_input_tokens"] == 0 and second["input_tokens"] < 20
    short = taken(send(provider, system=[{**TEXT, **MARK}]))["usage"]
    assert (short["cache_read_input_tokens"], short["cache_creation_input_tokens"]) == (0, 0)
    unmarked = taken(send(provider, system=long["text"]))["usage"]
    assert unmarked["cache_read_input_tokens"] == 0
