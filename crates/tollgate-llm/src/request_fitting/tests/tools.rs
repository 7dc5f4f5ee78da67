//! Tools, their schemas, their choice.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{ANTHROPIC, CHAT, GEMINI, RESPONSES, convert, request};
use crate::request_fitting::fit;

fn with_tool(mut function: Value, more: &Value) -> Value {
    function["name"] = "roll".into();
    let mut fields = json!({"tools": [{"type": "function", "function": function}]});
    for (key, value) in more.as_object().unwrap() {
        fields[key] = value.clone();
    }
    fields
}

#[test]
fn effort_beside_tools_is_left_out_on_chat() {
    let tool = with_tool(json!({}), &json!({"reasoning_effort": "low"}));
    let (body, lost) = convert(CHAT, &tool, CHAT, "gpt-5.5");
    assert_eq!(body.get("reasoning_effort"), None);
    assert_eq!(lost.len(), 1);
    assert!(
        lost[0].starts_with("effort `low`: the model does not take it beside tools"),
        "{lost:?}"
    );
    assert_eq!(convert(CHAT, &tool, CHAT, "gpt-5").0["reasoning_effort"], "low");
    assert_eq!(convert(CHAT, &tool, RESPONSES, "gpt-5.5").0["reasoning"]["effort"], "low");
    let none = with_tool(json!({}), &json!({"reasoning_effort": "none"}));
    assert_eq!(convert(CHAT, &none, CHAT, "gpt-5.5").0["reasoning_effort"], "none");
}

#[test]
fn a_model_without_tools_on_chat_is_refused_with_the_remedy() {
    let tool = request(CHAT, &with_tool(json!({}), &json!({})));
    let failure = fit(Cow::Borrowed(&tool), CHAT, "gpt-6.1-sol").unwrap_err();
    assert!(failure.message.contains("set `api: responses`"), "{}", failure.message);
    assert!(fit(Cow::Borrowed(&tool), RESPONSES, "gpt-6.1-sol").is_ok());
}

#[test]
fn a_forced_choice_becomes_an_instruction_where_it_is_refused() {
    let forced = with_tool(json!({}), &json!({"tool_choice": "required"}));
    let (body, lost) = convert(CHAT, &forced, ANTHROPIC, "claude-opus-5-5");
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    assert_eq!(body["system"], "Answer with a tool call, not with text.");
    assert_eq!(lost, ["`tool_choice`: the model cannot be forced; sent as an instruction"]);
    let kept = convert(CHAT, &forced, ANTHROPIC, "claude-opus-4-8").0;
    assert_eq!(kept["tool_choice"], json!({"type": "any"}));
    let named = with_tool(
        json!({}),
        &json!({"tool_choice": {"type": "function", "function": {"name": "roll"}}}),
    );
    let system = convert(CHAT, &named, ANTHROPIC, "claude-fable-5-2").0["system"].take();
    assert_eq!(system, "Answer with a call of the tool `roll`, not with text.");
}

#[test]
fn a_forced_choice_gives_way_to_enabled_thinking() {
    let fields = json!({
        "tools": [{"name": "roll", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "any"},
        "thinking": {"type": "enabled", "budget_tokens": 2048},
    });
    let body = convert(ANTHROPIC, &fields, ANTHROPIC, "claude-haiku-4-5").0;
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    assert_eq!(body["thinking"]["type"], "enabled");
}

#[test]
fn a_choice_among_some_tools_reaches_every_provider() {
    let choice = json!({"type": "allowed_tools", "allowed_tools": {
        "mode": "required", "tools": [{"type": "function", "function": {"name": "b"}}]}});
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let fields = json!({"tools": [tool("a"), tool("b")], "tool_choice": choice});
    let (body, lost) = convert(CHAT, &fields, ANTHROPIC, "claude-opus-4-8");
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&body["tools"][0]["name"], &body["tool_choice"]["type"]),
        (&json!("b"), &json!("any"))
    );
    assert!(lost.is_empty(), "{lost:?}");
    let gemini = convert(CHAT, &fields, GEMINI, "gemini-3.8-flash").0;
    assert_eq!(gemini["tools"][0]["functionDeclarations"].as_array().unwrap().len(), 1);
    assert_eq!(gemini["toolConfig"]["functionCallingConfig"], json!({"mode": "ANY"}));
    let of_gemini = json!({
        "tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "b"]}},
    });
    let chat = convert(GEMINI, &of_gemini, CHAT, "gpt-4.1").0;
    assert_eq!(chat["tool_choice"], "required");
    let offered = chat["tools"].as_array().unwrap().iter();
    let names: Vec<&Value> = offered.map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["a", "b"]);
    // OpenAI's two dialects both have such a choice, and keep all tools for the prompt cache.
    let responses = convert(CHAT, &fields, RESPONSES, "gpt-6.1-sol").0;
    assert_eq!(responses["tools"].as_array().unwrap().len(), 2);
    assert_eq!(responses["tool_choice"]["tools"], json!([{"type": "function", "name": "b"}]));
}

