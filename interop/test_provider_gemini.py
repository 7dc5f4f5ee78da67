"""The fake provider as Gemini's generateContent: what it refuses and why, and what it takes."""

import pytest

from harness.asking import ask
from harness.judgement import refused_by_gemini as refused
from harness.judgement import taken

MODEL = "gemini-3.8-flash"
USER = {"role": "user", "parts": [{"text": "Please roll."}]}
DECLARED = {"name": "roll", "parameters": {"type": "OBJECT", "properties": {"expression": {"type": "STRING"}}}}
ROLL = {"functionDeclarations": [DECLARED]}
CALL = {"functionCall": {"name": "roll", "args": {}}}
RESULT = {"functionResponse": {"name": "roll", "response": {"output": "42"}}}
DUMMY = {"thoughtSignature": "skip_thought_signature_validator"}


def model(*parts) -> dict:
    return {"role": "model", "parts": list(parts)}


def user(*parts) -> dict:
    return {"role": "user", "parts": list(parts)}


def send(provider, script: str = "echo", name: str = MODEL, **body) -> tuple[int, dict]:
    return ask(provider.url, "gemini", {"model": f"{name}+{script}", "contents": [USER], **body})


def declared(**parameters) -> dict:
    one = {**DECLARED, "parameters": {**DECLARED["parameters"], **parameters}}
    return {"tools": [{"functionDeclarations": [one]}]}


def config(**more) -> dict:
    return {"generationConfig": more}


UNKNOWN = "Unknown name \"{}\" at 'tools[0].function_declarations[0].parameters': Cannot find field."
FORM = [
    ({"contents": []}, "contents is not specified"),
    ({"messages": []}, 'Unknown name "messages": Cannot find field.'),
    ({"labels": {}}, 'Unknown name "labels": Cannot find field.'),
    ({"contents": [{"role": "user", "parts": []}]}, "contents.parts must not be empty"),
    ({"contents": [{"role": "system", "parts": [{"text": "a"}]}]}, "Please use a valid role: user, model."),
    ({"contents": [{"role": "function", "parts": [RESULT]}]}, "Please use a valid role: user, model."),
    (
        {"contents": [user({"text": "a", "cache_control": {}})]},
        "Unknown name \"cache_control\" at 'contents[0].parts[0]'",
    ),
    ({"contents": [user({})]}, "required oneof field 'data' must have one initialized field"),
    ({"contents": [user({"text": 5})]}, "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5"),
    (config(maxTokens=5), "Unknown name \"maxTokens\" at 'generation_config'"),
    (config(temperature="warm"), "Invalid value at 'generation_config.temperature' (TYPE_FLOAT)"),
    (config(temperature=3), "must be in [0.0, 2.0]"),
    (declared(additionalProperties=False), UNKNOWN.format("additionalProperties")),
    (declared(**{"$schema": "x"}), UNKNOWN.format("$schema")),
    (declared(oneOf=[]), UNKNOWN.format("oneOf")),
    (declared(type="RECORD"), 'parameters.type\' (Type), "RECORD"'),
    (declared(properties={}), "should be non-empty for OBJECT type"),
    (declared(required=["b"]), "property is not defined"),
    (declared(properties={"a": {"type": "ARRAY"}}), "items: missing field"),
    (declared(properties={"a": {"type": "STRING", "enum": [1]}}), "(TYPE_STRING), 1"),
    ({"tools": [{"functionDeclarations": [{"name": "1a"}]}]}, "Invalid function name."),
    ({"tools": [{"functionDeclarations": [{"name": "a" * 129}]}]}, "maximum length"),
    ({"tools": [ROLL, ROLL]}, "Duplicate function declaration found: roll"),
    ({"tools": [{"functionDeclarations": [{**DECLARED, "parametersJsonSchema": {}}]}]}, "only one of parameters and"),
    ({"tools": [{"functionDeclarations": [{**DECLARED, "strict": True}]}]}, 'Unknown name "strict"'),
    ({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "without function_declarations"),
    ({"tools": [ROLL], "toolConfig": {"functionCallingConfig": {"mode": "SOME"}}}, '"SOME"'),
    (
        {"tools": [ROLL], "toolConfig": {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["roll"]}}},
        "only be set when the mode is ANY",
    ),
    (config(responseJsonSchema={"type": "object"}), "only supported with mime type: application/json"),
    (
        config(responseMimeType="application/json", responseJsonSchema={}, responseSchema={"type": "OBJECT"}),
        "only one of response_schema and response_json_schema",
    ),
    (
        config(responseMimeType="application/json", responseJsonSchema={"$ref": "#/$defs/a", "title": "A"}),
        "$ref '#/$defs/a' was set alongside unsupported fields",
    ),
    (
        {"tools": [{"functionDeclarations": [{"name": "a", "parametersJsonSchema": {"$ref": "#", "type": "object"}}]}]},
        "only description and default can be set alongside it",
    ),
    (
        config(thinkingConfig={"thinkingLevel": "LOW", "thinkingBudget": 5}),
        "only one of thinking budget and thinking level",
    ),
    (config(thinkingConfig={"thinkingLevel": "MOST"}), '"MOST"'),
    ({"contents": [user({"text": "a", "thoughtSignature": "no*base64"})]}, "Base64 decoding failed"),
]
PAIRS = [
    (
        [USER, model({**CALL, **DUMMY}), USER],
        "number of function response parts is equal to the number of function call",
    ),
    ([USER, model({**CALL, **DUMMY}, CALL), user(RESULT)], "number of function response parts is equal to"),
    (
        [USER, model({**CALL, **DUMMY}, CALL), user(RESULT), user(RESULT)],
        "number of function response parts is equal to",
    ),
    ([USER, user(RESULT)], "function response turn comes immediately after a function call turn"),
    ([USER, model({**CALL, **DUMMY})], "function call turn comes immediately after a user turn"),
    ([user({**CALL, **DUMMY})], "in content with role model"),
    ([USER, model(RESULT)], "in content with role user"),
    (
        [USER, model({**CALL, **DUMMY}), user({"functionResponse": {"name": "add", "response": {}}})],
        "names match",
    ),
    ([USER, model({**CALL, **DUMMY}), user({"functionResponse": {"response": {}}})], "Name cannot be empty"),
    (
        [USER, model({"functionCall": {**CALL["functionCall"], "id": "a"}, **DUMMY}), user(RESULT)],
        "ids match the ids of the function call turn",
    ),
]


