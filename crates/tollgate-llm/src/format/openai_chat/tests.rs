//! The dialect as a whole, from what was recorded of it and by chance. Bad requests are in
//! `refusals`, what is said for other dialects in `writing`, odd streams in `streams`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::OpenAiChat;
use crate::conversation::{Content, Request, Response};
use crate::delta::{self, Delta};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::{Address, Broken, Format, Malformed, recorded};

mod refusals;
mod streams;
mod writing;

const FOLDER: &str = "openai_chat";

fn read(body: Value) -> Request {
    OpenAiChat.read_request(body, &Address::default()).unwrap()
}

fn written(request: &Request) -> Value {
    OpenAiChat.write_request(request).unwrap().body
}

fn asked() -> Request {
    read(json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}))
}

/// The same for requests that want the usage.
fn asked_for_usage() -> Request {
    let options = json!({"include_usage": true}).as_object().cloned().unwrap();
    let extra = [("stream_options".to_owned(), Value::Object(options))].into_iter().collect();
    Request { extra: Extra::new(Dialect::OpenAiChat, extra), ..asked() }
}

#[test]
fn requests_of_the_own_dialect_lose_nothing() {
    for (name, body) in recorded::json(FOLDER, "request_") {
        let written = OpenAiChat.write_request(&read(body.clone())).unwrap();
        assert_eq!(written.body, body, "{name}");
        assert!(written.lost.is_empty(), "{name}: {:?}", written.lost);
    }
}

#[test]
fn answers_of_the_own_dialect_lose_nothing() {
    for (name, body) in recorded::json(FOLDER, "response_") {
        let response = OpenAiChat.read_response(body.clone()).unwrap();
        assert_eq!(OpenAiChat.write_response(&response, &asked(), None), body, "{name}");
    }
}

#[test]
fn streams_of_the_own_dialect_lose_nothing() {
    for (name, sse) in recorded::files(FOLDER, "stream_") {
        let steps = recorded::steps(&OpenAiChat, &recorded::events(&sse)).unwrap();
        let counted = sse.contains("prompt_tokens");
        let request = if counted { asked_for_usage() } else { asked() };
        let again = recorded::steps(&OpenAiChat, &sent(&request, &steps)).unwrap();
        assert_eq!(recorded::whole(&again), recorded::whole(&steps), "{name}");
        assert_eq!(beside(&again), beside(&steps), "{name}");
    }
}

/// What a client gets who asked `request`.
fn sent(request: &Request, steps: &[Delta]) -> Vec<(Option<String>, String)> {
    recorded::arrived(&recorded::frames_for(&OpenAiChat, request, steps))
}

/// What came beside the words.
fn beside(steps: &[Delta]) -> Vec<&Extra> {
    let extras = steps.iter().filter_map(|step| match step {
        Delta::Grow { extra, .. } if !extra.is_empty() => Some(extra),
        _ => None,
    });
    extras.collect()
}

/// As it looks when it was only said, and not read.
fn bare(mut response: Response) -> Response {
    response.extra = Extra::none();
    for part in &mut response.parts {
        part.extra = Extra::none();
    }
    response
}

proptest! {
    #[test]
    fn any_request_that_is_written_is_read_as_the_same(request in recorded::requests()) {
        let again = read(written(&request));
        prop_assert_eq!(&again.tools, &request.tools);
        prop_assert_eq!(&again.tool_choice, &request.tool_choice);
        prop_assert_eq!(&again.options, &request.options);
        prop_assert_eq!(again.delivery, request.delivery);
        let ends_well = |meaning: String| meaning.replace(" Failed ", " Well ");
        let meaning = |request: &Request| ends_well(recorded::meaning(&request.messages));
        prop_assert_eq!(meaning(&again), meaning(&request));
        prop_assert_eq!(written(&again), written(&request));
    }

    #[test]
    fn any_answer_that_is_written_is_read_as_the_same(response in recorded::answers()) {
        let whole = OpenAiChat.write_response(&response, &asked(), None);
        prop_assert_eq!(&bare(OpenAiChat.read_response(whole).unwrap()), &response);
        let events = sent(&asked_for_usage(), &delta::steps(&response));
        let steps = recorded::steps(&OpenAiChat, &events).unwrap();
        prop_assert_eq!(bare(recorded::whole(&steps)), response);
    }

    #[test]
    fn a_stream_is_the_same_however_it_is_cut(response in recorded::answers(), length in 1_usize..9) {
        let events = sent(&asked_for_usage(), &recorded::in_pieces(&delta::steps(&response), length));
        let steps = recorded::steps(&OpenAiChat, &events).unwrap();
        prop_assert_eq!(bare(recorded::whole(&steps)), response);
    }

    #[test]
    fn nothing_wrong_in_a_request_or_answer_brings_it_down(
        number in any::<usize>(),
        wounds in prop::collection::vec(recorded::wounds(), 1..4),
    ) {
        let body = recorded::wounded((FOLDER, "request_"), number, &wounds);
        if let Ok(request) = OpenAiChat.read_request(body, &Address::default()) {
            let _ = OpenAiChat.write_request(&request);
        }
        let body = recorded::wounded((FOLDER, "response_"), number, &wounds);
        if let Ok(response) = OpenAiChat.read_response(body) {
            OpenAiChat.write_response(&response, &asked(), None);
        }
    }

    #[test]
    fn nothing_wrong_in_a_stream_brings_it_down(
        number in any::<usize>(),
        event in any::<usize>(),
        wound in recorded::wounds(),
    ) {
        let events = recorded::wounded_events(FOLDER, (number, event), &[wound]);
        if let Ok(steps) = recorded::steps(&OpenAiChat, &events) {
            let _ = recorded::whole(&steps);
            sent(&asked(), &steps);
        }
    }
}
