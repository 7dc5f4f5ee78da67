//! B-CH 13: streams as they should not be.

use super::*;
use crate::conversation::StopReason;
use crate::format::ProviderFault;

fn chunk(delta: Value) -> String {
    let mut chunk = json!({"id": "x-1", "choices": [{"index": 0}]});
    chunk["choices"][0]["delta"] = delta;
    chunk.to_string()
}

fn finish(reason: &str) -> String {
    json!({"id": "x-1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        .to_string()
}

fn read_all(events: &[String]) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
    let events: Vec<_> = events.iter().map(|data| (None, data.clone())).collect();
    test_fixtures::steps(&OpenAiChatCodec, &events)
}

/// An answer in one line.
fn check(events: &[String], expected: &str) {
    let response = test_fixtures::whole(&read_all(events).unwrap());
    let mut words: Vec<String> = Vec::new();
    for part in &response.parts {
        words.push(match &part.content {
            PartContent::Text(text) => format!("text {text}"),
            PartContent::Thinking { text, .. } => format!("thought {text}"),
            PartContent::Call(call) => format!("{} {} {}", call.id, call.name, call.arguments),
            PartContent::Opaque { value, .. } => value.to_string(),
            other => format!("{other:?}"),
        });
    }
    words.push(format!("{:?}", response.stop));
    assert_eq!(words.join(" | "), expected);
}

fn call(delta: Value) -> String {
    chunk([("tool_calls".to_owned(), Value::Array(vec![delta]))].into_iter().collect())
}

#[test]
fn b_ch_13_pieces_of_calls_find_their_call() {
    let done = finish("tool_calls");
    let begin = |index: i64, id: &str, name: &str| {
        call(json!({"index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": ""}}))
    };
    let more =
        |index: i64, text: &str| call(json!({"index": index, "function": {"arguments": text}}));
    let gaps = [
        begin(3, "c", "late"),
        more(3, "{"),
        begin(1, "a", "early"),
        more(1, "{}"),
        more(3, "}"),
        done.clone(),
    ];
    check(&gaps, "c late {} | a early {} | Calls");
    let same_index =
        [begin(0, "a", "one"), more(0, "{}"), begin(0, "b", "two"), more(0, "[]"), done.clone()];
    check(&same_index, "a one {} | b two [] | Calls");
    let repeated =
        call(json!({"index": 0, "id": "a", "function": {"name": "one", "arguments": "1"}}));
    check(&[repeated.clone(), repeated, done.clone()], "a one 11 | Calls");
    let no_index = call(json!({"id": "a", "function": {"name": "one", "arguments": "{"}}));
    let rest = call(json!({"function": {"arguments": "}"}}));
    check(&[no_index, rest, done.clone()], "a one {} | Calls");
    let name_later = [more(0, "{\"a\""), begin(0, "a", "one"), more(0, ":1}"), done.clone()];
    check(&name_later, "a one {\"a\":1} | Calls");
    let no_id = call(json!({"index": 0, "function": {"name": "one", "arguments": {"a": 1}}}));
    check(&[no_id, done.clone()], "call_0_x1 one {\"a\":1} | Calls");
    let old = chunk(json!({"function_call": {"name": "one", "arguments": "{"}}));
    let older = chunk(json!({"function_call": {"arguments": "}"}}));
    check(&[old, older, finish("function_call")], "call_0_x1 one {} | Calls");
    let custom = call(
        json!({"index": 0, "id": "c", "type": "custom", "custom": {"name": "x", "input": "a"}}),
    );
    let input = call(json!({"index": 0, "custom": {"input": "b"}}));
    check(
        &[custom, input, done],
        r#"{"id":"c","type":"custom","custom":{"name":"x","input":"ab"}} | Calls"#,
    );
}

#[test]
fn b_ch_13_a_call_that_changes_its_name_or_has_none_breaks_the_stream() {
    let begin = call(json!({"index": 0, "id": "a", "function": {"name": "safe"}}));
    let change = call(json!({"index": 0, "function": {"name": "other"}}));
    let broken = read_all(&[begin, change]).unwrap_err();
    assert_eq!(
        broken,
        BrokenStreamError::Malformed(MalformedResponseError(
            "a tool call changes its name from `safe` to `other`".to_owned()
        ))
    );
    let nameless = call(json!({"index": 0, "id": "a", "function": {"arguments": "{}"}}));
    let broken = read_all(&[nameless, finish("tool_calls")]).unwrap_err();
    assert_eq!(
        broken,
        BrokenStreamError::Malformed(MalformedResponseError("a tool call has no name".to_owned()))
    );
}

#[test]
fn b_ch_13_the_end_may_come_early_twice_or_without_a_word() {
    let text = chunk(json!({"content": "hi"}));
    let done = "[DONE]".to_owned();
    let stop = finish("stop");
    check(&[text.clone(), stop.clone()], "text hi | End");
    check(&[text.clone(), stop.clone(), done.clone(), done.clone(), text.clone()], "text hi | End");
    for short in
        [vec![], vec![text.clone()], vec![text.clone(), done.clone()], vec![done, text, stop]]
    {
        assert_eq!(read_all(&short).unwrap_err(), BrokenStreamError::Short);
    }
}

#[test]
fn b_ch_13_what_is_no_chunk_breaks_the_stream() {
    for data in ["<html>", "{", "[]", "5", "{\"choices\":{}}", "{\"choices\":[5]}"] {
        let broken = read_all(&[data.to_owned()]).unwrap_err();
        assert!(matches!(broken, BrokenStreamError::Malformed(_)), "{data}: {broken:?}");
    }
    check(&[String::new(), "  ".to_owned(), "{}".to_owned(), finish("stop")], "End");
}

