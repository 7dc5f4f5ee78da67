//! B-CH: requests that cannot be served, and the place that is named.

use serde_json::{Map, Value, json};

use super::super::GeminiCodec;
use super::{address, with_fields};
use crate::error::LlmErrorKind;
use crate::format::DialectCodec;

fn check(fields: Value, at: &str, said: &str) {
    let Value::Object(fields) = fields else { panic!("an object") };
    let body = with_fields(fields);
    let failure = GeminiCodec.read_request(body.clone(), &address()).unwrap_err();
    assert_eq!(failure.kind, LlmErrorKind::Invalid);
    assert_eq!(failure.at.as_deref(), Some(at), "{body}");
    assert!(failure.message.contains(said), "{}", failure.message);
}

fn contents(list: Value, at: &str, said: &str) {
    check(Map::from_iter([("contents".to_owned(), list)]).into(), at, said);
}

#[test]
fn b_ch_01_contents_must_be_a_list_with_something_in_it() {
    contents(Value::Null, "contents", "is missing");
    contents(json!([]), "contents", "at least one");
    contents(json!({}), "contents", "a list, not an object");
    contents(json!(["hi"]), "contents[0]", "an object, not a string");
    contents(json!([{"role": "user"}]), "contents[0].parts", "is missing");
    contents(json!([{"parts": []}]), "contents[0].parts", "at least one part");
    contents(json!([{"parts": {}}]), "contents[0].parts", "a list");
}

#[test]
fn b_ch_02_roles_calls_and_results_must_fit_together() {
    contents(
        json!([{"role": "wizard", "parts": [{"text": "hi"}]}]),
        "contents[0].role",
        "`wizard`",
    );
    let call = |id: Option<&str>| json!({"functionCall": {"id": id, "name": "t", "args": {}}});
    let result = |id: Option<&str>, name: &str| json!({"functionResponse": {"id": id, "name": name, "response": {"output": "x"}}});
    let user = |parts: Vec<Value>| json!({"role": "user", "parts": parts});
    let model = |parts: Vec<Value>| json!({"role": "model", "parts": parts});
    let place = |content: usize, part: usize| format!("contents[{content}].parts[{part}]");
    let check = |list: Vec<Value>, at: &str, said: &str| contents(list.into(), at, said);
    check(vec![user(vec![result(None, "t")])], &place(0, 0), "no call of `t`");
    check(vec![user(vec![result(Some("a"), "t")])], &place(0, 0), "no call before it");
    check(
        vec![model(vec![call(Some("a"))]), user(vec![result(Some("b"), "t")])],
        &place(1, 0),
        "`b`",
    );
    check(
        vec![model(vec![call(None)]), user(vec![result(None, "t"), result(None, "t")])],
        &place(1, 1),
        "no call of `t`",
    );
    check(
        vec![
            model(vec![call(Some("a"))]),
            user(vec![result(Some("a"), "t"), result(Some("a"), "t")]),
        ],
        &place(1, 1),
        "already",
    );
    check(
        vec![model(vec![call(Some("a")), call(Some("a"))]), user(vec![result(Some("a"), "t")])],
        &place(0, 1),
        "is already used by",
    );
    check(
        vec![model(vec![call(None), call(None)]), user(vec![result(None, "t")])],
        &place(0, 1),
        "no result",
    );
    check(vec![user(vec![call(None)])], &place(0, 0), "only the model");
    check(
        vec![model(vec![call(None), result(None, "t")])],
        &place(0, 1),
        "belong in user contents",
    );
}

