use serde_json::{Value, json};

use super::{OfflineCall, call_any_tool, call_fitting_tools, call_named_tool};
use crate::conversation::{
    ChatRequest, ChatTool, Function, GenerationOptions, MessageList, ResponseDelivery, ToolChoice,
};
use crate::extra::Extra;

fn request(tools: &[(&str, &str, Value)]) -> ChatRequest {
    let tools = tools.iter().map(|(name, description, parameters)| {
        ChatTool::Function(Function {
            name: (*name).to_owned(),
            description: Some((*description).to_owned()),
            parameters: Some(parameters.clone()),
            extra: Extra::none(),
        })
    });
    ChatRequest {
        model: "offline".to_owned(),
        messages: MessageList::default(),
        tools: tools.collect(),
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    }
}

fn takes(key: &str) -> Value {
    json!({"type": "object", "properties": {key: {"type": "string"}}, "required": [key]})
}

fn make_offer() -> ChatRequest {
    request(&[
        ("get_weather", "The weather of a city", takes("city")),
        ("dice_roll_table", "Rolls on a table", takes("table_name")),
        ("dice_roll", "Rolls dice", takes("expression")),
        ("memory_search_sessions", "Transcripts", takes("query")),
        (
            "memory_query_entities",
            "People and places",
            json!({
                "type": "object",
                "properties": {"type": {"type": "string", "enum": ["npc"]}, "name": {"type": "string"}},
            }),
        ),
        ("rules-search_rules", "Rules", takes("query")),
    ])
}

fn encode(wishes: &[OfflineCall]) -> String {
    let wishes: Vec<String> =
        wishes.iter().map(|wish| format!("{} {}", wish.name, wish.arguments)).collect();
    wishes.join("; ")
}

#[test]
fn tools_are_found_by_the_end_of_their_names() {
    for (text, expected) in [
        ("roll 2d6", r#"dice_roll {"expression":"2d6"}"#),
        ("what does prone do", r#"rules-search_rules {"query":"prone"}"#),
        ("who is Heron", r#"memory_query_entities {"name":"Heron"}"#),
        ("what do you know about Heron", r#"memory_query_entities {"name":"Heron"}"#),
        ("what happened at sea", r#"memory_search_sessions {"query":"sea"}"#),
        ("roll d20 and d6", r#"dice_roll {"expression":"1d20"}; dice_roll {"expression":"1d6"}"#),
        ("is it raining in Paris", ""),
    ] {
        assert_eq!(encode(&call_fitting_tools(&make_offer(), text)), expected, "{text}");
    }
}

#[test]
fn a_tool_with_another_name_is_found_by_what_it_says_of_itself() {
    let request = request(&[("chance", "Throws dice for you", takes("notation"))]);
    assert_eq!(encode(&call_fitting_tools(&request, "roll 2d6")), r#"chance {"notation":"2d6"}"#);
}

#[test]
fn a_tool_that_cannot_take_it_does_not_fit() {
    let number = json!({"type": "object", "properties": {"sides": {"type": "integer"}}});
    assert_eq!(
        encode(&call_fitting_tools(&request(&[("roll", "Rolls dice", number)]), "roll 2d6")),
        ""
    );
    let short = json!({
        "type": "object",
        "properties": {"expression": {"type": "string", "maxLength": 2}},
    });
    assert_eq!(
        encode(&call_fitting_tools(&request(&[("roll", "Rolls dice", short)]), "roll 2d6")),
        ""
    );
    let broken =
        json!({"type": "object", "properties": {"expression": {"type": "string", "pattern": "("}}});
    assert_eq!(
        encode(&call_fitting_tools(&request(&[("roll", "Rolls dice", broken)]), "roll 2d6")),
        ""
    );
}

#[test]
fn what_else_is_needed_is_made_up() {
    let schema = json!({
        "type": "object",
        "properties": {
            "expression": {"type": "string"},
            "times": {"type": "integer", "minimum": 3},
            "mode": {"enum": ["loud", "quiet"]},
        },
        "required": ["expression", "times", "mode"],
        "additionalProperties": false,
    });
    let request = request(&[("roll", "Rolls dice", schema)]);
    let wishes = call_fitting_tools(&request, "roll 2d6");
    let arguments: Value = serde_json::from_str(&wishes[0].arguments).unwrap();
    assert_eq!(arguments, json!({"expression": "2d6", "times": 3, "mode": "loud"}));
}

#[test]
fn who_must_call_calls_what_fits_best() {
    let weather = r#"get_weather {"city":"the weather in Paris?"}"#;
    assert_eq!(encode(&call_any_tool(&make_offer(), "the weather in Paris?")), weather);
    assert_eq!(
        encode(&call_any_tool(&make_offer(), "roll 2d6")),
        r#"dice_roll {"expression":"2d6"}"#
    );
    assert_eq!(encode(&call_any_tool(&make_offer(), "xyzzy")), r#"get_weather {"city":"xyzzy"}"#);
    assert_eq!(encode(&call_any_tool(&request(&[]), "xyzzy")), "");
    let table = r#"dice_roll_table {"table_name":"hello"}"#;
    assert_eq!(encode(&call_named_tool(&make_offer(), "hello", "dice_roll_table")), table);
    let roll = r#"dice_roll {"expression":"2d6"}"#;
    assert_eq!(encode(&call_named_tool(&make_offer(), "roll 2d6", "dice_roll")), roll);
    assert_eq!(encode(&call_named_tool(&make_offer(), "hello", "absent")), "");
}
