//! The dialect as a whole, from what was recorded of it and by chance. Bad requests are in
//! `refusals`, what is said for other dialects in `writing`, streams in `streams`, what nobody knows
//! in `unknown_kinds`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::OpenAiResponsesCodec;
use crate::conversation::{ChatRequest, ChatResponse, GenerationOptions};
use crate::delta::{self, ResponseDelta};
use crate::extra::Extra;
use crate::format::{DialectCodec, RequestUrlParams, test_fixtures};

mod refusals;
mod streams;
mod unknown_kinds;
mod writing;

const FOLDER: &str = "openai_responses";

fn read(body: Value) -> ChatRequest {
    OpenAiResponsesCodec.read_request(body, &RequestUrlParams::default()).unwrap()
}

fn encode(request: &ChatRequest) -> Value {
    OpenAiResponsesCodec.write_request(request).unwrap().body
}

fn make_request() -> ChatRequest {
    read(json!({"model": "m", "input": "hi"}))
}

/// A request that an answer with these echoes may follow.
fn request_like(response: &Value) -> ChatRequest {
    let mut request = json!({"model": "m", "input": "hi", "text": response["text"],
        "instructions": response["instructions"], "tools": response["tools"],
        "tool_choice": response["tool_choice"], "store": response["store"]});
    if let Some(fields) = request.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    read(request)
}

/// Nothing is stored at the provider, so ids mean nothing there. A single text is in the short form.
fn as_input(item: &mut Value) {
    let kinds = ["message", "reasoning", "function_call", "function_call_output"];
    let is_known = item["type"].as_str().is_some_and(|kind| kinds.contains(&kind));
    let Some(fields) = item.as_object_mut().filter(|_| is_known) else { return };
    let was_output = fields.shift_remove("id").is_some() && fields.contains_key("role");
    let Some(Value::Array(content)) = fields.get_mut("content").filter(|_| was_output) else {
        return;
    };
    let plain = json!({"type": "output_text", "annotations": [], "text": content[0]["text"]});
    if content[..] == [plain] {
        let text = content[0]["text"].take();
        fields.insert("content".to_owned(), text);
        fields.shift_remove("status");
    }
}

#[test]
fn requests_of_the_own_dialect_lose_nothing() {
    for (name, body) in test_fixtures::json(FOLDER, "request_") {
        let written = OpenAiResponsesCodec.write_request(&read(body.clone())).unwrap();
        let mut expected = body;
        expected["store"] = (expected["store"] == true).into();
        let mut include = expected["include"].as_array().cloned().unwrap_or_default();
        include.retain(|it| it != "reasoning.encrypted_content");
        include.push("reasoning.encrypted_content".into());
        expected["include"] = include.into();
        if let Value::Array(items) = &mut expected["input"] {
            items.iter_mut().for_each(as_input);
        }
        assert_eq!(written.body, expected, "{name}");
        assert!(written.lost.is_empty(), "{name}: {:?}", written.lost);
    }
}

#[test]
fn answers_of_the_own_dialect_lose_nothing() {
    for (name, body) in test_fixtures::json(FOLDER, "response_") {
        let response = OpenAiResponsesCodec.read_response(body.clone()).unwrap();
        let written = OpenAiResponsesCodec.write_response(&response, &request_like(&body), None);
        assert_eq!(written, body, "{name}");
    }
}

#[test]
fn streams_of_the_own_dialect_lose_nothing() {
    for (name, sse) in test_fixtures::files(FOLDER, "stream_") {
        let events = test_fixtures::events(&sse);
        let steps = test_fixtures::steps(&OpenAiResponsesCodec, &events).unwrap();
        test_fixtures::whole(&steps);
        let first: Value = serde_json::from_str(&events[0].1).unwrap();
        let sent = encode_stream(&request_like(&first["response"]), &steps);
        assert_eq!(sent.len(), events.len(), "{name}: {sent:#?}");
        for (sent, event) in sent.iter().zip(&events) {
            assert_eq!(sent.0, event.0, "{name}");
            let [sent, mut event] =
                [&sent.1, &event.1].map(|data| serde_json::from_str::<Value>(data).unwrap());
            event.as_object_mut().unwrap().remove("obfuscation");
            assert_eq!(sent, event, "{name}");
        }
    }
}

