//! Streams as they should not be, and what a client's stream must be.

use super::*;
use crate::conversation::{FunctionCall, MessagePart, PartContent, StopReason, ThoughtSignature};
use crate::delta::PartOpening;
use crate::dialect::Dialect;
use crate::error::{LlmError, LlmErrorKind};
use crate::format::{BrokenStreamError, MalformedResponseError, ProviderFault};

fn make_created_event() -> String {
    json!({"type": "response.created", "response": {"id": "r", "model": "m", "output": []}})
        .to_string()
}

fn complete() -> String {
    json!({"type": "response.completed", "response": {"id": "r", "status": "completed",
        "output": [], "usage": {"input_tokens": -3, "output_tokens": 4}}})
    .to_string()
}

fn read_all(events: &[String]) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
    let events: Vec<_> = events.iter().map(|data| (None, data.clone())).collect();
    test_fixtures::steps(&OpenAiResponsesCodec, &events)
}

/// Between the first event and the last.
fn check(events: &[Value], expected: &str) {
    let mut all = vec![make_created_event()];
    all.extend(events.iter().map(Value::to_string));
    all.push(complete());
    let response = test_fixtures::whole(&read_all(&all).unwrap());
    let mut words: Vec<String> = response.parts.iter().map(describe).collect();
    words.push(format!("{:?} {}/{}", response.stop, response.usage.input, response.usage.output));
    assert_eq!(words.join(" | "), expected);
}

fn describe(part: &MessagePart) -> String {
    match &part.content {
        PartContent::Text(text) => format!("text {text}"),
        PartContent::Refusal(text) => format!("refusal {text}"),
        PartContent::Thinking { text, signature } => {
            let signature = signature.as_ref().map_or("", |signature| &signature.text);
            format!("thought {text:?} {signature}").trim_end().to_owned()
        }
        PartContent::Call(call) => format!("{} {}{}", call.id, call.name, call.arguments),
        other => format!("{other:?}"),
    }
}

fn event(kind: &str, fields: Value) -> Value {
    let mut event = json!({"type": format!("response.{kind}")});
    let Value::Object(fields) = fields else { panic!("an object") };
    event.as_object_mut().unwrap().extend(fields);
    event
}

#[test]
fn recorded_streams_say_what_they_say() {
    let cases = [
        ("stream_text", "text Hi there!"),
        (
            "stream_tools",
            "thought \"**Plan**\\n\\nRoll.\" gAAAA | thought \"\" | text Rolling. | \
             call_1 roll{\"expression\":\"2d6\"} | call_2 now{}",
        ),
        ("stream_refusal", "refusal I cannot."),
        ("stream_open_thoughts", "thought \"We roll.\" | text 4"),
    ];
    for (name, expected) in cases {
        let (_, sse) = test_fixtures::files(FOLDER, name).remove(0);
        let steps =
            test_fixtures::steps(&OpenAiResponsesCodec, &test_fixtures::events(&sse)).unwrap();
        let parts = test_fixtures::whole(&steps).parts;
        assert_eq!(parts.iter().map(describe).collect::<Vec<_>>().join(" | "), expected);
    }
    let (_, sse) = test_fixtures::files(FOLDER, "stream_own_kinds").remove(0);
    let steps = test_fixtures::steps(&OpenAiResponsesCodec, &test_fixtures::events(&sse)).unwrap();
    assert_eq!(test_fixtures::whole(&steps).stop, StopReason::Calls, "they wait for the client");
}

#[test]
fn servers_may_leave_out_the_pieces_or_all_but_the_end() {
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let text = json!({"type": "message", "id": "m", "role": "assistant",
        "content": [{"type": "output_text", "text": "hi"}]});
    let done = event("output_item.done", json!({"output_index": 0, "item": call}));
    check(&[done.clone(), done], "c f{} | Calls 0/4");
    let done = event("output_item.done", json!({"output_index": 0, "item": text}));
    check(&[done], "text hi | End 0/4");
    let mut begun = call.clone();
    begun["arguments"] = "".into();
    let added = event("output_item.added", json!({"output_index": 0, "item": begun}));
    let arguments =
        event("function_call_arguments.done", json!({"output_index": 0, "arguments": "{}"}));
    check(&[added.clone(), arguments], "c f{} | Calls 0/4");
    let done = event("output_item.done", json!({"output_index": 0, "item": call}));
    check(&[added, done], "c f{} | Calls 0/4");
    let mut begun = text.clone();
    begun["content"] = json!([]);
    let added = event("output_item.added", json!({"output_index": 0, "item": begun}));
    let delta = event("output_text.delta", json!({"output_index": 0, "delta": "hi"}));
    check(&[added.clone(), delta], "text hi | End 0/4");
    let done = event("output_text.done", json!({"output_index": 0, "text": "hi"}));
    check(&[added, done], "text hi | End 0/4");
    check(&[], "End 0/4");
    let last = json!({"type": "response.incomplete", "response": {"id": "r", "output": [text, call],
        "status": "incomplete", "incomplete_details": {"reason": "content_filter"}}});
    let response = test_fixtures::whole(&read_all(&[last.to_string()]).unwrap());
    assert_eq!(response.parts.len(), 2);
    assert_eq!(response.stop, StopReason::Filtered);
}