#[test]
fn strict_tools_stay_strict_where_a_provider_has_them() {
    let open = json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}});
    let tool = with_tool(json!({"strict": true, "parameters": open}), &json!({}));
    let (body, lost) = convert(CHAT, &tool, ANTHROPIC, "claude-opus-4-8");
    assert_eq!(body["tools"][0]["strict"], true);
    assert_eq!(body["tools"][0]["input_schema"]["additionalProperties"], false);
    assert!(lost.is_empty(), "{lost:?}");
    let (_, lost) = convert(CHAT, &tool, GEMINI, "gemini-3.8-flash");
    assert_eq!(lost, ["field `tools[].function.strict`"], "Gemini has none");
    let claude = json!({"tools": [{"name": "roll", "strict": true, "input_schema": {
        "type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}}]});
    let (body, lost) = convert(ANTHROPIC, &claude, RESPONSES, "gpt-4.1");
    assert_eq!(body["tools"][0]["strict"], false, "`a` is not required");
    assert_eq!(lost, ["`strict` of the tool `roll`: its schema is not closed"]);
    let mut complete = claude;
    complete["tools"][0]["input_schema"]["required"] = json!(["a"]);
    let (body, lost) = convert(ANTHROPIC, &complete, RESPONSES, "gpt-4.1");
    assert_eq!((&body["tools"][0]["strict"], lost.len()), (&json!(true), 0));
}

#[test]
fn a_strict_tool_is_none_where_the_schema_or_the_model_cannot_be() {
    let next = json!({"$ref": "#/$defs/Node"});
    let recursive = json!({
        "type": "object",
        "properties": {"next": next},
        "$defs": {"Node": {"type": "object", "properties": {"next": next}}},
    });
    let plain = json!({"type": "object", "properties": {}});
    for (parameters, model) in
        [(recursive, "claude-opus-4-8"), (plain, "claude-3-5-sonnet-20241022")]
    {
        let tool = with_tool(json!({"strict": true, "parameters": parameters}), &json!({}));
        let (body, lost) = convert(CHAT, &tool, ANTHROPIC, model);
        assert_eq!(body["tools"][0]["input_schema"], parameters);
        assert_eq!(body["tools"][0].get("strict"), None);
        assert_eq!(lost, ["`strict` of the tool `roll`: the model does not take it"]);
    }
}

#[test]
fn alternatives_at_the_top_of_a_tool_become_words_for_claude() {
    let either = json!({
        "anyOf": [
            {"properties": {"a": {"type": "string"}, "c": {"type": "string"}}, "required": ["a", "c"]},
            {"$ref": "#/$defs/B"},
        ],
        "$defs": {"B": {"properties": {"b": {"type": "string"}}, "required": ["b", "c"]}},
    });
    let tool = with_tool(json!({"description": "Rolls.", "parameters": either}), &json!({}));
    let (body, lost) = convert(CHAT, &tool, ANTHROPIC, "claude-opus-4-8");
    let schema = &body["tools"][0]["input_schema"];
    assert_eq!(schema["type"], "object");
    assert_eq!(schema.get("anyOf"), None);
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "c", "b"]);
    assert_eq!(schema["required"], json!(["c"]));
    let said = body["tools"][0]["description"].as_str().unwrap();
    assert_eq!(said, "Rolls. (limits: any of (with a, c) or (with b, c))");
    assert_eq!(lost, ["alternatives in the schema of the tool `roll`: sent as words"]);
}

#[test]
fn names_fit_the_provider_in_tools_history_and_choice() {
    let long = "n".repeat(70);
    let fields = json!({
        "tools": [{"functionDeclarations": [{"name": "a.b"}, {"name": long}, {"name": "plain"}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a.b"]}},
        "contents": [
            {"role": "user", "parts": [{"text": "A"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "a.b", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "a.b", "response": {"output": "1"}}}]},
        ],
    });
    for dialect in [CHAT, RESPONSES, ANTHROPIC] {
        let body = convert(GEMINI, &fields, dialect, "some-model").0.to_string();
        assert!(!body.contains("a.b"), "{body}");
        assert_eq!(body.contains(&long), dialect == ANTHROPIC, "{body}");
        assert!(body.contains("\"plain\""));
    }
    let (body, _) = convert(GEMINI, &fields, CHAT, "gpt-4.1");
    let name = body["tools"][0]["function"]["name"].clone();
    assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["name"], name);
    assert_eq!(body["tool_choice"]["function"]["name"], name);
    assert_eq!(convert(GEMINI, &fields, CHAT, "gpt-4.1").0, body, "the same every time");
}
