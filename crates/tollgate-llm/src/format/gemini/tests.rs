//! The dialect as a whole, from what was recorded of it. Bad requests are in `refusals`.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::GeminiCodec;
use crate::conversation::{
    ChatRequest, ChatResponse, ChatRole, ChatTool, MessageList, MessagePart, PartContent,
    ResponseFormat, StopReason, ThoughtSignature, ToolChoice,
};
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

const FOLDER: &str = "gemini";

fn address() -> RequestUrlParams<'static> {
    RequestUrlParams { model: Some("gemini-2.5-flash"), delivery: None }
}

fn read(body: Value) -> ChatRequest {
    GeminiCodec.read_request(body, &address()).unwrap()
}

#[test]
fn requests_of_the_own_dialect_lose_nothing() {
    for (name, body) in test_fixtures::json(FOLDER, "request_") {
        let mut request = read(body.clone());
        if name == "request_schema.json" {
            // Levels of thinking are for models that know them.
            request.model = "gemini-3.8-flash".to_owned();
        }
        let written = GeminiCodec.write_request(&request).unwrap();
        assert_eq!(written.body, body, "{name}");
        assert!(written.lost.is_empty(), "{name}: {:?}", written.lost);
    }
}

#[test]
fn both_spellings_mean_the_same() {
    let (_, body) = test_fixtures::json(FOLDER, "spelt_snake").remove(0);
    let request = read(body);
    let said = test_fixtures::meaning(&request.messages);
    let expected = [
        "System:",
        "  text \"Be brief.\"",
        "User:",
        "  Image Base64 { media_type: \"image/png\", data: \"+/8=\" }",
        "  text \"Look.\"",
        "Assistant:",
        "  thought \"\"",
        "  call call_0 see {\"snake_key\":1}",
        "User:",
        "  result call_0 Well \"{\\\"snake_key\\\":2,\\\"other\\\":3}\"",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    assert_eq!(request.options.max_output, Some(5));
    assert_eq!(request.options.stop, ["x"]);
    assert_eq!(request.options.effort.as_deref(), Some("high"));
    assert_eq!(request.tool_choice, ToolChoice::Required);
    let ChatTool::Function(function) = &request.tools[0] else { panic!("{:?}", request.tools) };
    let schema = json!({
        "type": "object",
        "properties": {"snake_key": {"type": "number", "anyOf": [{"type": "string"}]}},
    });
    assert_eq!(function.parameters, Some(schema));
    assert!(request.extra.get(Dialect::Gemini, "safetySettings").is_some());
}

#[test]
fn schemas_of_the_dialect_become_json_schema() {
    let (_, body) = test_fixtures::json(FOLDER, "request_tools").remove(0);
    let request = read(body);
    let ChatTool::Function(function) = &request.tools[0] else { panic!("{:?}", request.tools) };
    let expected = json!({
        "type": "object",
        "properties": {
            "notation": {"type": "string", "description": "such as 2d6+1"},
            "times": {"type": ["integer", "null"]},
            "kinds": {
                "type": "array",
                "items": {"type": "string", "enum": ["fair", "loaded"]},
                "minItems": 1,
            },
        },
        "required": ["notation"],
    });
    assert_eq!(function.parameters, Some(expected));
    assert_eq!(request.tool_choice, ToolChoice::Named("roll_dice".to_owned()));
    let (_, body) = test_fixtures::json(FOLDER, "request_media").remove(0);
    let Some(ResponseFormat::Schema { schema, .. }) = read(body).options.output else {
        panic!("no form");
    };
    assert_eq!(schema["type"], "object");
}

#[test]
fn results_find_their_calls_by_id_or_by_name_and_order() {
    let (_, body) = test_fixtures::json(FOLDER, "request_tools").remove(0);
    let request = read(body);
    let said = test_fixtures::meaning(&request.messages);
    for line in [
        "  call call_0 roll_dice {\"notation\":\"2d6\"}",
        "  call call_1 roll_dice {\"notation\":\"1d20+5\"}",
        "  call f-3 look.up {}",
        "  result call_0 Well \"7\"",
        "  result call_1 Well \"{\\\"sum\\\":20,\\\"natural\\\":true}\"",
        "  result f-3 Failed \"no such rule\"",
    ] {
        assert!(said.lines().any(|said| said == line), "{line}\n{said}");
    }
}

/// So the official client keeps streamed answers: each chunk is a content.
#[test]
fn calls_may_stand_in_several_contents_of_one_turn() {
    let call = |id: &str| json!({"role": "model", "parts": [{"functionCall": {"id": id, "name": "t", "args": {}}}]});
    let result =
        |id: &str| json!({"functionResponse": {"id": id, "name": "t", "response": {"output": id}}});
    let results = json!({"role": "user", "parts": [result("a"), result("b")]});
    let end = json!({"role": "model", "parts": [{"text": ""}]});
    let user = json!({"role": "user", "parts": [{"text": "go"}]});
    let request = read(json!({"contents": [user, call("a"), call("b"), end, results]}));
    let written = GeminiCodec.write_request(&request).unwrap().body;
    assert_eq!(written["contents"].as_array().unwrap().len(), 3);
    assert_eq!(written["contents"][1]["parts"].as_array().unwrap().len(), 2);
}

#[test]
fn the_model_and_the_delivery_stand_in_the_address() {
    let body = json!({"contents": [{"parts": [{"text": "hi"}]}]});
    let delivery = Some(crate::conversation::ResponseDelivery::Streamed);
    let address = RequestUrlParams { model: Some("tavern"), delivery };
    let request = GeminiCodec.read_request(body.clone(), &address).unwrap();
    assert_eq!((request.model.as_str(), Some(request.delivery)), ("tavern", delivery));
    assert_eq!(request.messages[0].role, ChatRole::User);
    let failure = GeminiCodec.read_request(body, &RequestUrlParams::default()).unwrap_err();
    assert_eq!(failure.at.as_deref(), Some("model"));
}

#[test]
fn answers_of_the_own_dialect_lose_nothing() {
    for (name, body) in test_fixtures::json(FOLDER, "response_") {
        let response = GeminiCodec.read_response(body.clone()).unwrap();
        let written =
            GeminiCodec.write_response(&response, &test_fixtures::request(Vec::new()), None);
        assert_eq!(written, body, "{name}");
    }
}

#[test]
fn counts_and_reasons_have_their_neutral_words() {
    let read = |name: &str| {
        let (_, body) = test_fixtures::json(FOLDER, name).remove(0);
        GeminiCodec.read_response(body).unwrap()
    };
    let response = read("response_text");
    let usage = &response.usage;
    assert_eq!((usage.input, usage.cache_read), (1021, 1000));
    assert_eq!((usage.output, usage.reasoning, usage.total()), (36, 30, 1057));
    assert_eq!(response.stop, StopReason::End);
    assert_eq!(response.text(), "You see a door.");
    assert_eq!(read("response_calls").stop, StopReason::Calls);
    assert_eq!(read("response_blocked").stop, StopReason::Filtered);
    assert_eq!(read("response_filtered").stop, StopReason::Filtered);
    let reason = "MALFORMED_FUNCTION_CALL".to_owned();
    let expected = StopReason::Other { dialect: Dialect::Gemini, reason };
    assert_eq!(read("response_malformed").stop, expected);
    for body in [json!({}), json!({"candidates": []}), json!([]), json!({"candidates": 7})] {
        assert!(GeminiCodec.read_response(body.clone()).is_err(), "{body}");
    }
}

#[test]
fn streams_of_the_own_dialect_lose_nothing() {
    for (name, sse) in test_fixtures::files(FOLDER, "stream_") {
        let steps = test_fixtures::steps(&GeminiCodec, &test_fixtures::events(&sse)).unwrap();
        let response = test_fixtures::whole(&steps);
        let frames = test_fixtures::to_events(&test_fixtures::frames(&GeminiCodec, &steps));
        let again = test_fixtures::whole(&test_fixtures::steps(&GeminiCodec, &frames).unwrap());
        assert_eq!(silent(again.parts), silent(response.parts), "{name}");
        assert_eq!((again.stop, again.usage), (response.stop, response.usage), "{name}");
        assert_eq!((again.id, again.extra), (response.id, response.extra), "{name}");
    }
}

/// The last chunk holds an empty text, which says nothing.
fn silent(mut parts: Vec<MessagePart>) -> Vec<MessagePart> {
    parts.retain(|part| part.as_text() != Some(""));
    parts
}

#[test]
fn a_stream_in_pieces_is_the_answer_in_pieces() {
    let whole = |name: &str| {
        let (_, sse) = test_fixtures::files(FOLDER, name).remove(0);
        test_fixtures::whole(
            &test_fixtures::steps(&GeminiCodec, &test_fixtures::events(&sse)).unwrap(),
        )
    };
    let response = whole("stream_text");
    assert_eq!(response.text(), "Good evening – traveller.");
    assert_eq!(response.usage.reasoning, 7);
    let thought = PartContent::Thinking { text: "I think.".to_owned(), signature: None };
    assert_eq!(response.parts[0].content, thought);
    let response = whole("stream_calls");
    let calls: Vec<_> = response.calls().map(|it| (it.id.as_str(), &*it.arguments)).collect();
    let expected =
        [("abc", "{\"notation\":\"2d6\"}"), ("def", "{\"notation\":\"1d20\"}"), ("call_2", "{}")];
    assert_eq!(calls, expected);
    assert_eq!(response.stop, StopReason::Calls);
    assert_eq!(whole("stream_blocked").stop, StopReason::Filtered);
}

/// The signature of a text comes in a chunk of its own, with the reason to stop and an empty text.
#[test]
fn a_late_signature_is_kept_and_its_empty_text_is_not() {
    let chunk = |part: Value, reason: Option<&str>| {
        let candidate =
            json!({"content": {"role": "model", "parts": [part]}, "finishReason": reason});
        (None, json!({"responseId": "r", "candidates": [candidate]}).to_string())
    };
    let late = json!({"text": "", "thoughtSignature": "Ci"});
    let events = [chunk(json!({"text": "Well."}), None), chunk(late, Some("STOP"))];
    let response = test_fixtures::whole(&test_fixtures::steps(&GeminiCodec, &events).unwrap());
    let contents: Vec<PartContent> = response.parts.into_iter().map(|part| part.content).collect();
    let signature = Some(ThoughtSignature::new(Dialect::Gemini, "Ci"));
    let expected = [
        PartContent::Text("Well.".to_owned()),
        PartContent::Thinking { text: String::new(), signature },
    ];
    assert_eq!(contents, expected);
}

#[test]
fn b_ch_13_streams_that_break_say_how() {
    let (_, sse) = test_fixtures::files(FOLDER, "broken_error").remove(0);
    let broken = test_fixtures::steps(&GeminiCodec, &test_fixtures::events(&sse)).unwrap_err();
    let BrokenStreamError::Reported(reported) = broken else { panic!("{broken:?}") };
    assert_eq!(reported.fault, ProviderFault::Provider);
    assert_eq!(reported.code.as_deref(), Some("UNAVAILABLE"));
    let (_, sse) = test_fixtures::files(FOLDER, "broken_short").remove(0);
    let broken = test_fixtures::steps(&GeminiCodec, &test_fixtures::events(&sse)).unwrap_err();
    assert_eq!(broken, BrokenStreamError::Short);
    for data in ["<html>", "[]", "{\"candidates\":[7]}", "{\"candidates\":[{\"content\":7}]}"] {
        let broken = test_fixtures::steps(&GeminiCodec, &[(None, data.to_owned())]).unwrap_err();
        assert!(matches!(broken, BrokenStreamError::Malformed(_)), "{data}: {broken:?}");
    }
}

#[test]
fn a_call_is_written_whole_and_texts_as_they_come() {
    let open = |index, opening| ResponseDelta::Open { index, opening, extra: Extra::none() };
    let grow = |index, text: &str| ResponseDelta::Grow {
        index,
        text: text.to_owned(),
        extra: Extra::none(),
    };
    let call = PartOpening::Call { id: "call_0".to_owned(), name: "roll".to_owned() };
    let mut writer = GeminiCodec.stream_writer(&test_fixtures::request(Vec::new()));
    let mut sent = Vec::new();
    for step in [
        open(0, call),
        grow(0, "{\"a\""),
        open(1, PartOpening::Text),
        grow(1, "hi"),
        grow(0, ":1}"),
        ResponseDelta::Close { index: 0 },
        grow(1, " there"),
    ] {
        let frames = writer.write(&step);
        assert!(frames.iter().all(|frame| frame.name.is_none()));
        let chunks = frames.iter().map(|it| serde_json::from_str::<Value>(&it.data).unwrap());
        sent.extend(chunks.map(|chunk| chunk["candidates"][0]["content"]["parts"][0].clone()));
    }
    let call = json!({"name": "roll", "args": {"a": 1}, "id": "call_0"});
    assert_eq!(
        sent,
        [json!({"text": "hi"}), json!({"functionCall": call}), json!({"text": " there"})]
    );
    let told = GatewayReport {
        ended: LoopEnd::Answered,
        model: "m".to_owned(),
        rounds: 2,
        calls: Vec::new(),
        history: MessageList::default(),
    };
    let frames = writer.end(Some(&told));
    let last: Value = serde_json::from_str(&frames[0].data).unwrap();
    assert_eq!((frames.len(), &last["tollgate"]["rounds"]), (1, &json!(2)));
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
}

#[test]
fn errors_are_told_in_the_words_of_the_dialect() {
    for (kind, code, status) in [
        (LlmErrorKind::Invalid, 400, "INVALID_ARGUMENT"),
        (LlmErrorKind::TooLong, 400, "INVALID_ARGUMENT"),
        (LlmErrorKind::UnknownModel, 404, "NOT_FOUND"),
        (LlmErrorKind::Unauthenticated, 401, "UNAUTHENTICATED"),
        (LlmErrorKind::Forbidden, 403, "PERMISSION_DENIED"),
        (LlmErrorKind::RateLimited, 429, "RESOURCE_EXHAUSTED"),
        (LlmErrorKind::Overloaded, 503, "UNAVAILABLE"),
        (LlmErrorKind::Provider, 502, "UNAVAILABLE"),
        (LlmErrorKind::Timeout, 504, "DEADLINE_EXCEEDED"),
        (LlmErrorKind::Internal, 500, "INTERNAL"),
    ] {
        let error = json!({"code": code, "message": "no", "status": status});
        assert_eq!(GeminiCodec.write_error(&LlmError::new(kind, "no")), json!({"error": error}));
    }
    let failure =
        LlmError::new(LlmErrorKind::RateLimited, "no").after(Some(Duration::from_millis(1500)));
    let body = GeminiCodec.write_error(&failure).to_string();
    let reported = GeminiCodec.read_error(429, body.as_bytes());
    assert_eq!(reported.retry_after, Some(Duration::from_millis(1500)));
}

#[test]
fn errors_of_the_provider_are_understood() {
    let (_, quota) = test_fixtures::files(FOLDER, "error_quota").remove(0);
    for body in [quota.clone(), format!("[{quota}]")] {
        let reported = GeminiCodec.read_error(429, body.as_bytes());
        assert_eq!(reported.fault, ProviderFault::TooOften);
        assert_eq!(reported.retry_after, Some(Duration::from_millis(34_500)));
    }
    let said = |status: &str, message: &str| {
        json!({"error": {"status": status, "message": message}}).to_string()
    };
    for (status, body, fault) in [
        (400, said("INVALID_ARGUMENT", "bad"), ProviderFault::Request),
        (400, said("INVALID_ARGUMENT", "API key not valid."), ProviderFault::Key),
        (
            400,
            said(
                "INVALID_ARGUMENT",
                "The input token count (2000000) exceeds the maximum number of tokens allowed",
            ),
            ProviderFault::TooLong,
        ),
        (403, said("PERMISSION_DENIED", "no"), ProviderFault::Key),
        (404, said("NOT_FOUND", "models/x is not found"), ProviderFault::Model),
        (500, said("INTERNAL", "odd"), ProviderFault::Provider),
        (418, said("TEAPOT", "odd"), ProviderFault::Request),
        (502, "<html><h1>Bad Gateway</h1></html>".to_owned(), ProviderFault::Provider),
        (503, String::new(), ProviderFault::Provider),
        (429, "[]".to_owned(), ProviderFault::TooOften),
    ] {
        let reported = GeminiCodec.read_error(status, body.as_bytes());
        assert_eq!(reported.fault, fault, "{body}");
        assert!(!reported.message.is_empty(), "{body}");
    }
    for delay in ["-1s", "1e9s", "NaNs", "soon", ""] {
        let info = json!({"@type": super::errors::RETRY_INFO, "retryDelay": delay});
        let body = json!({"error": {"details": [info]}}).to_string();
        assert_eq!(GeminiCodec.read_error(429, body.as_bytes()).retry_after, None, "{delay}");
    }
}

proptest! {
    #[test]
    fn a_conversation_keeps_its_meaning(request in test_fixtures::conversations()) {
        let written = GeminiCodec.write_request(&request).unwrap();
        prop_assert!(written.lost.is_empty(), "{:?}", written.lost);
        let again = read(written.body);
        prop_assert_eq!(test_fixtures::meaning(&again.messages), test_fixtures::meaning(&request.messages));
        prop_assert_eq!(again.options, request.options);
    }

    #[test]
    fn an_answer_is_read_as_it_was_written(answer in test_fixtures::answers()) {
        let body = GeminiCodec.write_response(&answer, &test_fixtures::request(Vec::new()), None);
        let mut read = GeminiCodec.read_response(body).unwrap();
        read.extra = Extra::none();
        prop_assert_eq!(&read, &answer);
        let frames = test_fixtures::to_events(&test_fixtures::frames(&GeminiCodec, &delta::steps(&answer)));
        let mut streamed = test_fixtures::whole(&test_fixtures::steps(&GeminiCodec, &frames).unwrap());
        streamed.extra = Extra::none();
        streamed.parts = silent(streamed.parts);
        prop_assert_eq!(streamed, answer);
    }

    #[test]
    fn nothing_breaks_on_requests_with_wounds(
        number in any::<usize>(),
        wounds in proptest::collection::vec(test_fixtures::mutations(), 1..4),
    ) {
        let body = test_fixtures::mutate_fixture(FOLDER, "request_", number, &wounds);
        if let Ok(request) = GeminiCodec.read_request(body, &address()) {
            let _ = GeminiCodec.write_request(&request);
            let _ = GeminiCodec.write_history(&request.messages);
        }
    }

    #[test]
    fn nothing_breaks_on_answers_with_wounds(
        number in any::<usize>(),
        wounds in proptest::collection::vec(test_fixtures::mutations(), 1..4),
    ) {
        let body = test_fixtures::mutate_fixture(FOLDER, "response_", number, &wounds);
        if let Ok(response) = GeminiCodec.read_response(body) {
            let _ = GeminiCodec.write_response(&response, &test_fixtures::request(Vec::new()), None);
            let _ = test_fixtures::frames(&GeminiCodec, &delta::steps(&response));
        }
    }

    #[test]
    fn nothing_breaks_on_streams_with_wounds(
        number in any::<usize>(),
        event in any::<usize>(),
        wound in test_fixtures::mutations(),
    ) {
        let events = test_fixtures::mutated_events(FOLDER, number, event, &[wound]);
        if let Ok(steps) = test_fixtures::steps(&GeminiCodec, &events) {
            let response = test_fixtures::whole(&steps);
            let _ = test_fixtures::frames(&GeminiCodec, &steps);
            let _ = GeminiCodec.write_response(&response, &test_fixtures::request(Vec::new()), None);
        }
    }
}

/// A good request with some fields replaced.
fn with_fields(fields: Map<String, Value>) -> Value {
    let mut body = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    for (key, value) in fields {
        body[key] = value;
    }
    body
}

#[test]
fn details_of_one_round_do_not_stand_beside_the_sum_of_several() {
    let details = json!([{"modality": "TEXT", "tokenCount": 11}]);
    let body = json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 3, "totalTokenCount": 14,
            "promptTokensDetails": details, "trafficType": "ON_DEMAND"}});
    let mut response = GeminiCodec.read_response(body).unwrap();
    let usage = |response: &ChatResponse| {
        let request = test_fixtures::request(Vec::new());
        let whole = GeminiCodec.write_response(response, &request, None)["usageMetadata"].clone();
        let mut writer = GeminiCodec.stream_writer(&request);
        let steps: Vec<ResponseDelta> = delta::steps(response);
        steps.iter().for_each(|step| drop(writer.write(step)));
        let last = writer.end(None).pop().unwrap().data;
        let last: Value = serde_json::from_str(&last).unwrap();
        assert_eq!(last["usageMetadata"], whole);
        whole
    };
    assert_eq!(usage(&response)["promptTokensDetails"], details);
    response.usage = response.usage.and(&response.usage);
    let sum = usage(&response);
    assert_eq!((&sum["promptTokenCount"], sum.get("promptTokensDetails")), (&json!(22), None));
    assert_eq!(sum["trafficType"], "ON_DEMAND");
}
