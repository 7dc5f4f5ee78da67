"""The fake provider as OpenAI's Responses: what it refuses and why, what it takes, what it keeps."""

import pytest

from harness.asking import ask
from harness.judgement import refused_by_openai as refused
from harness.judgement import taken

MODEL = "gpt-6.1-sol"
CLOSED = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
CLOSED |= {"additionalProperties": False}
ROLL = {"type": "function", "name": "roll", "parameters": CLOSED, "strict": True}
USER = {"role": "user", "content": "Please roll."}


def send(provider, script: str = "echo", model: str = MODEL, key: str = "a-key", **body) -> tuple[int, dict]:
    return ask(provider.url, "responses", {"model": f"{model}+{script}", "input": [USER], **body}, key)


FORM = [
    ({"temprature": 1}, "temprature", "unknown_parameter", "Unknown parameter: 'temprature'."),
    ({"input": [{"role": "user"}]}, "input[0].content", "missing_required_parameter", "Missing required parameter"),
    ({"input": [{**USER, "more": 1}]}, "input[0].more", "unknown_parameter", "Unknown parameter: 'input[0].more'."),
    ({"input": [{"type": "news", "id": "x"}]}, "input[0]", "invalid_value", "Invalid value: 'news'."),
    ({"input": [{"role": "user", "content": None}]}, "input[0].content", "invalid_type", "but got null instead."),
    ({"input": []}, "input", "missing_required_parameter", "'input'"),
    ({"store": "no"}, "store", "invalid_type", "Invalid type for 'store'"),
    ({"stream": "yes"}, "stream", "invalid_type", "Invalid type for 'stream'"),
    ({"include": ["everything"]}, "include[0]", "invalid_value", "'reasoning.encrypted_content'"),
    ({"service_tier": "gold"}, "service_tier", "invalid_value", "Invalid value: 'gold'."),
    ({"truncation": "some"}, "truncation", "invalid_value", "'auto' and 'disabled'"),
    ({"text": {"verbosity": "loud"}}, "text.verbosity", "invalid_value", "'low', 'medium', and 'high'"),
    ({"reasoning": {"summary": "long"}}, "reasoning.summary", "invalid_value", "'auto'"),
    ({"metadata": {"a": "x" * 513}}, "metadata.a", "string_above_max_length", "maximum length 512"),
    ({"max_output_tokens": 15}, "max_output_tokens", "integer_below_min_value", ">= 16"),
    ({"stream_options": {"include_obfuscation": False}}, "stream_options", None, "only allowed when 'stream'"),
    ({"conversation": "conv_1", "previous_response_id": "resp_1"}, None, "mutually_exclusive_parameters", "Mutually"),
    ({"text": {"format": {"type": "json_object"}}}, "input", None, "must contain the word 'json'"),
]
PARTS = [
    ("user", "output_text", "'input_text'"),
    ("assistant", "input_text", "'output_text', 'refusal'"),
]
TOOLS = [
    ({"tools": [{**ROLL, "name": "a.b"}]}, "tools[0].name", "invalid_value", "^[a-zA-Z0-9_-]+$"),
    ({"tools": [{**ROLL, "name": "a" * 65}]}, "tools[0].name", "string_above_max_length", "maximum length 64"),
    ({"tools": [{**ROLL, "function": {}}]}, "tools[0].function", "unknown_parameter", "Unknown parameter"),
    ({"tool_choice": "required"}, "tool_choice", None, "must be specified with 'tools' parameter"),
    (
        {"tools": [ROLL], "tool_choice": {"type": "function", "name": "add"}},
        "tool_choice",
        None,
        "not found in 'tools'",
    ),
]
SCHEMAS = [
    ({**CLOSED, "additionalProperties": True}, "'additionalProperties' is required to be supplied and to be false"),
    ({**CLOSED, "required": []}, "Missing 'expression'"),
    ({"type": "string"}, "got 'type: \"string\"'"),
    ({**CLOSED, "properties": {"expression": {"oneOf": [{"type": "string"}]}}}, "'oneOf' is not permitted"),
    ({**CLOSED, "properties": {"expression": {"type": "object", "properties": {}}}}, "('properties', 'expression')"),
]
MODELS = [
    (MODEL, {"reasoning": {"effort": "none"}}, "reasoning.effort", "unsupported_value", "'low', 'medium'"),
    (
        MODEL,
        {"reasoning": {"effort": "minimal"}},
        "reasoning.effort",
        "unsupported_value",
        "'minimal' is not supported",
    ),
    (MODEL, {"temperature": 0.5}, "temperature", None, "Unsupported parameter: 'temperature'"),
    (MODEL, {"top_p": 0.5}, "top_p", None, "Unsupported parameter: 'top_p'"),
    (MODEL, {"include": ["message.output_text.logprobs"]}, "include", None, "Logprobs"),
    (
        "gpt-4.1",
        {"reasoning": {"effort": "low"}},
        "reasoning.effort",
        "unsupported_parameter",
        "not supported with this",
    ),
    ("gpt-4.1", {"include": ["reasoning.encrypted_content"]}, "include", None, "Encrypted content is not supported"),
]


