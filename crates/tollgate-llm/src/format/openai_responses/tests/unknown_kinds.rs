//! Items and parts of content whose kinds nobody here knows: they stay as they are towards the same
//! dialect, and cost no other dialect what it does understand.
#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a reference")]

use super::*;
use crate::conversation::{MessagePart, PartContent, StopReason};
use crate::dialect::Dialect;
use crate::format;

fn text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn unknown_part(frames: u64) -> Value {
    json!({"type": "output_hologram", "frames": frames, "text": 7, "content": [{"role": "x"}]})
}

fn unknown_item() -> Value {
    json!({"type": "telepathy_call", "id": "tc_1", "status": "completed", "role": "medium",
        "content": [{"type": "thought", "text": "…"}]})
}

fn message(id: &str, content: Value) -> Value {
    json!({"type": "message", "id": id, "status": "completed", "role": "assistant",
        "phase": "final", "content": content})
}

fn output() -> Value {
    json!([
        unknown_item(),
        message("msg_1", json!([unknown_part(1), text("Look: "), unknown_part(2), text("nice.")])),
        message("msg_2", json!([unknown_part(3)])),
        message("msg_3", json!([text("Done.")])),
        {"id": "u_1", "no": "type"},
    ])
}

fn answer(output: Value) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
        "model": "m", "output": output})
}

fn read_answer(output: Value) -> ChatResponse {
    OpenAiResponsesCodec.read_response(answer(output)).unwrap()
}

#[test]
fn they_survive_in_an_answer() {
    let response = read_answer(output());
    let written = OpenAiResponsesCodec.write_response(&response, &make_request(), None);
    assert_eq!(written["output"], output());
    assert_eq!(response.text(), "Look: nice.Done.");
    let again = OpenAiResponsesCodec.read_response(written).unwrap();
    assert_eq!(again.parts, response.parts);
}

#[test]
fn a_message_without_an_id_keeps_its_role_and_content() {
    let response = read_answer(json!([
        {"type": "message", "role": "assistant", "content": [unknown_part(1)]},
        {"role": "assistant", "type": "message", "content": [text("Done.")]},
    ]));
    let written = OpenAiResponsesCodec.write_response(&response, &make_request(), None);
    let contents = [json!([unknown_part(1)]), json!([text("Done.")])];
    for (item, content) in written["output"].as_array().unwrap().iter().zip(contents) {
        assert_eq!((&item["type"], &item["role"]), (&json!("message"), &json!("assistant")));
        assert_eq!(item["content"], content, "{item}");
    }
}

#[test]
fn they_survive_in_the_history() {
    let mut input = vec![json!({"role": "user", "content": "hi"})];
    let mut said = output().as_array().unwrap().clone();
    said.pop();
    for item in &mut said {
        // Of what was said before, nobody needs these.
        for part in item["content"].as_array_mut().unwrap() {
            part.as_object_mut().unwrap().remove("logprobs");
        }
    }
    input.extend(said);
    let request = read(json!({"model": "m", "input": input}));
    input.iter_mut().for_each(as_input);
    assert_eq!(encode(&request)["input"], json!(input));
    let response = read_answer(output());
    let history = OpenAiResponsesCodec.write_history(&[response.into_message().into()]);
    let items: Vec<Value> = history.as_array().unwrap().clone();
    assert_eq!(items[0], unknown_item());
    assert_eq!(items[1]["role"], "assistant");
    assert_eq!(items[1]["content"][2], unknown_part(2));
    assert_eq!(items[2]["content"], json!([unknown_part(3)]));
}

#[test]
fn a_part_is_no_call_whatever_it_calls_itself() {
    let part = json!({"type": "function_call", "call_id": "c", "name": "f"});
    let response = read_answer(json!([message("msg_1", json!([part, text("Done.")]))]));
    assert_eq!(response.stop, StopReason::End);
    let written = OpenAiResponsesCodec.write_response(&response, &make_request(), None);
    assert_eq!(written["output"][0]["content"][0], part);
}

#[test]
fn other_dialects_say_the_rest() {
    let response = read_answer(output());
    for dialect in Dialect::ALL.into_iter().filter(|it| *it != Dialect::OpenAiResponses) {
        let format = format::of(dialect);
        let written = format.write_response(&response, &make_request(), None);
        let again = format.read_response(written.clone()).unwrap();
        assert_eq!(again.text(), "Look: nice.Done.", "{dialect}: {written}");
        let unknown =
            again.parts.iter().filter(|it| matches!(it.content, PartContent::Opaque { .. }));
        assert_eq!(unknown.count(), 0, "{dialect}: {written}");
    }
}

