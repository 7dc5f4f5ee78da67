//! The dialect as a whole, from what was recorded of it. Bad requests are in `refusals`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::AnthropicCodec;
use crate::conversation::{ChatResponse, MessageList, MessagePart, PartContent, StopReason};
use crate::delta::{self, PartOpening, ResponseDelta};
use crate::dialect::Dialect;
use crate::error::{LlmError, LlmErrorKind};
use crate::extra::Extra;
use crate::format::{
    BrokenStreamError, DialectCodec, ProviderFault, RequestUrlParams, test_fixtures,
};
use crate::gateway_report::{GatewayReport, LoopEnd};

mod refusals;
mod writing;

const FOLDER: &str = "anthropic";

fn read(body: Value) -> crate::conversation::ChatRequest {
    AnthropicCodec.read_request(body, &RequestUrlParams::default()).unwrap()
}

#[test]
fn requests_of_the_own_dialect_lose_nothing() {
    for (name, body) in test_fixtures::json(FOLDER, "request_") {
        let written = AnthropicCodec.write_request(&read(body.clone())).unwrap();
        assert_eq!(plain(written.body), plain(body), "{name}");
        assert!(written.lost.is_empty(), "{name}: {:?}", written.lost);
    }
}

/// The API refuses empty blocks when a client sends them back.
#[test]
fn an_empty_text_is_no_block() {
    let open = |index, opening| ResponseDelta::Open { index, opening, extra: Extra::none() };
    let grow = |index, text: &str| {
        let text = text.to_owned();
        ResponseDelta::Grow { index, text, extra: Extra::none() }
    };
    let call = PartOpening::Call { id: "a".to_owned(), name: "t".to_owned() };
    let steps = [
        open(0, PartOpening::Text),
        grow(0, ""),
        ResponseDelta::Close { index: 0 },
        open(1, PartOpening::Thinking),
        grow(1, "hm"),
        ResponseDelta::Close { index: 1 },
        open(2, PartOpening::Text),
        grow(2, ""),
        grow(2, "Well."),
        ResponseDelta::Close { index: 2 },
        open(3, call),
        ResponseDelta::Close { index: 3 },
        open(4, PartOpening::Text),
        ResponseDelta::Close { index: 4 },
    ];
    let frames = test_fixtures::frames(&AnthropicCodec, &steps);
    let events: Vec<Value> =
        frames.iter().map(|frame| serde_json::from_str(&frame.data).unwrap()).collect();
    let of_kind = |kind: &str| -> Vec<(u64, Value)> {
        let events = events.iter().filter(|event| event["type"] == kind);
        let place = |event: &Value| {
            (event["index"].as_u64().unwrap(), event["content_block"]["type"].clone())
        };
        events.map(place).collect()
    };
    let begun = of_kind("content_block_start");
    assert_eq!(begun, [(0, json!("thinking")), (1, json!("text")), (2, json!("tool_use"))]);
    assert_eq!(of_kind("content_block_stop").len(), 3);
}

#[test]
fn calls_may_stand_in_several_messages_of_one_turn() {
    let call = |id: &str| {
        let block = json!({"type": "tool_use", "id": id, "name": "t", "input": {}});
        json!({"role": "assistant", "content": [block]})
    };
    let result = |id: &str| {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": id});
        json!({"role": "user", "content": [block]})
    };
    let messages = json!([call("a"), call("b"), result("b"), result("a")]);
    let request = read(json!({"model": "m", "max_tokens": 1, "messages": messages}));
    let written = AnthropicCodec.write_request(&request).unwrap().body;
    assert_eq!(written["messages"].as_array().unwrap().len(), 2);
    assert_eq!(written["messages"][1]["content"][0]["tool_use_id"], "a");
}

#[test]
fn answers_of_the_own_dialect_lose_nothing() {
    for (name, body) in test_fixtures::json(FOLDER, "response_") {
        let response = AnthropicCodec.read_response(body.clone()).unwrap();
        let request = test_fixtures::request(Vec::new());
        let written = AnthropicCodec.write_response(&response, &request, None);
        assert_eq!(plain(written), plain(body), "{name}");
    }
}

