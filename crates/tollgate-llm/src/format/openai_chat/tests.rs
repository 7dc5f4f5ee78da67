//! The dialect as a whole, from what was recorded of it and by chance. Bad requests are in
//! `refusals`, signed reasoning in `reasoning`, what is said for other dialects in `writing`, odd streams in `streams`, unknown parts in
//! `unknown_parts`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::OpenAiChatCodec;
use crate::conversation::{ChatRequest, ChatResponse, PartContent};
use crate::delta::{self, ResponseDelta};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{
    BrokenStreamError, DialectCodec, MalformedResponseError, RequestUrlParams, test_fixtures,
};

mod reasoning;
mod refusals;
mod streams;
mod unknown_parts;
mod writing;

const FOLDER: &str = "openai_chat";

fn read(body: Value) -> ChatRequest {
    OpenAiChatCodec.read_request(body, &RequestUrlParams::default()).unwrap()
}

fn encode(request: &ChatRequest) -> Value {
    OpenAiChatCodec.write_request(request).unwrap().body
}

fn make_request() -> ChatRequest {
    read(json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}))
}

/// The same for requests that want the usage.
fn request_with_usage() -> ChatRequest {
    let options = json!({"include_usage": true}).as_object().cloned().unwrap();
    let extra = [("stream_options".to_owned(), Value::Object(options))].into_iter().collect();
    ChatRequest { extra: Extra::new(Dialect::OpenAiChat, extra), ..make_request() }
}

#[test]
fn requests_of_the_own_dialect_lose_nothing() {
    for (name, body) in test_fixtures::json(FOLDER, "request_") {
        let written = OpenAiChatCodec.write_request(&read(body.clone())).unwrap();
        assert_eq!(written.body, body, "{name}");
        assert!(written.lost.is_empty(), "{name}: {:?}", written.lost);
    }
}

#[test]
fn answers_of_the_own_dialect_lose_nothing() {
    for (name, body) in test_fixtures::json(FOLDER, "response_") {
        let response = OpenAiChatCodec.read_response(body.clone()).unwrap();
        assert_eq!(
            OpenAiChatCodec.write_response(&response, &make_request(), None),
            body,
            "{name}"
        );
    }
}

#[test]
fn streams_of_the_own_dialect_lose_nothing() {
    for (name, sse) in test_fixtures::files(FOLDER, "stream_") {
        let steps = test_fixtures::steps(&OpenAiChatCodec, &test_fixtures::events(&sse)).unwrap();
        let counted = sse.contains("prompt_tokens");
        let request = if counted { request_with_usage() } else { make_request() };
        let again =
            test_fixtures::steps(&OpenAiChatCodec, &encode_stream(&request, &steps)).unwrap();
        assert_eq!(test_fixtures::whole(&again), test_fixtures::whole(&steps), "{name}");
        assert_eq!(beside(&again), beside(&steps), "{name}");
    }
}

/// What a client gets who asked `request`.
fn encode_stream(request: &ChatRequest, steps: &[ResponseDelta]) -> Vec<(Option<String>, String)> {
    test_fixtures::to_events(&test_fixtures::frames_for(&OpenAiChatCodec, request, steps))
}

/// What came beside the words.
fn beside(steps: &[ResponseDelta]) -> Vec<&Extra> {
    let extras = steps.iter().filter_map(|step| match step {
        ResponseDelta::Grow { extra, .. } if !extra.is_empty() => Some(extra),
        _ => None,
    });
    extras.collect()
}

/// As it looks when it was only said, and not read.
fn bare(mut response: ChatResponse) -> ChatResponse {
    response.extra = Extra::none();
    for part in &mut response.parts {
        part.extra = Extra::none();
    }
    response
}

proptest! {
    #[test]
    fn any_request_that_is_written_is_read_as_the_same(request in test_fixtures::requests()) {
        let again = read(encode(&request));
        prop_assert_eq!(&again.tools, &request.tools);
        prop_assert_eq!(&again.tool_choice, &request.tool_choice);
        prop_assert_eq!(&again.options, &request.options);
        prop_assert_eq!(again.delivery, request.delivery);
        let ends_well = |meaning: String| meaning.replace(" Failed ", " Well ");
        let meaning = |request: &ChatRequest| ends_well(test_fixtures::meaning(&request.messages));
        prop_assert_eq!(meaning(&again), meaning(&request));
        prop_assert_eq!(encode(&again), encode(&request));
    }

    #[test]
    fn any_answer_that_is_written_is_read_as_the_same(response in test_fixtures::answers()) {
        let whole = OpenAiChatCodec.write_response(&response, &make_request(), None);
        prop_assert_eq!(&bare(OpenAiChatCodec.read_response(whole).unwrap()), &response);
        let events = encode_stream(&request_with_usage(), &delta::steps(&response));
        let steps = test_fixtures::steps(&OpenAiChatCodec, &events).unwrap();
        prop_assert_eq!(bare(test_fixtures::whole(&steps)), response);
    }

    #[test]
    fn a_stream_is_the_same_however_it_is_cut(response in test_fixtures::answers(), length in 1_usize..9) {
        let events = encode_stream(&request_with_usage(), &test_fixtures::in_pieces(&delta::steps(&response), length));
        let steps = test_fixtures::steps(&OpenAiChatCodec, &events).unwrap();
        prop_assert_eq!(bare(test_fixtures::whole(&steps)), response);
    }

    #[test]
    fn nothing_wrong_in_a_request_or_answer_brings_it_down(
        number in any::<usize>(),
        wounds in prop::collection::vec(test_fixtures::mutations(), 1..4),
    ) {
        let body = test_fixtures::mutate_fixture(FOLDER, "request_", number, &wounds);
        if let Ok(request) = OpenAiChatCodec.read_request(body, &RequestUrlParams::default()) {
            let _ = OpenAiChatCodec.write_request(&request);
        }
        let body = test_fixtures::mutate_fixture(FOLDER, "response_", number, &wounds);
        if let Ok(response) = OpenAiChatCodec.read_response(body) {
            OpenAiChatCodec.write_response(&response, &make_request(), None);
        }
    }

    #[test]
    fn nothing_wrong_in_a_stream_brings_it_down(
        number in any::<usize>(),
        event in any::<usize>(),
        wound in test_fixtures::mutations(),
    ) {
        let events = test_fixtures::mutated_events(FOLDER, number, event, &[wound]);
        if let Ok(steps) = test_fixtures::steps(&OpenAiChatCodec, &events) {
            let _ = test_fixtures::whole(&steps);
            encode_stream(&make_request(), &steps);
        }
    }
}