@pytest.mark.parametrize("change, words", FORM)
def test_a_request_of_the_wrong_form_is_refused(provider, change, words):
    refused(send(provider, **change), words)


@pytest.mark.parametrize("contents, words", PAIRS)
def test_calls_and_results_are_pairs(provider, contents, words):
    refused(send(provider, contents=contents, tools=[ROLL]), words)


def test_a_model_refuses_what_it_does_not_have(provider):
    budget = config(thinkingConfig={"thinkingBudget": 512})
    refused(send(provider, name="gemini-4-argon", **budget), "Thinking budget is not supported for this model")
    taken(send(provider, name="gemini-2.5-flash", **budget))
    level = config(thinkingConfig={"thinkingLevel": "MINIMAL"})
    refused(send(provider, name="gemini-4-argon", **level), "Thinking level MINIMAL is not supported")
    refused(send(provider, name="gemini-2.5-flash", **level), "Thinking level MINIMAL is not supported")
    taken(send(provider, **level))


def test_a_request_of_the_right_form_is_taken(provider):
    taken(send(provider, system_instruction={"parts": [{"text": "Be short."}]}, generation_config={"top_p": 0.5}))
    taken(send(provider, **declared(required=["expression"], description="a", nullable=True)))
    schema = {"type": "object", "additionalProperties": False, "properties": {"a": {"const": 1}}}
    taken(send(provider, tools=[{"functionDeclarations": [{"name": "a.b:c", "parametersJsonSchema": schema}]}]))
    taken(send(provider, **config(responseMimeType="application/json", responseJsonSchema={"type": "object"})))
    taken(send(provider, contents=[{"parts": [{"text": "No role."}]}]))


def test_only_a_switch_refuses_what_is_not_certain(provider):
    odd = config(responseMimeType="application/json", responseJsonSchema={"const": 1})
    taken(send(provider, **odd))
    refused(send(provider, "echo.unconfirmed", **odd), "The key `const` of a JSON schema is not supported")


# === Signatures ===


def called(provider, name: str = MODEL, script: str = "tool-once") -> list[dict]:
    return taken(send(provider, script, name, tools=[ROLL]))["candidates"][0]["content"]["parts"]


def answered(*parts) -> dict:
    results = []
    for part in parts:
        call = part["functionCall"]
        results.append({"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": "42"}}})
    return user(*results)


def test_the_first_call_of_a_step_is_signed(provider):
    first, *others = called(provider, script="parallel")
    assert first["thoughtSignature"] and not any("thoughtSignature" in part for part in others)


def test_signatures_of_the_current_turn_come_back(provider):
    [part] = called(provider)
    bare = {"functionCall": part["functionCall"]}
    missing = "Function call is missing a thought_signature in functionCall parts"
    taken(send(provider, contents=[USER, model(part), answered(part)], tools=[ROLL]))
    refused(send(provider, contents=[USER, model(bare), answered(part)], tools=[ROLL]), missing)
    forged = {**bare, "thoughtSignature": "AAAA"}
    refused(send(provider, contents=[USER, model(forged), answered(part)], tools=[ROLL]), "Corrupted thought signature")
    taken(send(provider, contents=[USER, model({**bare, **DUMMY}), answered(part)], tools=[ROLL]))
    # An earlier turn is not looked at.
    earlier = [USER, model(bare), answered(part), model({"text": "42."}), USER]
    taken(send(provider, contents=earlier, tools=[ROLL]))
    second = called(provider)[0]
    unsigned = {"functionCall": second["functionCall"]}
    steps = [USER, model(part), answered(part), model(unsigned), answered(second)]
    refused(send(provider, contents=steps, tools=[ROLL]), missing)


def test_older_models_do_not_ask_for_signatures(provider):
    [part] = called(provider, "gemini-2.5-flash")
    bare = {"functionCall": part["functionCall"]}
    taken(send(provider, name="gemini-2.5-flash", contents=[USER, model(bare), answered(part)], tools=[ROLL]))


def test_thoughts_are_shown_when_they_are_asked_for(provider):
    shown = config(thinkingConfig={"includeThoughts": True})
    parts = taken(send(provider, **shown))["candidates"][0]["content"]["parts"]
    assert parts[0]["thought"] is True and parts[-1]["thoughtSignature"]
    assert not any(part.get("thought") for part in taken(send(provider))["candidates"][0]["content"]["parts"])


def test_tokens_that_were_seen_before_come_from_the_cache(provider):
    long = user({"text": "All about dice. " * 1200})
    first = taken(send(provider, contents=[long]))["usageMetadata"]
    second = taken(send(provider, contents=[long, model({"text": "Yes."}), USER]))["usageMetadata"]
    assert first["cachedContentTokenCount"] == 0 and second["cachedContentTokenCount"] >= 4096
    assert second["promptTokenCount"] > second["cachedContentTokenCount"]