#[test]
fn streams_of_the_own_dialect_lose_nothing() {
    for (name, sse) in test_fixtures::files(FOLDER, "stream_") {
        let steps = test_fixtures::steps(&AnthropicCodec, &test_fixtures::events(&sse)).unwrap();
        let response = test_fixtures::whole(&steps);
        let frames = test_fixtures::to_events(&test_fixtures::frames(&AnthropicCodec, &steps));
        assert_one_block_at_a_time(&frames);
        let again = test_fixtures::steps(&AnthropicCodec, &frames).unwrap();
        assert_eq!(test_fixtures::whole(&again), response, "{name}");
    }
}

#[test]
fn counts_include_what_went_through_the_cache() {
    let (_, body) = test_fixtures::json(FOLDER, "response_tools").remove(0);
    let response = AnthropicCodec.read_response(body).unwrap();
    let usage = response.usage;
    assert_eq!((usage.input, usage.cache_read, usage.cache_written), (1230, 1000, 200));
    assert_eq!((usage.output, usage.reasoning), (80, 20));
    let (_, sse) = test_fixtures::files(FOLDER, "stream_text").remove(0);
    let steps = test_fixtures::steps(&AnthropicCodec, &test_fixtures::events(&sse)).unwrap();
    let usage = test_fixtures::whole(&steps).usage;
    assert_eq!((usage.input, usage.cache_read, usage.output), (35, 10, 15));
}

#[test]
fn every_reason_to_stop_has_its_neutral_word() {
    let other = StopReason::Other { dialect: Dialect::Anthropic, reason: "pause_turn".to_owned() };
    for (reason, expected) in [
        ("end_turn", StopReason::End),
        ("max_tokens", StopReason::Length),
        ("stop_sequence", StopReason::Sequence(Some("END".to_owned()))),
        ("tool_use", StopReason::Calls),
        ("refusal", StopReason::Refused),
        ("model_context_window_exceeded", StopReason::Length),
        ("pause_turn", other),
    ] {
        let body = json!({"content": [], "stop_reason": reason, "stop_sequence": "END"});
        assert_eq!(AnthropicCodec.read_response(body).unwrap().stop, expected, "{reason}");
    }
}

#[test]
fn a_stream_in_pieces_is_the_answer_in_pieces() {
    let (_, sse) = test_fixtures::files(FOLDER, "stream_tools").remove(0);
    let response = test_fixtures::whole(
        &test_fixtures::steps(&AnthropicCodec, &test_fixtures::events(&sse)).unwrap(),
    );
    assert_eq!(response.id, "msg_01St");
    assert_eq!(response.text(), "Rolling.");
    let calls: Vec<_> = response.calls().map(|it| (it.name.as_str(), &*it.arguments)).collect();
    assert_eq!(calls, [("roll_dice", "{\"notation\": \"2d6\"}"), ("look-up", "")]);
    let PartContent::Thinking { text, signature } = &response.parts[0].content else {
        panic!("{:?}", response.parts[0]);
    };
    assert_eq!(text, "Two rolls.");
    assert_eq!(signature.as_ref().unwrap().text, "EqQBCgIYAhIM1gbcDa9GJwZA2b3h");
}