@pytest.mark.parametrize("change, param, code, words", [*FORM, *TOOLS])
def test_a_request_of_the_wrong_form_is_refused(provider, change, param, code, words):
    refused(send(provider, **change), param, code, words)


@pytest.mark.parametrize("role, kind, words", PARTS)
def test_a_content_part_of_the_other_side_is_refused(provider, role, kind, words):
    item = {"type": "message", "role": role, "content": [{"type": kind, "text": "Hello."}]}
    refused(send(provider, input=[item, USER]), "input[0].content[0]", "invalid_value", words)


@pytest.mark.parametrize("schema, words", SCHEMAS)
def test_a_strict_schema_is_closed(provider, schema, words):
    answer = send(provider, tools=[{**ROLL, "parameters": schema}])
    refused(answer, "tools[0].parameters", "invalid_function_parameters", words)
    form = {"type": "json_schema", "name": "it", "schema": schema, "strict": True}
    refused(send(provider, text={"format": form}), "text.format.schema", "invalid_json_schema", words)


def test_a_schema_that_is_not_strict_may_be_open(provider):
    taken(send(provider, tools=[{**ROLL, "parameters": {"type": "object"}, "strict": False}]))
    taken(send(provider, tools=[{"type": "function", "name": "roll"}]))
    refused(
        send(provider, "echo.unconfirmed", tools=[{"type": "function", "name": "roll"}]),
        "tools[0].parameters",
        "missing_required_parameter",
        "Missing required parameter",
    )


@pytest.mark.parametrize("model, change, param, code, words", MODELS)
def test_a_model_refuses_what_it_does_not_have(provider, model, change, param, code, words):
    refused(send(provider, model=model, **change), param, code, words)


def test_a_model_takes_what_it_has(provider):
    taken(send(provider, model="gpt-4.1", temperature=0.5, top_p=0.9))
    taken(send(provider, model="gpt-6-sol", reasoning={"effort": "none"}, temperature=0.5))
    taken(send(provider, reasoning={"effort": "max", "summary": "auto"}, include=["reasoning.encrypted_content"]))
    taken(send(provider, text={"format": {"type": "json_object"}}, input="Answer in JSON."))


# === Items that come back ===


@pytest.fixture
def called(provider):
    """Reasoning and a call, and nothing of it stored."""
    reasoning, call = taken(send(provider, "tool-once", tools=[ROLL], store=False))["output"]
    assert (reasoning["type"], call["type"]) == ("reasoning", "function_call")
    return reasoning, call, {"type": "function_call_output", "call_id": call["call_id"], "output": "42"}


def go_on(provider, *items, **more):
    return send(provider, "tool-once", input=[USER, *items], tools=[ROLL], store=False, **more)


