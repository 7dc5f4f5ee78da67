//! Parts of an answer whose kinds nobody here knows: they stay as they are towards the same dialect,
//! in the field in which they came.

use super::*;

fn unknown(number: u64) -> Value {
    json!({"type": "hologram", "frames": number, "content": [{"role": "x"}]})
}

/// Looks like a call of a kind of its own, but is a part of the content.
fn unknown_with_id() -> Value {
    json!({"type": "reference", "id": "r-1", "reference_ids": [1]})
}

fn custom_call() -> Value {
    json!({"type": "custom", "id": "c-1", "custom": {"name": "x", "input": "y"}})
}

fn answer(message: Value) -> Value {
    let mut body = json!({"id": "a-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": null}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}});
    body["choices"][0]["message"] = message;
    body
}

fn write_again(body: &Value) -> (ChatResponse, Value) {
    let response = OpenAiChatCodec.read_response(body.clone()).unwrap();
    let written = OpenAiChatCodec.write_response(&response, &make_request(), None);
    (response, written["choices"][0]["message"].clone())
}

#[test]
fn they_survive_in_an_answer() {
    let text = json!({"type": "text", "text": "Look: "});
    let message = json!({"role": "assistant", "refusal": null,
        "content": [unknown(1), text, unknown_with_id(), {"type": "text", "text": "nice."}],
        "tool_calls": [custom_call()], "images": [unknown(2)]});
    let body = answer(message.clone());
    let (response, written) = write_again(&body);
    assert_eq!(written, message);
    assert_eq!(response.text(), "Look: nice.");
    let (again, _) = write_again(&OpenAiChatCodec.write_response(&response, &make_request(), None));
    assert_eq!(again.parts, response.parts);
}

#[test]
fn an_answer_of_nothing_else_survives() {
    let body = json!({"choices": [{"message": {"content": [{"type": "x"}]}}]});
    let (_, written) = write_again(&body);
    assert_eq!(written["content"], json!([{"type": "x"}]));
}

#[test]
fn text_alone_stays_a_string() {
    let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    let (_, written) = write_again(&answer(json!({"role": "assistant", "content": parts})));
    assert_eq!(written["content"], "ab");
}

#[test]
fn they_survive_in_a_stream() {
    let chunk = |delta: Value, finish: Value| {
        json!({"id": "a-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
            .to_string()
    };
    let events = [
        chunk(json!({"content": [{"type": "text", "text": "Look: "}, unknown(1)]}), Value::Null),
        chunk(json!({"content": [unknown_with_id()]}), Value::Null),
        chunk(json!({"images": [unknown(2)]}), Value::Null),
        chunk(json!({"content": "nice."}), Value::Null),
        chunk(json!({}), json!("stop")),
    ];
    let events = events.map(|data| (None, data));
    let steps = test_fixtures::steps(&OpenAiChatCodec, &events).unwrap();
    let opaque = |steps: &[ResponseDelta]| -> Vec<Value> {
        let parts = test_fixtures::whole(steps).parts;
        let contents = parts.into_iter().map(|part| part.content);
        contents
            .filter_map(|content| match content {
                PartContent::Opaque { value, .. } => Some(value),
                _ => None,
            })
            .collect()
    };
    assert_eq!(opaque(&steps), [unknown(1), unknown_with_id(), unknown(2)]);
    let mut writer = OpenAiChatCodec.stream_writer(&make_request());
    let mut frames: Vec<_> = steps.iter().flat_map(|step| writer.write(step)).collect();
    frames.extend(writer.end(None));
    let frames: Vec<_> = frames.into_iter().map(|frame| (None, frame.data)).collect();
    let again = test_fixtures::steps(&OpenAiChatCodec, &frames).unwrap();
    assert_eq!(test_fixtures::whole(&again).parts, test_fixtures::whole(&steps).parts);
}