#[test]
fn b_ch_13_streams_that_break_say_how() {
    let (_, sse) = test_fixtures::files(FOLDER, "broken_overloaded").remove(0);
    let broken = test_fixtures::steps(&AnthropicCodec, &test_fixtures::events(&sse)).unwrap_err();
    let BrokenStreamError::Reported(reported) = broken else { panic!("{broken:?}") };
    assert_eq!(
        (reported.fault, reported.message.as_str()),
        (ProviderFault::Provider, "Overloaded")
    );

    let (_, sse) = test_fixtures::files(FOLDER, "broken_short").remove(0);
    let broken = test_fixtures::steps(&AnthropicCodec, &test_fixtures::events(&sse)).unwrap_err();
    assert_eq!(broken, BrokenStreamError::Short);

    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": -5}}});
    for events in [
        vec![json!("<html>")],
        vec![json!({"type": "content_block_stop", "index": 0})],
        vec![start.clone(), start.clone()],
        vec![start.clone(), json!({"type": "content_block_delta", "index": 3, "delta": {}})],
        vec![start, json!({"type": "content_block_start", "content_block": {}})],
    ] {
        let events: Vec<_> = events.iter().map(|event| (None, event.to_string())).collect();
        let broken = test_fixtures::steps(&AnthropicCodec, &events).unwrap_err();
        assert!(matches!(broken, BrokenStreamError::Malformed(_)), "{events:?}: {broken:?}");
    }
}

#[test]
fn parts_that_overlap_are_written_one_after_the_other() {
    let open = |index, name: &str| ResponseDelta::Open {
        index,
        opening: PartOpening::Call { id: format!("c{index}"), name: name.to_owned() },
        extra: Extra::none(),
    };
    let grow = |index, text: &str| ResponseDelta::Grow {
        index,
        text: text.to_owned(),
        extra: Extra::none(),
    };
    let steps = [
        open(0, "a"),
        grow(0, "{\"x\""),
        open(1, "b"),
        grow(1, "not json"),
        open(2, "c"),
        grow(0, ":1}"),
        ResponseDelta::Close { index: 1 },
        ResponseDelta::Close { index: 0 },
        grow(2, "{}"),
        ResponseDelta::End {
            stop: StopReason::Calls,
            usage: Default::default(),
            extra: Extra::none(),
        },
    ];
    let frames = test_fixtures::to_events(&test_fixtures::frames(&AnthropicCodec, &steps));
    assert_one_block_at_a_time(&frames);
    let response = test_fixtures::whole(&test_fixtures::steps(&AnthropicCodec, &frames).unwrap());
    let calls: Vec<_> = response.calls().map(|call| call.arguments.as_str()).collect();
    assert_eq!(calls, ["{\"x\":1}", "{\"arguments\":\"not json\"}", "{}"]);
}

#[test]
fn the_last_event_tells_what_the_gateway_did() {
    let told = GatewayReport {
        ended: LoopEnd::Answered,
        model: "m".to_owned(),
        rounds: 2,
        calls: Vec::new(),
        history: MessageList::default(),
    };
    let mut writer = AnthropicCodec.stream_writer(&test_fixtures::request(Vec::new()));
    let frames = writer.end(Some(&told));
    let names: Vec<_> = frames.iter().map(|frame| frame.name.unwrap()).collect();
    assert_eq!(names, ["message_start", "message_delta", "message_stop"]);
    let last: Value = serde_json::from_str(&frames[1].data).unwrap();
    assert_eq!(last["tollgate"]["rounds"], 2);
    let response = ChatResponse {
        id: "a".to_owned(),
        model: "m".to_owned(),
        created: 0,
        parts: vec![MessagePart::text("hi")],
        stop: StopReason::End,
        usage: Default::default(),
        extra: Extra::none(),
    };
    let request = test_fixtures::request(Vec::new());
    let body = AnthropicCodec.write_response(&response, &request, Some(&told));
    assert_eq!(body["tollgate"]["ended"], "answered");
}

#[test]
fn what_the_beginning_says_of_usage_is_not_said_again() {
    let start = json!({"type": "message_start", "message": {
        "id": "a", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 1, "service_tier": "standard",
            "cache_creation": {"ephemeral_5m_input_tokens": 0}},
    }});
    let end = json!({"type": "message_delta", "usage": {"output_tokens": 2},
        "delta": {"stop_reason": "end_turn", "stop_sequence": null}});
    let stop = json!({"type": "message_stop"});
    let events: Vec<_> = [start, end, stop].iter().map(|it| (None, it.to_string())).collect();
    let steps = test_fixtures::steps(&AnthropicCodec, &events).unwrap();
    let frames = test_fixtures::to_events(&test_fixtures::frames(&AnthropicCodec, &steps));
    let said = |at: usize| serde_json::from_str::<Value>(&frames[at].1).unwrap();
    assert_eq!(said(0)["message"]["usage"]["service_tier"], "standard");
    let usage = said(1)["usage"].clone();
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(3), &json!(2)));
    assert!(usage.get("service_tier").is_none() && usage.get("cache_creation").is_none());
}