fn call_item(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "f",
        "arguments": arguments})
}

fn call_event(kind: &str, at: u64, id: &str, arguments: &str) -> Value {
    let item = call_item(id, arguments);
    event(&format!("output_item.{kind}"), json!({"output_index": at, "item": item}))
}

#[test]
fn a_call_that_is_counted_differently_at_its_end_is_one_call() {
    let added = call_event("added", 0, "c", "");
    let moved = call_event("done", 41, "c", "{}");
    check(&[added.clone(), moved.clone()], "c f{} | Calls 0/4");
    let done = call_event("done", 0, "c", "{}");
    check(&[added.clone(), done.clone(), moved.clone()], "c f{} | Calls 0/4");
    check(&[done.clone(), moved], "c f{} | Calls 0/4");
    check(&[added.clone(), added.clone(), done.clone()], "c f{} | Calls 0/4");
    let other = call_event("added", 1, "d", "");
    let crossed = [call_event("done", 1, "c", "{}"), call_event("done", 0, "d", "[]")];
    check(&[&[added.clone(), other], &crossed[..]].concat(), "c f{} | d f[] | Calls 0/4");
    let new = call_event("done", 1, "d", "{}");
    check(&[added, done, new], "c f{} | d f{} | Calls 0/4");
    let again = [call_event("added", 1, "c", ""), call_event("done", 1, "c", "[]")];
    let first = [call_event("added", 0, "c", ""), call_event("done", 0, "c", "{}")];
    check(&[first, again].concat(), "c f{} | c f[] | Calls 0/4");
}

#[test]
fn a_call_that_may_be_another_one_is_malformed() {
    let arguments = event("function_call_arguments.done", json!({"arguments": "{}"}));
    for events in [
        [call_event("added", 0, "c", ""), arguments.clone(), call_event("done", 41, "d", "{}")],
        [call_event("added", 41, "d", ""), arguments.clone(), call_event("done", 0, "c", "{}")],
        [call_event("added", 0, "c", ""), arguments, call_event("added", 1, "c", "{}")],
    ] {
        let mut all = vec![make_created_event()];
        all.extend(events.iter().map(Value::to_string));
        all.push(complete());
        let read = read_all(&all);
        assert!(matches!(read, Err(BrokenStreamError::Malformed(_))), "{read:?}");
    }
}

#[test]
fn events_about_nothing_say_nothing() {
    let delta = event("output_text.delta", json!({"output_index": 7, "delta": "lost"}));
    let arguments = event("function_call_arguments.delta", json!({"delta": "lost"}));
    let unknown = event("galaxy.expanding", json!({"output_index": 0}));
    let nothing = event("output_item.added", json!({"output_index": 0, "item": null}));
    check(&[delta, arguments, unknown, nothing], "End 0/4");
}

#[test]
fn b_ch_13_a_stream_without_its_end_broke_off() {
    let done = "[DONE]".to_owned();
    for events in [
        vec![],
        vec![make_created_event()],
        vec![make_created_event(), done.clone()],
        vec![done.clone()],
    ] {
        assert_eq!(read_all(&events).unwrap_err(), BrokenStreamError::Short);
    }
    assert!(read_all(&[make_created_event(), complete(), done, "nonsense".to_owned()]).is_ok());
    for data in ["<html>", "{", "[]"] {
        let broken = read_all(&[make_created_event(), data.to_owned()]);
        let malformed = matches!(
            broken,
            Err(BrokenStreamError::Malformed(MalformedResponseError(_)) | BrokenStreamError::Short)
        );
        assert!(malformed, "{data}: {broken:?}");
    }
}

#[test]
fn an_error_in_the_middle_is_reported_in_each_of_its_forms() {
    let flat = json!({"type": "error", "code": "rate_limit_exceeded", "message": "later"});
    let nested =
        json!({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "later"}});
    let failed = json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "rate_limit_exceeded", "message": "later"}}});
    for event in [flat, nested, failed] {
        let Err(BrokenStreamError::Reported(said)) =
            read_all(&[make_created_event(), event.to_string()])
        else {
            panic!("not reported: {event}")
        };
        assert_eq!((said.fault, said.message.as_str()), (ProviderFault::TooOften, "later"));
    }
}

