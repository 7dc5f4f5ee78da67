use serde_json::{Value, json};

use super::convert;
use crate::tools::ToolFormat;

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

fn check(form: ToolFormat, expected: &Value) {
    let converted = convert(&roll(), ToolFormat::Mcp, form).unwrap();
    assert_eq!(converted.definition, *expected, "{form}");
    assert_eq!(converted.lost, [], "{form}");
    let back = convert(&converted.definition, form, ToolFormat::Mcp).unwrap();
    assert_eq!(back.definition, roll(), "{form}");
    assert_eq!(back.lost, [], "{form}");
}

#[test]
fn a_plain_tool_goes_there_and_back_unchanged() {
    let schema = roll()["inputSchema"].clone();
    check(ToolFormat::Mcp, &roll());
    check(
        ToolFormat::OpenAi,
        &json!({"type": "function", "function": {
            "name": "roll", "description": "Rolls dice.", "parameters": schema}}),
    );
    check(
        ToolFormat::OpenAiResponses,
        &json!({"type": "function", "name": "roll", "description": "Rolls dice.", "parameters": schema, "strict": false}),
    );
    check(
        ToolFormat::OpenAiRealtime,
        &json!({"type": "function", "name": "roll", "description": "Rolls dice.", "parameters": schema}),
    );
    check(
        ToolFormat::Anthropic,
        &json!({"name": "roll", "description": "Rolls dice.", "input_schema": schema}),
    );
    check(
        ToolFormat::Gemini,
        &json!({"name": "roll", "description": "Rolls dice.", "parametersJsonSchema": schema}),
    );
    check(
        ToolFormat::GeminiLive,
        &json!({"name": "roll", "description": "Rolls dice.", "parameters": {
            "type": "OBJECT",
            "properties": {"dice": {"type": "STRING"}, "times": {"type": "INTEGER", "nullable": true}},
            "required": ["dice"],
        }}),
    );
}

fn losses(definition: &Value, from: ToolFormat, to: ToolFormat) -> String {
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
    let told = losses(&mcp, ToolFormat::Mcp, ToolFormat::OpenAi);
    let name =
        convert(&mcp, ToolFormat::Mcp, ToolFormat::OpenAi).unwrap().definition["function"]["name"]
            .clone();
    assert_eq!(
        told,
        format!(
            "/name: is renamed to `{}`\n/annotations: `annotations` is omitted\n/_meta: `_meta` is \
             omitted",
            name.as_str().unwrap()
        )
    );
    assert_eq!(losses(&mcp, ToolFormat::Mcp, ToolFormat::Mcp), "");
    let openai = json!({"type": "function", "function": {
        "name": "a", "strict": true, "parameters": {"type": "object", "properties": {}}}});
    assert_eq!(losses(&openai, ToolFormat::OpenAi, ToolFormat::OpenAiResponses), "");
    assert_eq!(
        convert(&openai, ToolFormat::OpenAi, ToolFormat::OpenAiResponses).unwrap().definition["strict"],
        true
    );
    assert_eq!(
        losses(&openai, ToolFormat::OpenAi, ToolFormat::Anthropic),
        "/function/strict: `strict` is omitted"
    );
    let claude = json!({"name": "a", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}});
    assert_eq!(
        losses(&claude, ToolFormat::Anthropic, ToolFormat::Mcp),
        "/cache_control: `cache_control` is omitted"
    );
}

#[test]
fn what_is_no_function_cannot_be_converted() {
    for (definition, from, expected) in [
        (
            json!({"type": "web_search"}),
            ToolFormat::OpenAiResponses,
            "`web_search` is a tool that only its own provider can run",
        ),
        (
            json!({"type": "bash_20250124", "name": "bash"}),
            ToolFormat::Anthropic,
            "`bash_20250124` is a tool that only its own provider can run",
        ),
        (
            json!({"googleSearch": {}}),
            ToolFormat::Gemini,
            "`googleSearch` is a tool that only its own provider can run",
        ),
        (json!([]), ToolFormat::Mcp, "a definition is an object"),
        (json!({"name": "a"}), ToolFormat::Mcp, "it has no `inputSchema`"),
        (json!({"inputSchema": {}}), ToolFormat::Mcp, "it has no `name`"),
        (json!({"name": 7, "inputSchema": {}}), ToolFormat::Mcp, "`name` must be a string"),
        (
            json!({"name": "a", "inputSchema": []}),
            ToolFormat::Mcp,
            "`inputSchema` must be an object",
        ),
        (
            json!({"type": "function", "function": 3}),
            ToolFormat::OpenAi,
            "`function` must be an object",
        ),
        (
            json!({"name": "a", "inputSchema": {"type": "string"}}),
            ToolFormat::Mcp,
            "the arguments of a tool are an object; its schema has another `type`",
        ),
    ] {
        assert_eq!(losses(&definition, from, ToolFormat::OpenAiRealtime), expected);
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
    for form in [
        ToolFormat::OpenAiResponses,
        ToolFormat::Anthropic,
        ToolFormat::Gemini,
        ToolFormat::GeminiLive,
    ] {
        let converted = convert(&definition, ToolFormat::Mcp, form).unwrap();
        assert_eq!(converted.definition["description"], expected, "{form}");
    }
}
