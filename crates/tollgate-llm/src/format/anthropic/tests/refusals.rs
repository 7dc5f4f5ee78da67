//! B-CH: requests that cannot be served, and the place that is named.

use serde_json::{Map, Value, json};

use super::super::AnthropicCodec;
use crate::error::LlmErrorKind;
use crate::format::{DialectCodec, RequestUrlParams};

/// A good request with some fields replaced.
fn check(fields: Value, at: &str, said: &str) {
    let mut body = json!({
        "model": "m",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "hi"}],
    });
    let Value::Object(fields) = fields else { panic!("an object") };
    for (key, value) in fields {
        body[key] = value;
    }
    let failure =
        AnthropicCodec.read_request(body.clone(), &RequestUrlParams::default()).unwrap_err();
    assert_eq!(failure.kind, LlmErrorKind::Invalid);
    assert_eq!(failure.at.as_deref(), Some(at), "{body}");
    assert!(failure.message.contains(said), "{}", failure.message);
}

fn messages(list: Value, at: &str, said: &str) {
    check(Map::from_iter([("messages".to_owned(), list)]).into(), at, said);
}

#[test]
fn b_ch_01_messages_must_be_a_list_with_something_in_it() {
    messages(Value::Null, "messages", "is missing");
    messages(json!([]), "messages", "at least one");
    messages(json!({}), "messages", "a list, not an object");
    messages(json!(["hi"]), "messages[0]", "an object, not a string");
    let whole = AnthropicCodec.read_request(json!([]), &RequestUrlParams::default()).unwrap_err();
    assert!(whole.message.contains("the body"), "{}", whole.message);
}

#[test]
fn b_ch_02_roles_calls_and_results_must_fit_together() {
    messages(json!([{"role": "wizard", "content": "hi"}]), "messages[0].role", "`wizard`");
    messages(json!([{"content": "hi"}]), "messages[0].role", "is missing");
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "t", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let user = |content: Value| json!({"role": "user", "content": content});
    let assistant = |content: Value| json!({"role": "assistant", "content": content});
    let place = |message: usize, block: usize| format!("messages[{message}].content[{block}]");
    messages(json!([user(json!([result("a")]))]), &place(0, 0), "no call before it");
    messages(
        json!([user(json!("x")), assistant(json!([call("a")])), user(json!([result("b")]))]),
        &place(2, 0),
        "`b`",
    );
    messages(
        json!([assistant(json!([call("a")])), user(json!([result("a"), result("a")]))]),
        &place(1, 1),
        "already",
    );
    messages(
        json!([assistant(json!([call("a"), call("a")])), user(json!([result("a")]))]),
        &place(0, 1),
        "is already used by",
    );
    messages(
        json!([assistant(json!([call("a")])), user(json!("well?"))]),
        &place(0, 0),
        "no result",
    );
    messages(
        json!([assistant(json!([call("a")])), user(json!("well?")), assistant(json!("no"))]),
        &place(0, 0),
        "no result",
    );
    messages(json!([user(json!([call("a")]))]), &place(0, 0), "only the assistant");
    messages(
        json!([assistant(json!([call("a")])), assistant(json!([result("a")]))]),
        &place(1, 0),
        "belong in user messages",
    );
    messages(
        json!([{"role": "system", "content": [call("a")]}, user(json!("x"))]),
        &place(0, 0),
        "must be text",
    );
}

#[test]
fn b_ch_03_content_must_be_text_or_blocks() {
    let content = |content: Value, at: &str, said: &str| {
        messages(json!([{"role": "user", "content": content}]), at, said);
    };
    let source = |source: Value, at: &str, said: &str| {
        let at = format!("messages[0].content[0].source{at}");
        content(json!([{"type": "image", "source": source}]), &at, said);
    };
    content(Value::Null, "messages[0].content", "is missing");
    content(json!(7), "messages[0].content", "not a number");
    content(json!([7]), "messages[0].content[0]", "an object");
    content(json!([{"text": "x"}]), "messages[0].content[0].type", "is missing");
    content(json!([{"type": "text", "text": 1}]), "messages[0].content[0].text", "a string");
    content(json!([{"type": "text"}]), "messages[0].content[0].text", "is missing");
    source(Value::Null, "", "is missing");
    source(json!({"type": "url", "url": "file:///etc/passwd"}), ".url", "https://");
    source(json!({"type": "url", "url": "data:image/png;base64,AAAA"}), ".url", "base64");
    source(json!({"type": "base64", "data": "AAAA"}), ".media_type", "is missing");
    let many: Vec<Value> = (0..10_000).map(|_| json!({"type": "text", "text": "x"})).collect();
    let body =
        json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": many}]});
    let request = AnthropicCodec.read_request(body, &RequestUrlParams::default()).unwrap();
    assert_eq!(request.messages[0].parts.len(), 10_000);
}

#[test]
fn b_ch_04_tools_need_names_of_their_own() {
    let named = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
    let tools = |tools: Value, at: &str, said: &str| check(json!({"tools": tools}), at, said);
    tools(json!([named("a"), named("a")]), "tools[1]", "unique");
    tools(json!([named("")]), "tools[0]", "empty");
    tools(json!([named("a b")]), "tools[0]", "not allowed");
    tools(json!([named("\u{1f3b2}")]), "tools[0]", "not allowed");
    tools(json!([named(&"a".repeat(129))]), "tools[0]", "128");
    tools(json!([{"name": "a"}]), "tools[0].input_schema", "is missing");
    tools(json!([{"name": "a", "input_schema": "x"}]), "tools[0].input_schema", "an object");
    tools(json!([{"type": 1}]), "tools[0].type", "a string");
    tools(json!({}), "tools", "a list");
    let body = json!({
        "model": "m",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": "x"}],
        "tools": [named(&"a".repeat(128))],
    });
    assert!(AnthropicCodec.read_request(body, &RequestUrlParams::default()).is_ok());
}

#[test]
fn b_ch_09_numbers_must_be_what_they_count() {
    check(json!({"max_tokens": null}), "max_tokens", "is missing");
    for wrong in [json!(-1), json!(1.5), json!(9_223_372_036_854_775_808_u64), json!("5")] {
        check(json!({"max_tokens": wrong}), "max_tokens", "must be");
    }
    check(json!({"temperature": "hot"}), "temperature", "a number");
    check(json!({"temperature": 1.5}), "temperature", "between 0 and 1");
    check(json!({"top_p": -0.1}), "top_p", "between 0 and 1");
    check(json!({"stop_sequences": "END"}), "stop_sequences", "a list");
    check(json!({"stop_sequences": [1]}), "stop_sequences[0]", "a string");
}

#[test]
fn b_ch_10_stream_must_be_yes_or_no() {
    check(json!({"stream": "yes"}), "stream", "true or false");
    check(json!({"model": null}), "model", "is missing");
    check(json!({"tool_choice": "auto"}), "tool_choice", "an object");
    check(json!({"tool_choice": {"type": "some"}}), "tool_choice.type", "`some`");
    check(json!({"tool_choice": {"type": "tool"}}), "tool_choice.name", "is missing");
    check(
        json!({"output_config": {"format": {"type": "json_schema"}}}),
        "output_config.format.schema",
        "is missing",
    );
    check(json!({"metadata": {"user_id": 7}}), "metadata.user_id", "a string");
}