#[test]
fn answers_that_failed_are_errors() {
    let failed = json!({"id": "r", "status": "failed", "output": [],
        "error": {"code": "server_error", "message": "oops"}});
    let malformed = OpenAiResponsesCodec.read_response(failed).unwrap_err();
    assert_eq!(malformed, MalformedResponseError("it is an error: oops".to_owned()));
    assert!(OpenAiResponsesCodec.read_response(json!({"id": "r"})).is_err());
}

#[test]
fn a_clients_stream_that_fails_says_so_twice() {
    let failure = LlmError::new(LlmErrorKind::RateLimited, "too often");
    let mut writer = OpenAiResponsesCodec.stream_writer(&make_request());
    assert_eq!(writer.fail(&failure).len(), 1, "nothing has begun");
    let mut writer = OpenAiResponsesCodec.stream_writer(&make_request());
    let start = ResponseDelta::Start {
        id: "r".into(),
        model: "m".into(),
        created: 1,
        extra: Extra::none(),
    };
    writer.write(&start);
    let frames = test_fixtures::to_events(&writer.fail(&failure));
    let [error, failed] = [0, 1].map(|at| serde_json::from_str::<Value>(&frames[at].1).unwrap());
    assert_eq!(error["error"]["code"], "rate_limit_exceeded");
    assert_eq!((&error["type"], &error["message"]), (&json!("error"), &json!("too often")));
    assert_eq!(error["sequence_number"], 2);
    assert_eq!(failed["response"]["status"], "failed");
    assert_eq!(failed["response"]["id"], "r");
    assert_eq!(failed["response"]["error"]["code"], "rate_limit_exceeded");
}

#[test]
fn calls_that_overlap_keep_their_places() {
    let open = |index, id: &str| ResponseDelta::Open {
        index,
        opening: PartOpening::Call { id: id.into(), name: "f".into() },
        extra: Extra::none(),
    };
    let grow =
        |index, text: &str| ResponseDelta::Grow { index, text: text.into(), extra: Extra::none() };
    let steps = [
        ResponseDelta::Start {
            id: "r".into(),
            model: "m".into(),
            created: 1,
            extra: Extra::none(),
        },
        open(0, "a"),
        open(1, "b"),
        grow(1, "{"),
        grow(0, "[]"),
        ResponseDelta::Close { index: 0 },
        grow(1, "}"),
        ResponseDelta::Close { index: 1 },
        ResponseDelta::End {
            stop: StopReason::Calls,
            usage: Default::default(),
            extra: Extra::none(),
        },
    ];
    let again =
        test_fixtures::steps(&OpenAiResponsesCodec, &encode_stream(&make_request(), &steps))
            .unwrap();
    let parts = test_fixtures::whole(&again).parts;
    assert_eq!(parts.iter().map(describe).collect::<Vec<_>>(), ["a f[]", "b f{}"]);
}

/// Reasoning that nothing follows is refused when a client sends it back.
#[test]
fn a_signature_without_text_is_an_item_before_the_one_that_follows() {
    let signed = || {
        let signature = Some(ThoughtSignature::new(Dialect::Gemini, "Ci"));
        MessagePart::new(PartContent::Thinking { text: String::new(), signature })
    };
    let call = || {
        let id = "a".to_owned();
        let name = "f".to_owned();
        MessagePart::new(PartContent::Call(FunctionCall { id, name, arguments: "{}".to_owned() }))
    };
    let text = || MessagePart::text("Well.");
    let kinds = |parts: Vec<MessagePart>| {
        let response = ChatResponse {
            parts,
            ..test_fixtures::whole(&read_all(&[make_created_event(), complete()]).unwrap())
        };
        let events = encode_stream(&make_request(), &delta::steps(&response));
        let events = events.iter().map(|(_, data)| serde_json::from_str::<Value>(data).unwrap());
        let events: Vec<Value> = events.collect();
        let output = events[events.len() - 1]["response"]["output"].as_array().cloned().unwrap();
        for kind in ["response.output_item.added", "response.output_item.done"] {
            let told: Vec<u64> = events
                .iter()
                .filter(|event| event["type"] == kind)
                .map(|event| event["output_index"].as_u64().unwrap())
                .collect();
            assert_eq!(told.len(), output.len(), "{kind}");
            assert!(told.iter().enumerate().all(|(at, index)| at as u64 == *index), "{kind}");
        }
        output.iter().map(|item| item["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(vec![signed(), text()]), ["reasoning", "message"]);
    assert_eq!(kinds(vec![text(), signed(), call()]), ["message", "reasoning", "function_call"]);
    assert_eq!(kinds(vec![text(), signed()]), ["message"]);
}