/// A stream of these events between its first and its last, and the same as a client gets it.
fn stream_of(events: &[Value], output: &Value) -> (ChatResponse, Vec<Value>) {
    let response = |status: &str, output: &Value| {
        let mut response = answer(output.clone());
        response["status"] = status.into();
        response
    };
    let none = json!([]);
    let mut all = vec![
        json!({"type": "response.created", "response": response("in_progress", &none)}),
        json!({"type": "response.in_progress", "response": response("in_progress", &none)}),
    ];
    all.extend(events.iter().cloned());
    all.push(json!({"type": "response.completed", "response": response("completed", output)}));
    let all: Vec<_> = all.iter().map(|event| (None, event.to_string())).collect();
    let steps = test_fixtures::steps(&OpenAiResponsesCodec, &all).unwrap();
    let arrived = encode_stream(&make_request(), &steps);
    let arrived = arrived.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
    (test_fixtures::whole(&steps), arrived)
}

fn event(kind: &str, output_index: u64, content_index: u64, fields: Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}"), "item_id": "msg_1",
        "output_index": output_index, "content_index": content_index});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    event
}

fn item_event(kind: &str, item: &Value) -> Value {
    json!({"type": format!("response.output_item.{kind}"), "output_index": 0, "item": item})
}

#[test]
fn they_survive_in_a_stream() {
    let begun = json!({"type": "message", "id": "msg_1", "status": "in_progress",
        "role": "assistant", "phase": "final", "content": []});
    let done = message("msg_1", json!([unknown_part(2), text("nice.")]));
    let words = json!({"delta": "nice.", "logprobs": []});
    let events = [
        item_event("added", &begun),
        event("content_part.added", 0, 0, json!({"part": unknown_part(0)})),
        event("output_hologram.delta", 0, 0, json!({"frame": "1"})),
        event("content_part.done", 0, 0, json!({"part": unknown_part(2)})),
        event("content_part.added", 0, 1, json!({"part": text("")})),
        event("output_text.delta", 0, 1, words),
        event("output_text.done", 0, 1, json!({"text": "nice.", "logprobs": []})),
        event("content_part.done", 0, 1, json!({"part": text("nice.")})),
        item_event("done", &done),
    ];
    let (whole, arrived) = stream_of(&events, &json!([done]));
    assert_eq!(whole.text(), "nice.");
    assert_eq!(arrived.last().unwrap()["response"]["output"], json!([done]));
    let named = |kind: &str| -> Vec<&Value> {
        let kind = format!("response.{kind}");
        arrived.iter().filter(|event| event["type"] == kind).collect()
    };
    assert_eq!(named("content_part.added")[0]["part"], unknown_part(0));
    assert_eq!(named("output_hologram.delta")[0]["frame"], "1");
    assert_eq!(named("output_hologram.delta")[0]["content_index"], 0);
    assert_eq!(named("content_part.done")[0]["part"], unknown_part(2));
    assert_eq!(named("output_text.delta")[0]["content_index"], 1);
    let written = OpenAiResponsesCodec.write_response(&whole, &make_request(), None);
    assert_eq!(written["output"], json!([done]));
}

#[test]
fn parts_of_which_only_the_end_of_their_message_tells_survive() {
    let begun = json!({"type": "message", "id": "msg_1", "status": "in_progress",
        "role": "assistant", "phase": "final", "content": []});
    let done = message("msg_1", json!([text("nice."), unknown_part(2)]));
    let events = [
        item_event("added", &begun),
        event("output_text.delta", 0, 0, json!({"delta": "nice."})),
        item_event("done", &done),
    ];
    let (whole, arrived) = stream_of(&events, &json!([done]));
    assert_eq!(whole.parts.len(), 2, "{:?}", whole.parts);
    assert_eq!(arrived.last().unwrap()["response"]["output"], json!([done]));
    let (whole, arrived) = stream_of(&[item_event("done", &done)], &json!([done]));
    assert!(
        whole.parts.iter().any(|it: &MessagePart| matches!(it.content, PartContent::Opaque { .. }))
    );
    assert_eq!(arrived.last().unwrap()["response"]["output"], json!([done]));
}
