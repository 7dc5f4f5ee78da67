//! Signed reasoning of other providers, as clients of this dialect keep it and send it back.

use super::*;
use crate::conversation::{
    ChatMessage, ChatRole, FunctionCall, MessagePart, StopReason, ThoughtSignature, TokenUsage,
};

fn thought(text: &str, signature: &str) -> MessagePart {
    let signature = Some(ThoughtSignature::new(Dialect::Gemini, signature));
    MessagePart::new(PartContent::Thinking { text: text.to_owned(), signature })
}

fn call(id: &str) -> MessagePart {
    let id = id.to_owned();
    let name = "roll".to_owned();
    MessagePart::new(PartContent::Call(FunctionCall { id, name, arguments: "{}".to_owned() }))
}

/// Thoughts before the text, and before the second call.
fn parts() -> Vec<MessagePart> {
    let text = MessagePart::text("Let me see.");
    vec![thought("hm", "s1"), text, call("a"), thought("", "s2"), call("b")]
}

fn answer(parts: Vec<MessagePart>) -> ChatResponse {
    let id = "x".to_owned();
    let model = "m".to_owned();
    let usage = TokenUsage::default();
    let extra = Extra::none();
    ChatResponse { id, model, created: 1, parts, stop: StopReason::Calls, usage, extra }
}

fn expected_details() -> Value {
    json!([
        {"type": "reasoning.text", "text": "hm", "signature": "tollgate:gemini:s1", "index": 0},
        {"type": "reasoning.text", "text": "", "signature": "tollgate:gemini:s2", "index": 1, "id": "b"},
    ])
}

#[test]
fn an_answer_that_is_sent_back_has_its_reasoning_where_it_was() {
    let body = OpenAiChatCodec.write_response(&answer(parts()), &make_request(), None);
    let message = &body["choices"][0]["message"];
    assert_eq!(message["reasoning_details"], expected_details());
    assert_eq!(message["reasoning_content"], "hm");
    let history = OpenAiChatCodec.write_history(&[answer(parts()).into_message().into()]);
    assert_eq!(history[0]["reasoning_details"], expected_details());
    for message in [message, &history[0]] {
        let results =
            ["a", "b"].map(|id| json!({"role": "tool", "tool_call_id": id, "content": "4"}));
        let request = read(json!({"model": "m", "messages": [message, results[0], results[1]]}));
        let contents = |parts: &[MessagePart]| -> Vec<PartContent> {
            parts.iter().map(|part| part.content.clone()).collect()
        };
        assert_eq!(contents(&request.messages[0].parts), contents(&parts()));
        let written = OpenAiChatCodec.write_request(&request).unwrap();
        assert!(written.body["messages"][0].get("reasoning_details").is_none());
        assert_eq!(written.lost, ["reasoning of another model"]);
    }
}

#[test]
fn a_stream_has_the_same_details_each_in_one_piece() {
    for length in [1, 100] {
        let steps = test_fixtures::in_pieces(&delta::steps(&answer(parts())), length);
        let frames = test_fixtures::frames_for(&OpenAiChatCodec, &make_request(), &steps);
        let events = test_fixtures::to_events(&frames);
        let deltas = events.iter().filter_map(|(_, data)| {
            let chunk: Value = serde_json::from_str(data).ok()?;
            Some(chunk["choices"][0]["delta"].clone())
        });
        let details = deltas.filter_map(|delta| delta["reasoning_details"].as_array().cloned());
        assert_eq!(Value::from_iter(details.flatten()), expected_details());
    }
    let steps = delta::steps(&answer(vec![MessagePart::text("Well."), thought("", "late")]));
    let frames = test_fixtures::frames_for(&OpenAiChatCodec, &make_request(), &steps);
    let late =
        test_fixtures::to_events(&frames).iter().any(|(_, data)| data.contains("gemini:late"));
    assert!(late, "also if nothing follows");
}

#[test]
fn what_an_earlier_version_gave_to_clients_is_read() {
    let message = json!({"role": "assistant", "content": "yes", "reasoning_content": "hm",
        "reasoning_signature": "tollgate:gemini:s1"});
    let request = read(json!({"model": "m", "messages": [message]}));
    assert_eq!(request.messages[0].parts[0].content, thought("hm", "s1").content);
}

#[test]
fn details_of_others_go_to_providers_of_this_dialect() {
    let other = json!({"type": "reasoning.encrypted", "data": "x", "index": 0});
    for details in [json!([other]), json!([other, 7]), json!("odd")] {
        let message = json!({"role": "assistant", "content": "yes", "reasoning_details": details});
        let request = read(json!({"model": "m", "messages": [message]}));
        assert_eq!(encode(&request)["messages"][0]["reasoning_details"], details);
        let own = request.messages[0].parts.iter();
        assert!(own.into_iter().all(|it| !matches!(it.content, PartContent::Thinking { .. })));
    }
}

#[test]
fn a_provider_that_signs_gets_its_own_signatures() {
    let signature = Some(ThoughtSignature::new(Dialect::OpenAiChat, "own"));
    let part = MessagePart::new(PartContent::Thinking { text: "hm".to_owned(), signature });
    let message = ChatMessage::new(ChatRole::Assistant, vec![part, MessagePart::text("yes")]);
    let written = OpenAiChatCodec.write_request(&test_fixtures::request(vec![message])).unwrap();
    let details = &written.body["messages"][0]["reasoning_details"];
    assert_eq!(details[0]["signature"], "own");
    assert!(written.lost.is_empty());
}