#[test]
fn an_error_in_the_middle_is_reported() {
    let text = chunk(json!({"content": "hi"}));
    let error = json!({"error": {"message": "The server had an error", "type": "server_error"}});
    let BrokenStreamError::Reported(said) =
        read_all(&[text.clone(), error.to_string()]).unwrap_err()
    else {
        panic!("not reported")
    };
    assert_eq!(
        (said.fault, said.message.as_str()),
        (ProviderFault::Provider, "The server had an error")
    );
    let error =
        json!({"error": {"message": "later", "code": "rate_limit_exceeded"}, "choices": []});
    let BrokenStreamError::Reported(said) = read_all(&[text, error.to_string()]).unwrap_err()
    else {
        panic!("not reported")
    };
    assert_eq!(said.fault, ProviderFault::TooOften);
    let mut reader = OpenAiChatCodec.stream_reader();
    let broken = reader.read(Some("error"), "{\"message\":\"no\"}").unwrap_err();
    assert!(matches!(broken, BrokenStreamError::Reported(_)));
}

#[test]
fn b_ch_13_counts_below_zero_are_none() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": -5, "completion_tokens": 2.5}});
    let events = [chunk(json!({"content": "hi"})), finish("stop"), usage.to_string()];
    let response = test_fixtures::whole(&read_all(&events).unwrap());
    assert_eq!((response.usage.input, response.usage.output), (0, 0));
}

#[test]
fn roles_again_and_nothing_at_all_say_nothing() {
    let role = chunk(json!({"role": "assistant", "content": ""}));
    let nothing = chunk(json!({}));
    let text = chunk(json!({"role": "assistant", "content": "a", "tool_calls": null}));
    check(&[role.clone(), nothing, text.clone(), role, text, finish("stop")], "text aa | End");
}

#[test]
fn thoughts_are_read_in_both_spellings_and_once() {
    let thought = chunk(json!({"reasoning": "hm", "reasoning_content": "hm"}));
    check(&[thought, chunk(json!({"content": "a"})), finish("stop")], "thought hm | text a | End");
    let thought = chunk(json!({"reasoning": "hm"}));
    check(&[thought, finish("stop")], "thought hm | End");
}

#[test]
fn thoughts_may_stand_in_the_content() {
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]});
    let text = json!({"type": "text", "text": "a"});
    let events = [
        chunk(json!({"content": [thinking]})),
        chunk(json!({"content": [thinking, text]})),
        chunk(json!({"content": "b"})),
        finish("stop"),
    ];
    check(&events, "thought hmhm | text ab | End");
    let message = json!({"role": "assistant", "content": [thinking, text]});
    let body = json!({"id": "x", "choices": [{"message": message, "finish_reason": "stop"}]});
    let response = OpenAiChatCodec.read_response(body).unwrap();
    let written = OpenAiChatCodec.write_response(&response, &make_request(), None);
    let said = &written["choices"][0]["message"];
    assert_eq!((&said["reasoning_content"], &said["content"]), (&json!("hm"), &json!("a")));
    let history =
        OpenAiChatCodec.write_request(&test_fixtures::request(vec![response.into_message()]));
    let messages = &history.unwrap().body["messages"];
    assert_eq!(*messages, json!([{"role": "assistant", "content": "a"}]));
}

#[test]
fn recorded_streams_say_what_they_say() {
    let cases = [
        ("stream_tools", "call_A roll{\"expression\": \"2d6\"} | call_B now{}"),
        ("stream_reasoning", "Hmm. | Yes"),
        ("stream_text", "Hello world"),
    ];
    for (name, expected) in cases {
        let (_, sse) = test_fixtures::files(FOLDER, name).remove(0);
        let response = test_fixtures::whole(
            &test_fixtures::steps(&OpenAiChatCodec, &test_fixtures::events(&sse)).unwrap(),
        );
        let parts = response.parts.iter().map(|part| match &part.content {
            PartContent::Text(text) | PartContent::Thinking { text, .. } => text.clone(),
            PartContent::Call(call) => format!("{} {}{}", call.id, call.name, call.arguments),
            other => format!("{other:?}"),
        });
        assert_eq!(parts.collect::<Vec<_>>().join(" | "), expected);
    }
    let (_, sse) = test_fixtures::files(FOLDER, "stream_refusal").remove(0);
    let response = test_fixtures::whole(
        &test_fixtures::steps(&OpenAiChatCodec, &test_fixtures::events(&sse)).unwrap(),
    );
    assert_eq!(response.stop, StopReason::Refused);
}

#[test]
fn a_stream_begins_with_the_role_and_fails_with_an_error() {
    let (_, sse) = test_fixtures::files(FOLDER, "stream_text").remove(0);
    let steps = test_fixtures::steps(&OpenAiChatCodec, &test_fixtures::events(&sse)).unwrap();
    let mut writer = OpenAiChatCodec.stream_writer(&make_request());
    let first = writer.write(&steps[0]);
    let first: Value = serde_json::from_str(&first[0].data).unwrap();
    assert_eq!(first["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    assert_eq!(first["system_fingerprint"], "fp_44709d6fcb");
    assert_eq!(first.get("usage"), None);
    let failure =
        crate::error::LlmError::new(crate::error::LlmErrorKind::Timeout, "the model is silent");
    let frames = writer.fail(&failure);
    assert!(frames[0].data.contains("\"code\":\"provider_timeout\""), "{}", frames[0].data);
    assert_eq!(encode_stream(&make_request(), &steps).len(), 5, "no usage for who did not ask");
}
