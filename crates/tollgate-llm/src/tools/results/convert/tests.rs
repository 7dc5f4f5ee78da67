use serde_json::{Value, json};

use super::{convert, form_of};
use crate::tools::ToolFormat;

/// One failed and one good result, in every form.
fn requests_seen() -> Vec<(ToolFormat, Value)> {
    vec![
        (
            ToolFormat::Mcp,
            json!([
                {"content": [{"type": "text", "text": "7"}]},
                {"content": [{"type": "text", "text": "no dice"}], "isError": true},
            ]),
        ),
        (
            ToolFormat::OpenAiRealtime,
            json!([
                {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c1", "output": "7"}},
                {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c2", "output": "no dice"}},
            ]),
        ),
        (
            ToolFormat::GeminiLive,
            json!({"toolResponse": {"functionResponses": [
                {"id": "c1", "name": "roll", "response": {"output": "7"}},
                {"id": "c2", "name": "roll", "response": {"error": "no dice"}},
            ]}}),
        ),
        (
            ToolFormat::OpenAi,
            json!([
                {"role": "tool", "tool_call_id": "c1", "content": "7"},
                {"role": "tool", "tool_call_id": "c2", "content": "no dice"},
            ]),
        ),
        (
            ToolFormat::OpenAiResponses,
            json!([
                {"type": "function_call_output", "call_id": "c1", "output": "7"},
                {"type": "function_call_output", "call_id": "c2", "output": "no dice"},
            ]),
        ),
        (
            ToolFormat::Anthropic,
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "7"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "no dice", "is_error": true},
            ]}),
        ),
        (
            ToolFormat::Gemini,
            json!({"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "roll", "response": {"output": "7"}}},
                {"functionResponse": {"id": "c2", "name": "roll", "response": {"error": "no dice"}}},
            ]}),
        ),
    ]
}

/// All the texts of a document, in order.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_form_becomes_every_other() {
    for (from, document) in requests_seen() {
        assert_eq!(form_of(&document), Some(from), "{document}");
        for (to, _) in requests_seen() {
            let converted = convert(document.clone(), from, to).unwrap().results;
            let texts = texts(&converted);
            for expected in ["7", "no dice"] {
                assert!(texts.contains(&expected), "{from} to {to}: {converted}");
            }
            assert_eq!(form_of(&converted), Some(to), "{converted}");
            let again = convert(converted.clone(), to, to).unwrap().results;
            assert_eq!(again, converted, "{to}");
        }
    }
}

#[test]
fn what_a_form_cannot_say_of_a_result_is_listed() {
    let check = |from: ToolFormat, to: ToolFormat, expected: &[&str]| {
        let document = requests_seen().into_iter().find(|(form, _)| *form == from).unwrap().1;
        let lost = convert(document, from, to).unwrap().lost;
        let told: Vec<String> = lost.iter().map(ToString::to_string).collect();
        assert_eq!(told, expected, "{from} to {to}");
    };
    check(ToolFormat::GeminiLive, ToolFormat::GeminiLive, &[]);
    check(
        ToolFormat::GeminiLive,
        ToolFormat::OpenAiRealtime,
        &["/1: the failure of the call is only in its text"],
    );
    check(
        ToolFormat::Mcp,
        ToolFormat::GeminiLive,
        &[
            "/0: the tool that it is from is unknown: its name becomes `tool`",
            "/1: the tool that it is from is unknown: its name becomes `tool`",
        ],
    );
    check(
        ToolFormat::OpenAiRealtime,
        ToolFormat::Mcp,
        &["/0: the id of its call is omitted", "/1: the id of its call is omitted"],
    );
}

#[test]
fn pictures_survive_where_they_can() {
    let mcp = json!({"content": [
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "text", "text": "look"},
    ]});
    let claude = convert(mcp.clone(), ToolFormat::Mcp, ToolFormat::Anthropic).unwrap().results;
    assert!(claude.to_string().contains("aGk="), "{claude}");
    let back = convert(claude, ToolFormat::Anthropic, ToolFormat::Mcp).unwrap().results;
    assert_eq!(back, mcp);
    let live = convert(mcp, ToolFormat::Mcp, ToolFormat::GeminiLive).unwrap();
    assert_eq!(
        live.results["toolResponse"]["functionResponses"][0]["response"]["output"],
        "(a picture that cannot be shown here)\nlook"
    );
    assert_eq!(live.lost[1].what, "images, audio and documents are replaced by their names");
}

#[test]
fn b_ch_02_what_is_no_result_is_refused() {
    for form in ToolFormat::ALL {
        for odd in [json!(7), json!([7]), json!("x"), json!([[]])] {
            assert!(convert(odd.clone(), form, ToolFormat::Mcp).is_err(), "{form}: {odd}");
        }
        if form != ToolFormat::Mcp && form != ToolFormat::GeminiLive {
            assert!(convert(json!({}), form, ToolFormat::Mcp).is_err(), "{form}");
        }
    }
}
