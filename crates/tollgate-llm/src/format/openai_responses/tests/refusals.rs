//! B-CH 1 to 4, 9 and 10: requests that are refused, each with its place.

use super::*;
use crate::error::LlmErrorKind;

/// Changes one field of a good request.
fn check(key: &str, value: Value, at: &str, message: &str) {
    let mut body = json!({"model": "m", "input": "hi"});
    body[key] = value;
    let failure =
        OpenAiResponsesCodec.read_request(body, &RequestUrlParams::default()).unwrap_err();
    assert_eq!(failure.kind, LlmErrorKind::Invalid);
    assert_eq!(failure.at.as_deref(), Some(at), "{}", failure.message);
    assert!(failure.message.contains(message), "{}", failure.message);
}

fn item(value: Value, at: &str, message: &str) {
    check("input", Value::Array(vec![value]), at, message);
}

#[test]
fn b_ch_01_input_must_be_text_or_items() {
    for body in [json!([]), json!("x"), json!(null)] {
        assert!(OpenAiResponsesCodec.read_request(body, &RequestUrlParams::default()).is_err());
    }
    check("model", Value::Null, "model", "`model` is missing");
    check("input", json!(null), "input", "`input` is missing");
    check("input", json!([]), "input", "is empty");
    check("input", json!({}), "input", "a string or a list of items, not an object");
    check("instructions", json!(["x"]), "instructions", "must be a string");
    item(json!("hi"), "input[0]", "must be an object");
    item(json!({}), "input[0].type", "is missing");
    item(json!({"type": 5}), "input[0].type", "must be a string");
}

#[test]
fn what_the_provider_keeps_needs_no_input() {
    for key in ["previous_response_id", "conversation", "prompt"] {
        let request = read(json!({"model": "m", key: "resp_1"}));
        assert!(request.messages.is_empty());
        let output = json!([{"type": "function_call_output", "call_id": "c", "output": "4"}]);
        let request = read(json!({"model": "m", "input": output, key: "resp_1"}));
        assert_eq!(request.messages.len(), 1, "{key}");
    }
}

#[test]
fn b_ch_02_roles_and_results_must_make_sense() {
    item(json!({"type": "message", "content": "x"}), "input[0].role", "is missing");
    item(
        json!({"role": "wizard", "content": "x"}),
        "input[0].role",
        "`wizard`; the valid values are",
    );
    let result = json!({"type": "function_call_output", "output": "x"});
    item(result, "input[0].call_id", "is missing");
    let result = json!({"type": "function_call_output", "call_id": "c", "output": "x"});
    item(result.clone(), "input[0].call_id", "no call before it has the id `c`");
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    check("input", json!([call, result, result]), "input[2].call_id", "already has its result");
    check("input", json!([call, call]), "input[1]", "call id `c` is already used by `input[0]`");
    let nameless = json!({"type": "function_call", "call_id": "c", "arguments": "{}"});
    item(nameless, "input[0].name", "is missing");
    let nothing = json!({"type": "function_call_output", "call_id": "c"});
    check("input", json!([call, nothing]), "input[1].output", "is missing");
}

#[test]
fn b_ch_03_content_must_be_text_or_parts() {
    item(json!({"role": "user"}), "input[0].content", "is missing");
    item(json!({"role": "assistant"}), "input[0].content", "is missing");
    item(json!({"role": "user", "content": 5}), "input[0].content", "a list of parts");
    let parts = |part: Value| json!({"role": "user", "content": [part]});
    item(parts(json!({"text": "x"})), "input[0].content[0].type", "is missing");
    item(parts(json!({"type": "input_text"})), "input[0].content[0].text", "is missing");
    item(parts(json!({"type": "input_image"})), "input[0].content[0].image_url", "is missing");
    item(parts(json!({"type": "input_file"})), "input[0].content[0].file_id", "is missing");
    let image = parts(json!({"type": "input_image", "image_url": "file:///etc/passwd"}));
    item(image, "input[0].content[0].image_url", "http or https");
}

#[test]
fn b_ch_04_tools_must_have_good_names() {
    let tool = |name: &str| json!({"type": "function", "name": name, "parameters": {}});
    check("tools", json!([tool("a"), tool("a")]), "tools[1]", "`a` like a tool before it");
    check("tools", json!([tool("")]), "tools[0]", "is empty");
    check("tools", json!([tool("😀")]), "tools[0]", "not allowed");
    check("tools", json!([tool(&"x".repeat(129))]), "tools[0]", "129 characters; at most 64");
    check("tools", json!([{"name": "a"}]), "tools[0].type", "is missing");
    check("tools", json!([{"type": "function"}]), "tools[0].name", "is missing");
    check("tools", json!({}), "tools", "must be a list");
    check(
        "tool_choice",
        json!("maybe"),
        "tool_choice",
        "the valid values are `auto`, `none`, `required`",
    );
    check("tool_choice", json!({"type": "function"}), "tool_choice.name", "is missing");
    check("tool_choice", json!([]), "tool_choice", "a string or an object");
}

#[test]
fn b_ch_09_limits_must_be_numbers_that_make_sense() {
    for wrong in [json!(-1), json!(0), json!(1e30)] {
        check("max_output_tokens", wrong, "max_output_tokens", "a whole number above 0");
    }
    check("max_output_tokens", json!("5"), "max_output_tokens", "must be a number");
    check("temperature", json!("hot"), "temperature", "must be a number");
    check("reasoning", json!("high"), "reasoning", "must be an object");
    check("reasoning", json!({"effort": 3}), "reasoning.effort", "must be a string");
    check("text", json!({"format": {}}), "text.format.type", "is missing");
    check("text", json!({"format": {"type": "json_schema"}}), "text.format.name", "is missing");
}

#[test]
fn b_ch_10_stream_must_be_true_or_false() {
    check("stream", json!("yes"), "stream", "must be true or false, not a string");
    check("parallel_tool_calls", json!("no"), "parallel_tool_calls", "true or false");
}