#[test]
fn errors_are_told_in_the_words_of_the_dialect() {
    for (kind, expected) in [
        (LlmErrorKind::Invalid, "invalid_request_error"),
        (LlmErrorKind::TooLong, "invalid_request_error"),
        (LlmErrorKind::UnknownModel, "not_found_error"),
        (LlmErrorKind::Unauthenticated, "authentication_error"),
        (LlmErrorKind::Forbidden, "permission_error"),
        (LlmErrorKind::RateLimited, "rate_limit_error"),
        (LlmErrorKind::Overloaded, "overloaded_error"),
        (LlmErrorKind::Timeout, "timeout_error"),
        (LlmErrorKind::Provider, "api_error"),
        (LlmErrorKind::Internal, "api_error"),
    ] {
        let body = AnthropicCodec.write_error(&LlmError::new(kind, "no"));
        let error = json!({"type": expected, "message": "no"});
        assert_eq!(body, json!({"type": "error", "error": error}));
    }
}

#[test]
fn errors_of_the_provider_are_understood() {
    let said = |kind: &str, message: &str| {
        json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
    };
    for (status, body, fault, message) in [
        (400, said("invalid_request_error", "bad"), ProviderFault::Request, "bad"),
        (
            400,
            said("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            ProviderFault::TooLong,
            "prompt is too long: 210000 tokens > 200000 maximum",
        ),
        (
            400,
            said("invalid_request_error", "Your credit balance is too low"),
            ProviderFault::Credit,
            "Your credit balance is too low",
        ),
        (
            401,
            said("authentication_error", "invalid x-api-key"),
            ProviderFault::Key,
            "invalid x-api-key",
        ),
        (404, said("not_found_error", "model: x"), ProviderFault::Model, "model: x"),
        (413, said("request_too_large", "too large"), ProviderFault::TooLong, "too large"),
        (429, said("rate_limit_error", "slow down"), ProviderFault::TooOften, "slow down"),
        (529, said("overloaded_error", "Overloaded"), ProviderFault::Provider, "Overloaded"),
        (500, said("never_seen", "odd"), ProviderFault::Provider, "odd"),
        (
            502,
            "<html><body><h1>Bad Gateway</h1></body></html>".to_owned(),
            ProviderFault::Provider,
            "the provider answered with status 502: Bad Gateway",
        ),
        (
            503,
            String::new(),
            ProviderFault::Provider,
            "the provider answered with status 503 and an empty body",
        ),
    ] {
        let reported = AnthropicCodec.read_error(status, body.as_bytes());
        assert_eq!((reported.fault, reported.message.as_str()), (fault, message));
    }
}

proptest! {
    #[test]
    fn a_conversation_keeps_its_meaning(request in test_fixtures::conversations()) {
        let written = AnthropicCodec.write_request(&request).unwrap();
        prop_assert!(written.lost.is_empty(), "{:?}", written.lost);
        let again = read(written.body);
        prop_assert_eq!(test_fixtures::meaning(&again.messages), test_fixtures::meaning(&request.messages));
        prop_assert_eq!(again.options, request.options);
    }

    #[test]
    fn an_answer_is_read_as_it_was_written(answer in test_fixtures::answers()) {
        let request = test_fixtures::request(Vec::new());
        let body = AnthropicCodec.write_response(&answer, &request, None);
        prop_assert_eq!(&AnthropicCodec.read_response(body).unwrap(), &answer);
        let frames = test_fixtures::to_events(&test_fixtures::frames(&AnthropicCodec, &delta::steps(&answer)));
        let steps = test_fixtures::steps(&AnthropicCodec, &frames).unwrap();
        let mut streamed = test_fixtures::whole(&steps);
        // The start of a stream says what is known by then of its cost.
        streamed.extra = Extra::none();
        prop_assert_eq!(streamed, answer);
    }

    #[test]
    fn nothing_breaks_on_requests_with_wounds(
        number in any::<usize>(),
        wounds in proptest::collection::vec(test_fixtures::mutations(), 1..4),
    ) {
        let body = test_fixtures::mutate_fixture(FOLDER, "request_", number, &wounds);
        if let Ok(request) = AnthropicCodec.read_request(body, &RequestUrlParams::default()) {
            let _ = AnthropicCodec.write_request(&request);
            let _ = AnthropicCodec.write_history(&request.messages);
        }
    }

    #[test]
    fn nothing_breaks_on_answers_with_wounds(
        number in any::<usize>(),
        wounds in proptest::collection::vec(test_fixtures::mutations(), 1..4),
    ) {
        let body = test_fixtures::mutate_fixture(FOLDER, "response_", number, &wounds);
        if let Ok(response) = AnthropicCodec.read_response(body) {
            let _ = AnthropicCodec.write_response(&response, &test_fixtures::request(Vec::new()), None);
            let _ = test_fixtures::frames(&AnthropicCodec, &delta::steps(&response));
        }
    }

    #[test]
    fn nothing_breaks_on_streams_with_wounds(
        number in any::<usize>(),
        event in any::<usize>(),
        wound in test_fixtures::mutations(),
    ) {
        let events = test_fixtures::mutated_events(FOLDER, number, event, &[wound]);
        if let Ok(steps) = test_fixtures::steps(&AnthropicCodec, &events) {
            let response = test_fixtures::whole(&steps);
            assert_one_block_at_a_time(&test_fixtures::to_events(&test_fixtures::frames(&AnthropicCodec, &steps)));
            let _ = AnthropicCodec.write_response(&response, &test_fixtures::request(Vec::new()), None);
        }
    }
}

/// What the SDKs count on: blocks are numbered from 0, and one ends before the next begins.
fn assert_one_block_at_a_time(frames: &[(Option<String>, String)]) {
    let mut open = None;
    let mut next = 0;
    for (number, (name, data)) in frames.iter().enumerate() {
        let event: Value = serde_json::from_str(data).unwrap();
        assert_eq!(event["type"].as_str(), name.as_deref());
        let index = event["index"].as_u64();
        match name.as_deref().unwrap() {
            "message_start" => assert_eq!(number, 0),
            "content_block_start" => {
                assert_eq!((open, index), (None, Some(next)));
                (open, next) = (index, next + 1);
            }
            "content_block_delta" => assert_eq!(index, open),
            "content_block_stop" => {
                assert_eq!(index, open);
                open = None;
            }
            "message_delta" => assert_eq!(number, frames.len() - 2),
            "message_stop" => assert_eq!(number, frames.len() - 1),
            other => panic!("{other}"),
        }
    }
    assert_eq!(open, None);
}

/// One spelling of what can be spelt in two ways.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut plain_object: serde_json::Map<String, Value> =
                object.into_iter().map(|(key, value)| (key, plain(value))).collect();
            let role = plain_object.contains_key("role");
            if let Some(text) = plain_object.get("content").filter(|it| role && it.is_string()) {
                let blocks = json!([{"type": "text", "text": text}]);
                plain_object.insert("content".to_owned(), blocks);
            }
            let custom = plain_object.get("type").is_some_and(|it| it == "custom");
            if custom && plain_object.contains_key("input_schema") {
                plain_object.remove("type");
            }
            plain_object.retain(|key, value| {
                let none = ["cache_creation_input_tokens", "cache_read_input_tokens"];
                !(value.is_null() || none.contains(&key.as_str()) && *value == 0)
            });
            plain_object.into()
        }
        Value::Array(list) => list.into_iter().map(plain).collect(),
        other => other,
    }
}
