"""The fake provider as OpenAI's Chat Completions: what it refuses and why, and what it takes."""

import pytest

from harness.asking import ask
from harness.judgement import refused_by_openai as refused
from harness.judgement import taken

MODEL = "gpt-5.5"
CLOSED = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
CLOSED |= {"additionalProperties": False}
ROLL = {"type": "function", "function": {"name": "roll", "parameters": CLOSED, "strict": True}}
USER = {"role": "user", "content": "Please roll."}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "42"}


def send(provider, script: str = "echo", model: str = MODEL, **body) -> tuple[int, dict]:
    return ask(provider.url, "chat", {"model": f"{model}+{script}", "messages": [USER], **body})


FORM = [
    ({"reasoning": {}}, "reasoning", "unknown_parameter", "Unknown parameter: 'reasoning'."),
    ({"messages": []}, "messages", "empty_array", "empty array"),
    ({"messages": [{"role": "user"}]}, "messages[0].content", "missing_required_parameter", "Missing required"),
    ({"messages": [{"role": "robot", "content": ""}]}, "messages[0].role", "invalid_value", "Invalid value: 'robot'."),
    ({"messages": [{"role": "system", "content": [IMAGE]}]}, "messages[0].content[0]", "invalid_value", "'image_url'"),
    ({"messages": [{"role": "assistant", "content": None}, USER]}, "messages.[0].content", None, "got null"),
    ({"messages": [{**CALLED, "tool_calls": []}, USER]}, "messages[0].tool_calls", "empty_array", "empty array"),
    ({"stream_options": {"include_usage": True}}, "stream_options", None, "only allowed when 'stream' is enabled"),
    ({"response_format": {"type": "json_object"}}, "messages", None, "must contain the word 'json'"),
    ({"stop": list("abcde")}, "stop", "array_above_max_length", "maximum length 4"),
    ({"top_logprobs": 2}, "top_logprobs", None, "requires 'logprobs'"),
    ({"verbosity": "loud"}, "verbosity", "invalid_value", "'low', 'medium', and 'high'"),
    ({"n": "two"}, "n", "invalid_type", "expected integer or null"),
]
TOOLS = [
    ({"tool_choice": "auto"}, "tool_choice", None, "only allowed when 'tools' are specified"),
    ({"parallel_tool_calls": False}, "parallel_tool_calls", None, "only allowed when 'tools' are specified"),
    ({"tools": []}, "tools", "empty_array", "empty array"),
    ({"tools": [{**ROLL, "name": "roll"}]}, "tools[0].name", "unknown_parameter", "Unknown parameter"),
    (
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        "tools[0].function.name",
        "invalid_value",
        "does not match pattern",
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "a", "strict": True, "parameters": {"type": "object"}}}]},
        "tools[0].function.parameters",
        "invalid_function_parameters",
        "'additionalProperties' is required",
    ),
    (
        {"tools": [ROLL], "tool_choice": {"type": "function", "function": {"name": "add"}}},
        "tool_choice",
        None,
        "not found in 'tools'",
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": {}}}},
        "response_format",
        "invalid_json_schema",
        "Invalid schema for response_format 'a'",
    ),
]
PAIRS = [
    ([USER, RESULT], "messages.[1].role", "messages with role 'tool' must be a response to"),
    ([USER, CALLED], "messages.[1].role", "must be followed by tool messages responding to each 'tool_call_id'"),
    ([USER, CALLED, USER, RESULT], "messages.[1].role", "did not have response messages: call_1"),
    ([USER, CALLED, RESULT, RESULT], "messages.[3].tool_call_id", "Duplicate value for 'tool_call_id' of 'call_1'"),
    (
        [USER, {**CALLED, "tool_calls": [CALL, {**CALL, "id": "call_2"}]}, RESULT, USER],
        "messages.[1].role",
        "did not have response messages: call_2",
    ),
]
TOGETHER = {"tools": [ROLL], "reasoning_effort": "low"}
MODELS = [
    ("gpt-5.5", {"max_tokens": 9}, "max_tokens", "unsupported_parameter", "Use 'max_completion_tokens' instead"),
    ("gpt-5", {"temperature": 0.5}, "temperature", "unsupported_value", "Only the default (1) value is supported"),
    ("gpt-5", {"reasoning_effort": "max"}, "reasoning_effort", "unsupported_value", "'max' is not supported"),
    ("gpt-4.1", {"reasoning_effort": "low"}, "reasoning_effort", "unsupported_parameter", "not supported with this"),
    (
        "gpt-5.5",
        TOGETHER,
        "reasoning_effort",
        None,
        "Function tools with reasoning_effort are not supported for gpt-5.5",
    ),
    ("gpt-6-sol", TOGETHER, "reasoning_effort", None, "not supported for gpt-6-sol"),
    ("gpt-6.1-sol", {"tools": [ROLL]}, "tools", "unsupported_parameter", "Please use /v1/responses instead"),
    ("gpt-6-astra", {"tools": [ROLL]}, "tools", "unsupported_parameter", "Please use /v1/responses instead"),
]