#[test]
fn b_ch_03_parts_must_hold_something_known() {
    let part = |part: Value, at: &str, said: &str| {
        let at = format!("contents[0].parts[0]{at}");
        let content = Map::from_iter([("parts".to_owned(), Value::Array(vec![part]))]);
        contents(Value::Array(vec![content.into()]), &at, said);
    };
    part(Value::Null, "", "an object");
    part(json!(7), "", "an object");
    part(json!({}), "", "is empty");
    part(json!({"text": 7}), ".text", "a string");
    part(json!({"inlineData": {"data": "AA=="}}), ".inlineData.mimeType", "is missing");
    part(json!({"inlineData": {"mimeType": "image/png"}}), ".inlineData.data", "is missing");
    part(json!({"fileData": {"fileUri": "file:///etc/passwd"}}), ".fileData.fileUri", "https://");
    part(json!({"fileData": {}}), ".fileData.fileUri", "is missing");
    part(json!({"functionCall": {"args": {}}}), ".functionCall.name", "is missing");
    part(json!({"functionCall": {"name": "t", "args": "x"}}), ".functionCall.args", "an object");
    let answer = json!({"functionResponse": {"name": "t", "response": "x"}});
    part(answer, ".functionResponse.response", "an object");
    let system =
        json!({"systemInstruction": {"parts": [{"inlineData": {"mimeType": "a/b", "data": ""}}]}});
    check(system, "systemInstruction.parts[0]", "must be text");
}

#[test]
fn b_ch_04_functions_need_names_of_their_own() {
    let tools = |functions: Value, at: &str, said: &str| {
        let tool = Map::from_iter([("functionDeclarations".to_owned(), functions)]);
        let tools = Value::Array(vec![tool.into()]);
        check(Map::from_iter([("tools".to_owned(), tools)]).into(), at, said);
    };
    let place = |index: usize| format!("tools[0].functionDeclarations[{index}]");
    tools(json!([{"name": "a"}, {"name": "a"}]), &place(1), "unique");
    tools(json!([{"name": ""}]), &place(0), "empty");
    tools(json!([{"name": "a b"}]), &place(0), "not allowed");
    tools(json!([{"name": "\u{1f3b2}"}]), &place(0), "not allowed");
    tools(json!([{"name": "a".repeat(129)}]), &place(0), "128");
    tools(json!([{}]), &format!("{}.name", place(0)), "is missing");
    tools(
        json!([{"name": "a", "parameters": 7}]),
        &format!("{}.parameters", place(0)),
        "an object",
    );
    tools(json!(7), "tools[0].functionDeclarations", "a list");
    check(json!({"tools": 7}), "tools", "a list");
}

#[test]
fn b_ch_09_numbers_must_be_what_they_count() {
    let config = |key: &str, value: Value, said: &str| {
        let at = format!("generationConfig.{key}");
        let config = Map::from_iter([(key.to_owned(), value)]);
        check(Map::from_iter([("generationConfig".to_owned(), config.into())]).into(), &at, said);
    };
    for wrong in [json!(-1), json!(0), json!(1.5), json!("5")] {
        config("maxOutputTokens", wrong, "must be");
    }
    config(
        "maxOutputTokens",
        json!(9_223_372_036_854_775_808_u64),
        "exceeds the limit of every model",
    );
    config("temperature", json!("hot"), "a number");
    config("temperature", json!(2.5), "between 0 and 2");
    config("topP", json!(1.5), "between 0 and 1");
    config("stopSequences", json!("END"), "a list");
}

#[test]
fn b_ch_10_candidates_and_choices_have_limits() {
    let config = json!({"generationConfig": {"candidateCount": 1000}});
    check(config, "generationConfig.candidateCount", "1 to 8");
    check(json!({"generationConfig": 7}), "generationConfig", "an object");
    let mode = json!({"toolConfig": {"functionCallingConfig": {"mode": "SOME"}}});
    check(mode, "toolConfig.functionCallingConfig.mode", "`SOME`");
    let names = json!({"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["a"]}});
    let at = "toolConfig.functionCallingConfig.allowedFunctionNames";
    check(json!({"toolConfig": names}), at, "`ANY`");
    check(json!({"systemInstruction": 7}), "systemInstruction", "an object");
}