def test_what_was_said_may_come_back(provider, called):
    reasoning, call, result = called
    assert taken(go_on(provider, reasoning, call, result))["output"][-1]["content"][0]["text"] == "The tool said: 42"
    plain = [{name: value for name, value in item.items() if name != "id"} for item in (reasoning, call)]
    taken(go_on(provider, *plain, result))
    taken(go_on(provider, plain[1], result))
    assistant = {"role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]}
    taken(go_on(provider, assistant, plain[1], result))
    taken(go_on(provider, {"role": "assistant", "content": "Hm."}, plain[1], result))
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
    taken(go_on(provider, plain[1], {**result, "output": [image]}))


def test_reasoning_and_what_followed_it_belong_together(provider, called):
    reasoning, call, result = called
    refused(go_on(provider, call, result), "input", None, "without its required 'reasoning' item: '" + reasoning["id"])
    refused(
        go_on(provider, reasoning), "input", None, "of type 'reasoning' was provided without its required following"
    )
    plain = {name: value for name, value in call.items() if name != "id"}
    refused(go_on(provider, plain, reasoning, result), "input", None, "without its required following item")


def test_sealed_reasoning_is_bound_to_its_id_its_model_and_its_owner(provider, called):
    reasoning, call, result = called
    code = "invalid_encrypted_content"
    moved = {**reasoning, "id": "rs_of_somebody_else"}
    plain = {name: value for name, value in call.items() if name != "id"}
    words = "item_id did not match the target item id"
    refused(go_on(provider, moved, plain, result), None, code, words)
    sealed = reasoning["encrypted_content"]
    altered = {**reasoning, "encrypted_content": sealed[:-8] + "AAAAAA=="}
    refused(go_on(provider, altered, call, result), None, code, "could not be verified")
    refused(go_on(provider, reasoning, call, result, key="another"), None, code, "could not be verified")
    refused(go_on(provider, reasoning, call, result, model="gpt-5.5"), None, code, "could not be verified")
    opened = {**reasoning, "content": [{"type": "reasoning_text", "text": "Hm."}]}
    answer = go_on(provider, opened, call, result)
    refused(answer, "input[1].content", "array_above_max_length", "maximum length 0")


def test_calls_and_results_are_pairs(provider, called):
    reasoning, call, result = called
    refused(
        go_on(provider, reasoning, call), "input", None, f"No tool output found for function call {call['call_id']}"
    )
    refused(go_on(provider, result), "input", None, "No tool call found for function call output with call_id")
    refused(go_on(provider, result, reasoning, call), "input", None, "No tool call found")


def test_ids_have_the_form_of_their_kind(provider, called):
    reasoning, call, result = called
    place = "input[1].id"
    wrong = {**call, "id": "call_1"}
    refused(go_on(provider, wrong, result), place, "invalid_value", "Expected an ID that begins with 'fc'")
    wrong = {**call, "id": "fc_" + "x" * 62}
    refused(go_on(provider, wrong, result), place, "string_above_max_length", "maximum length 64")
    wrong = {**call, "call_id": ""}
    refused(go_on(provider, wrong), "input[1].call_id", "empty_string", "empty string")
    refused(go_on(provider, reasoning, reasoning, call, result), "input", None, "Duplicate item found with id")
    wrong = {**call, "arguments": {"expression": "1d6"}}
    refused(go_on(provider, wrong, result), "input[1].arguments", "invalid_type", "expected string")


def test_what_was_not_stored_is_not_found(provider, called):
    reasoning, _, _ = called
    unsealed = {name: value for name, value in reasoning.items() if name != "encrypted_content"}
    kept = "Items are not persisted when `store` is set to false"
    refused(go_on(provider, unsealed, USER), "input", None, kept)
    refused(go_on(provider, {"type": "item_reference", "id": reasoning["id"]}), "input", None, kept)
    refused(go_on(provider, {"id": "rs_nobody"}), "input", None, "Item with id 'rs_nobody' not found.")
    response = taken(send(provider, store=False))
    answer = send(provider, previous_response_id=response["id"])
    refused(answer, "previous_response_id", "previous_response_not_found", f"'{response['id']}' not found")
    assert provider.issued.stored == {}


def test_what_was_stored_is_found(provider):
    first = taken(send(provider, "tool-once", tools=[ROLL]))
    reasoning, call = first["output"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "42"}
    second = taken(send(provider, "tool-once", tools=[ROLL], previous_response_id=first["id"], input=[result]))
    assert second["output"][-1]["content"][0]["text"] == "The tool said: 42"
    by_id = [{"type": "item_reference", "id": item["id"]} for item in (reasoning, call)]
    taken(send(provider, "tool-once", tools=[ROLL], input=[USER, *by_id, result]))
    assert first["id"] in provider.issued.stored and "Please roll." in str(provider.issued.stored[first["id"]].items)
    answer = send(provider, previous_response_id=first["id"], key="another")
    refused(answer, "previous_response_id", "previous_response_not_found", "not found")


def test_tokens_that_were_seen_before_come_from_the_cache(provider):
    long = {"role": "user", "content": "All about dice. " * 400}
    first = taken(send(provider, input=[long]))["usage"]
    assert first["input_tokens_details"]["cached_tokens"] == 0
    assert first["input_tokens_details"]["cache_write_tokens"] >= 1536
    second = taken(send(provider, input=[long, {"role": "assistant", "content": "Yes."}, USER]))["usage"]
    assert second["input_tokens_details"]["cached_tokens"] == 1536
    assert second["input_tokens"] > first["input_tokens"]
    other = taken(send(provider, input=[{**long, "content": f"Not {long['content']}"}]))["usage"]
    assert other["input_tokens_details"]["cached_tokens"] == 0
    assert taken(send(provider))["usage"]["input_tokens_details"]["cached_tokens"] == 0
    stranger = taken(send(provider, input=[long], key="another"))["usage"]
    assert stranger["input_tokens_details"]["cached_tokens"] == 0