@pytest.mark.parametrize("change, param, code, words", [*FORM, *TOOLS])
def test_a_request_of_the_wrong_form_is_refused(provider, change, param, code, words):
    refused(send(provider, **change), param, code, words)


@pytest.mark.parametrize("messages, param, words", PAIRS)
def test_calls_and_results_are_pairs(provider, messages, param, words):
    refused(send(provider, messages=messages, tools=[ROLL]), param, None, words)


def test_a_result_is_text_alone(provider):
    answer = send(provider, messages=[USER, CALLED, {**RESULT, "content": [IMAGE]}], tools=[ROLL])
    refused(answer, "messages[2].content[0]", "invalid_value", "Supported values are: 'text'")
    text = {**RESULT, "content": [{"type": "text", "text": "42"}]}
    taken(send(provider, messages=[USER, CALLED, text], tools=[ROLL]))


@pytest.mark.parametrize("model, change, param, code, words", MODELS)
def test_a_model_refuses_what_it_does_not_have(provider, model, change, param, code, words):
    refused(send(provider, model=model, **change), param, code, words)


def test_a_model_takes_what_it_has(provider):
    taken(send(provider, model="gpt-4.1", max_tokens=9, temperature=0.5, tools=[ROLL]))
    taken(send(provider, max_completion_tokens=9, tools=[ROLL], temperature=0.5))
    taken(send(provider, tools=[ROLL], reasoning_effort="none"))
    taken(send(provider, model="gpt-5", tools=[ROLL], reasoning_effort="low", temperature=1))
    taken(send(provider, model="gpt-6.1-sol", reasoning_effort="low"))
    taken(send(provider, messages=[{"role": "user", "content": [{"type": "text", "text": "See."}, IMAGE]}]))


def test_only_a_switch_refuses_what_is_not_certain(provider):
    odd = [USER, {**CALLED, "reasoning_content": "Hm."}, RESULT]
    taken(send(provider, messages=odd, tools=[ROLL]))
    answer = send(provider, "echo.unconfirmed", messages=odd, tools=[ROLL])
    refused(answer, "messages[1].reasoning_content", "unknown_parameter", "Unknown parameter")
    long = [USER, {**CALLED, "tool_calls": [{**CALL, "id": "c" * 41}]}, {**RESULT, "tool_call_id": "c" * 41}]
    taken(send(provider, messages=long, tools=[ROLL]))
    answer = send(provider, "echo.unconfirmed", messages=long, tools=[ROLL])
    refused(answer, "messages[1].tool_calls[0].id", "string_above_max_length", "maximum length 40")


def test_a_model_of_another_vendor_is_not_found(provider):
    status, body = send(provider, model="claude-opus-4-8")
    assert (status, body["error"]["code"]) == (404, "model_not_found")


def test_nothing_is_stored_unless_it_is_asked_for(provider):
    taken(send(provider))
    assert provider.issued.stored == {}
    taken(send(provider, store=True))
    assert len(provider.issued.stored) == 1


def test_tokens_that_were_seen_before_come_from_the_cache(provider):
    long = {"role": "system", "content": "All about dice. " * 400}
    first = taken(send(provider, messages=[long, USER]))["usage"]
    second = taken(send(provider, messages=[long, {"role": "user", "content": "And now?"}]))["usage"]
    assert [one["prompt_tokens_details"]["cached_tokens"] for one in (first, second)] == [0, 1536]
