//! B-CH 1 to 4, 9 and 10: requests that are refused, each with its place.

use super::*;
use crate::error::LlmErrorKind;

/// Changes one field of a good request.
fn check(key: &str, value: Value, at: &str, message: &str) {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    if value.is_null() && key == "model" {
        body.as_object_mut().unwrap().remove(key);
    } else {
        body[key] = value;
    }
    let failure = OpenAiChatCodec.read_request(body, &RequestUrlParams::default()).unwrap_err();
    assert_eq!(failure.kind, LlmErrorKind::Invalid);
    assert_eq!(failure.at.as_deref(), Some(at), "{}", failure.message);
    assert!(failure.message.contains(message), "{}", failure.message);
}

fn message(value: Value, at: &str, message: &str) {
    check("messages", Value::Array(vec![value]), at, message);
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    for body in [json!([]), json!("x"), json!(null), json!(1)] {
        let failure = OpenAiChatCodec.read_request(body, &RequestUrlParams::default()).unwrap_err();
        assert!(failure.message.starts_with("`the body` must be an object"), "{}", failure.message);
    }
    check("model", Value::Null, "model", "`model` is missing");
    check("model", json!(5), "model", "must be a string");
}

#[test]
fn b_ch_01_messages_must_be_a_list_of_some() {
    check("messages", json!(null), "messages", "`messages` is missing");
    check("messages", json!([]), "messages", "is empty");
    check("messages", json!({}), "messages", "must be a list, not an object");
    check("messages", json!("hi"), "messages", "must be a list");
    message(json!("hi"), "messages[0]", "must be an object");
}

#[test]
fn b_ch_02_roles_and_results_must_make_sense() {
    message(json!({"content": "x"}), "messages[0].role", "is missing");
    message(
        json!({"role": "wizard", "content": "x"}),
        "messages[0].role",
        "`wizard`; the valid values are",
    );
    let result = json!({"role": "tool", "content": "x"});
    message(result, "messages[0].tool_call_id", "is missing");
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
    message(result.clone(), "messages[0].tool_call_id", "no call before it has the id `c`");
    let function = json!({"name": "f", "arguments": "{}"});
    let call = json!({"id": "c", "type": "function", "function": function});
    let called = json!({"role": "assistant", "tool_calls": [call]});
    let twice = json!([called, result, result]);
    check("messages", twice, "messages[2].tool_call_id", "already has its result");
    let again = json!([called, called]);
    check("messages", again, "messages[1]", "call id `c` is already used by `messages[0]`");
    let legacy = json!({"role": "function", "name": "f", "content": "x"});
    message(legacy, "messages[0].name", "no call before it");
}

#[test]
fn b_ch_02_ids_may_be_used_again_once_answered() {
    let function = json!({"name": "f", "arguments": "{}"});
    let call = json!({"id": "c", "type": "function", "function": function});
    let called = json!({"role": "assistant", "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
    let messages = json!([called, result, called, result]);
    let request = read(json!({"model": "m", "messages": messages}));
    assert_eq!(request.messages.len(), 4);
}

#[test]
fn b_ch_03_content_must_be_text_or_parts() {
    message(json!({"role": "user"}), "messages[0].content", "is missing");
    message(json!({"role": "user", "content": null}), "messages[0].content", "is missing");
    message(json!({"role": "user", "content": 5}), "messages[0].content", "a list of parts");
    message(json!({"role": "assistant"}), "messages[0].content", "neither `content` nor");
    let parts = |part: Value| json!({"role": "user", "content": [part]});
    message(parts(json!("x")), "messages[0].content[0]", "must be an object");
    message(parts(json!({"text": "x"})), "messages[0].content[0].type", "is missing");
    message(parts(json!({"type": "text"})), "messages[0].content[0].text", "is missing");
    message(parts(json!({"type": "file", "file": {}})), "messages[0].content[0].file.file_id", "");
    let image = |url: &str| parts(json!({"type": "image_url", "image_url": {"url": url}}));
    for url in ["file:///etc/passwd", "", "javascript:x", "data:image/png,raw", "é"] {
        message(image(url), "messages[0].content[0].image_url.url", "http or https");
    }
}

#[test]
fn b_ch_03_large_content_is_read() {
    let parts: Vec<Value> = (0..10_000).map(|_| json!({"type": "text", "text": "x"})).collect();
    let request = json!({"model": "m", "messages": [{"role": "user", "content": parts}]});
    assert_eq!(read(request).messages[0].parts.len(), 10_000);
}

#[test]
fn b_ch_04_tools_must_have_good_names() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    check("tools", json!([tool("a"), tool("a")]), "tools[1]", "`a` like a tool before it");
    check("tools", json!([tool("")]), "tools[0]", "is empty");
    check("tools", json!([tool("a b")]), "tools[0]", "`a b`");
    check("tools", json!([tool("😀")]), "tools[0]", "not allowed");
    check("tools", json!([tool(&"x".repeat(65))]), "tools[0]", "65 characters; at most 64");
    check("tools", json!([{"type": "function"}]), "tools[0].function", "is missing");
    check("tools", json!([{"function": {}}]), "tools[0].function.name", "is missing");
    let parameters = json!([{"type": "function", "function": {"name": "a", "parameters": 1}}]);
    check("tools", parameters, "tools[0].function.parameters", "must be an object");
    check("functions", json!([{"name": "a"}, {"name": "a"}]), "tools[1]", "like a tool");
    check(
        "tool_choice",
        json!("maybe"),
        "tool_choice",
        "the valid values are `auto`, `none`, `required`",
    );
    check("tool_choice", json!({}), "tool_choice", "`tool_choice.type` is missing");
    check("tool_choice", json!(7), "tool_choice", "a string or an object");
}

#[test]
fn b_ch_09_limits_must_be_numbers_that_make_sense() {
    for limit in ["max_tokens", "max_completion_tokens"] {
        for wrong in [json!(-1), json!(0), json!(9.5), json!(1e30)] {
            check(limit, wrong, limit, "a whole number above 0");
        }
        check(limit, json!("5"), limit, "must be a number, not a string");
    }
    let huge = json!({"model": "m", "max_tokens": 1_u64 << 63,
        "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(read(huge).options.max_output, Some(1 << 63));
    for number in ["temperature", "top_p", "seed", "presence_penalty", "frequency_penalty"] {
        check(number, json!("1"), number, "must be a number");
    }
    check("stop", json!(5), "stop", "a string or a list of strings");
    check("stop", json!(["a", 5]), "stop[1]", "must be a string");
    check("response_format", json!("json"), "response_format", "must be an object");
    check("response_format", json!({"type": "json_schema"}), "response_format.json_schema", "");
    let both = json!({"model": "m", "max_tokens": 1, "max_completion_tokens": 1,
        "messages": [{"role": "user", "content": "hi"}]});
    let failure = OpenAiChatCodec.read_request(both, &RequestUrlParams::default()).unwrap_err();
    assert!(failure.message.contains("send only one"));
}

#[test]
fn b_ch_10_stream_and_n_must_make_sense() {
    check("stream", json!("yes"), "stream", "must be true or false, not a string");
    check("n", json!(1000), "n", "more than 128");
    check("n", json!(0), "n", "above 0");
    check("parallel_tool_calls", json!(1), "parallel_tool_calls", "true or false");
}
