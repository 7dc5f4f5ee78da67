use serde_json::{Value, json};

use super::convert;
use crate::tools::Form;

mod round;

fn roll() -> Value {
    json!({
        "name": "roll",
        "description": "Rolls dice.",
        "inputSchema": {
            "type": "object",
            "properties": {"dice": {"type": "string"}, "times": {"type": ["integer", "null"]}},
            "required": ["dice"],
        },
    })
}

fn check(form: Form, expected: &Value) {
    let converted = convert(&roll(), Form::Mcp, form).unwrap();
    assert_eq!(converted.definition, *expected, "{form}");
    assert_eq!(converted.lost, [], "{form}");
    let back = convert(&converted.definition, form, Form::Mcp).unwrap();
    assert_eq!(back.definition, roll(), "{form}");
    assert_eq!(back.lost, [], "{form}");
}

#[test]
fn a_plain_tool_goes_there_and_back_unchanged() {
    let schema = roll()["inputSchema"].clone();
    check(Form::Mcp, &roll());
    check(
        Form::OpenAi,
        &json!({"type": "function", "function": {
            "name": "roll", "description": "Rolls dice.", "parameters": schema}}),
    );
    check(
        Form::OpenAiResponses,
        &json!({"type": "function", "name": "roll", "description": "Rolls dice.", "parameters": schema, "strict": false}),
    );
    check(
        Form::OpenAiRealtime,
        &json!({"type": "function", "name": "roll", "description": "Rolls dice.", "parameters": schema}),
    );
    check(
        Form::Anthropic,
        &json!({"name": "roll", "description": "Rolls dice.", "input_schema": schema}),
    );
    check(
        Form::Gemini,
        &json!({"name": "roll", "description": "Rolls dice.", "parametersJsonSchema": schema}),
    );
    check(
        Form::GeminiLive,
        &json!({"name": "roll", "description": "Rolls dice.", "parameters": {
            "type": "OBJECT",
            "properties": {"dice": {"type": "STRING"}, "times": {"type": "INTEGER", "nullable": true}},
            "required": ["dice"],
        }}),
    );
}

fn lost(definition: &Value, from: Form, to: Form) -> String {
    match convert(definition, from, to) {
        Ok(converted) => {
            converted.lost.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        }
        Err(unconvertible) => unconvertible.to_string(),
    }
}

#[test]
fn what_another_form_has_no_place_for_is_listed() {
    let mcp = json!({
        "name": "files.read",
        "title": "Read",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true},
        "_meta": {"a": 1},
    });
    let told = lost(&mcp, Form::Mcp, Form::OpenAi);
    let name =
        convert(&mcp, Form::Mcp, Form::OpenAi).unwrap().definition["function"]["name"].clone();
    assert_eq!(
        told,
        format!(
            "/name: is called `{}` there\n/annotations: `annotations` is left out\n/_meta: `_meta` is left out",
            name.as_str().unwrap()
        )
    );
    assert_eq!(lost(&mcp, Form::Mcp, Form::Mcp), "");
    let openai = json!({"type": "function", "function": {
        "name": "a", "strict": true, "parameters": {"type": "object", "properties": {}}}});
    assert_eq!(lost(&openai, Form::OpenAi, Form::OpenAiResponses), "");
    assert_eq!(
        convert(&openai, Form::OpenAi, Form::OpenAiResponses).unwrap().definition["strict"],
        true
    );
    assert_eq!(
        lost(&openai, Form::OpenAi, Form::Anthropic),
        "/function/strict: `strict` is left out"
    );
    let claude = json!({"name": "a", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}});
    assert_eq!(
        lost(&claude, Form::Anthropic, Form::Mcp),
        "/cache_control: `cache_control` is left out"
    );
}

#[test]
fn what_is_no_function_cannot_be_converted() {
    for (definition, from, expected) in [
        (
            json!({"type": "web_search"}),
            Form::OpenAiResponses,
            "`web_search` is a tool that its provider runs itself, and no other knows",
        ),
        (
            json!({"type": "bash_20250124", "name": "bash"}),
            Form::Anthropic,
            "`bash_20250124` is a tool that its provider runs itself, and no other knows",
        ),
        (
            json!({"googleSearch": {}}),
            Form::Gemini,
            "`googleSearch` is a tool that its provider runs itself, and no other knows",
        ),
        (json!([]), Form::Mcp, "a definition is an object"),
        (json!({"name": "a"}), Form::Mcp, "it has no `inputSchema`"),
        (json!({"inputSchema": {}}), Form::Mcp, "it has no `name`"),
        (json!({"name": 7, "inputSchema": {}}), Form::Mcp, "`name` must be a string"),
        (json!({"name": "a", "inputSchema": []}), Form::Mcp, "`inputSchema` must be an object"),
        (json!({"type": "function", "function": 3}), Form::OpenAi, "`function` must be an object"),
        (
            json!({"name": "a", "inputSchema": {"type": "string"}}),
            Form::Mcp,
            "the arguments of a tool are an object; its schema has another `type`",
        ),
    ] {
        assert_eq!(lost(&definition, from, Form::OpenAiRealtime), expected);
    }
}

#[test]
fn limits_of_the_whole_go_into_the_tools_description() {
    let definition = json!({"name": "find", "description": "Finds.", "inputSchema": {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        "oneOf": [{"required": ["id"]}, {"required": ["name"]}],
    }});
    let expected = "Finds. (limits: exactly one of (with id) or (with name))";
    for form in [Form::OpenAiResponses, Form::Anthropic, Form::Gemini, Form::GeminiLive] {
        let converted = convert(&definition, Form::Mcp, form).unwrap();
        assert_eq!(converted.definition["description"], expected, "{form}");
    }
}