/// What a client gets who asked `request`.
fn encode_stream(request: &ChatRequest, steps: &[ResponseDelta]) -> Vec<(Option<String>, String)> {
    test_fixtures::to_events(&test_fixtures::frames_for(&OpenAiResponsesCodec, request, steps))
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
        prop_assert_eq!(again.tools.len(), request.tools.len());
        prop_assert_eq!(again.client_tools().collect::<Vec<_>>(), request.client_tools().collect::<Vec<_>>());
        prop_assert_eq!(&again.tool_choice, &request.tool_choice);
        let store = Some(false);
        let options = GenerationOptions { store, ..request.options.clone() };
        prop_assert_eq!(&again.options, &options);
        prop_assert_eq!(again.delivery, request.delivery);
        let ends_well = |meaning: String| meaning.replace(" Failed ", " Well ");
        let meaning = |request: &ChatRequest| ends_well(test_fixtures::meaning(&request.messages));
        prop_assert_eq!(meaning(&again), meaning(&request));
        prop_assert_eq!(encode(&again), encode(&request));
    }

    #[test]
    fn any_answer_that_is_written_is_read_as_the_same(response in test_fixtures::answers()) {
        let whole = OpenAiResponsesCodec.write_response(&response, &make_request(), None);
        prop_assert_eq!(&bare(OpenAiResponsesCodec.read_response(whole.clone()).unwrap()), &response);
        let events = encode_stream(&make_request(), &delta::steps(&response));
        let steps = test_fixtures::steps(&OpenAiResponsesCodec, &events).unwrap();
        prop_assert_eq!(&bare(test_fixtures::whole(&steps)), &response);
        let last: Value = serde_json::from_str(&events[events.len() - 1].1).unwrap();
        prop_assert_eq!(&last["response"], &whole);
    }

    #[test]
    fn a_stream_is_the_same_however_it_is_cut(response in test_fixtures::answers(), length in 1_usize..9) {
        let steps = test_fixtures::in_pieces(&delta::steps(&response), length);
        let events = encode_stream(&make_request(), &steps);
        let steps = test_fixtures::steps(&OpenAiResponsesCodec, &events).unwrap();
        prop_assert_eq!(bare(test_fixtures::whole(&steps)), response);
    }

    #[test]
    fn nothing_wrong_in_a_request_or_answer_brings_it_down(
        number in any::<usize>(),
        wounds in prop::collection::vec(test_fixtures::mutations(), 1..4),
    ) {
        let body = test_fixtures::mutate_fixture(FOLDER, "request_", number, &wounds);
        if let Ok(request) = OpenAiResponsesCodec.read_request(body, &RequestUrlParams::default()) {
            let _ = OpenAiResponsesCodec.write_request(&request);
        }
        let body = test_fixtures::mutate_fixture(FOLDER, "response_", number, &wounds);
        if let Ok(response) = OpenAiResponsesCodec.read_response(body) {
            OpenAiResponsesCodec.write_response(&response, &make_request(), None);
        }
    }

    #[test]
    fn nothing_wrong_in_a_stream_brings_it_down(
        number in any::<usize>(),
        event in any::<usize>(),
        wounds in prop::collection::vec(test_fixtures::mutations(), 1..3),
    ) {
        let events = test_fixtures::mutated_events(FOLDER, number, event, &wounds);
        if let Ok(steps) = test_fixtures::steps(&OpenAiResponsesCodec, &events) {
            let _ = test_fixtures::whole(&steps);
            encode_stream(&make_request(), &steps);
        }
    }
}
