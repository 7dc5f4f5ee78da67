//! Each dialect as its providers speak it: where requests go, and how answers come.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use tollgate_llm::conversation::{ResponseDelivery, StopReason};
use tollgate_llm::error::LlmErrorKind;
use tollgate_llm::format::RequestUrlParams;
use tollgate_llm::provider::{ModelRegistry, PassThroughRequest};
use tollgate_llm::settings::{self, LlmSettings, ProviderApi, ProviderKind};

use crate::fake::{Fake, encode_chunks, json as whole, stream};
use crate::stage::{clock, model, provider, read_stream, request, serve_one};

const CHAT: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1741570283,"model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":"Hello there","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}"#;

fn chat_events(pieces: &[&str]) -> String {
    let event = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason});
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "created": 1741570283, "model": "gpt-x", "choices": [choice], "usage": null});
        format!("data: {chunk}\n\n")
    };
    let mut events = event(json!({"role": "assistant", "content": ""}), Value::Null);
    for piece in pieces {
        events.push_str(&event(json!({"content": piece}), Value::Null));
    }
    events.push_str(&event(json!({}), json!("stop")));
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12});
    let last = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
        "created": 1741570283, "model": "gpt-x", "choices": [], "usage": usage});
    format!("{events}data: {last}\n\n")
}

#[tokio::test]
async fn openai_chat() {
    let events = format!("{}data: [DONE]\n\n", chat_events(&["Hello ", "there"]));
    let fake = Fake::start(vec![whole(200, CHAT), encode_chunks(&events)]).await;
    let model = serve_one(provider(ProviderKind::OpenAi, fake.address));
    let answer = model.ask(&request("hello")).await.unwrap();
    assert_eq!((answer.text().as_str(), answer.usage.total()), ("Hello there", 12));
    let answer = read_stream(model.stream(&request("hello")).await.unwrap()).await.unwrap();
    assert_eq!((answer.text().as_str(), answer.usage.total()), ("Hello there", 12));
    assert_eq!(answer.stop, StopReason::End);
    for seen in fake.requests_seen() {
        assert_eq!((seen.path(), &seen.json()["model"]), ("/chat/completions", &json!("m-id")));
    }
}

#[tokio::test]
async fn openai_responses() {
    let part = json!({"type": "output_text", "text": "Hello there", "annotations": []});
    let item = json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
        "content": [part]});
    let response = |status: &str, output: Value| {
        json!({"id": "resp_1", "object": "response", "created_at": 1741570283, "status": status,
            "error": null, "incomplete_details": null, "model": "gpt-x", "output": output,
            "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 12}})
    };
    let place = json!({"item_id": "msg_1", "output_index": 0, "content_index": 0});
    let at = |kind: &str, more: Value| {
        let mut event = place.clone();
        event["type"] = kind.into();
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let empty = json!({"id": "msg_1", "type": "message", "status": "in_progress",
        "role": "assistant", "content": []});
    let events = [
        json!({"type": "response.created", "response": response("in_progress", json!([]))}),
        at("response.output_item.added", json!({"item": empty})),
        at(
            "response.content_part.added",
            json!({"part":
            {"type": "output_text", "text": "", "annotations": []}}),
        ),
        at("response.output_text.delta", json!({"delta": "Hello "})),
        at("response.output_text.delta", json!({"delta": "there"})),
        at("response.output_text.done", json!({"text": "Hello there"})),
        at("response.content_part.done", json!({"part": part})),
        at("response.output_item.done", json!({"item": item})),
        json!({"type": "response.completed", "response": response("completed", json!([item]))}),
    ];
    let events: Vec<String> = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    let answers = vec![
        whole(200, &response("completed", json!([item])).to_string()),
        encode_chunks(&events.concat()),
    ];
    let fake = Fake::start(answers).await;
    let settings = LlmSettings {
        providers: vec![provider(ProviderKind::OpenAi, fake.address)],
        models: vec![settings::ModelSettings { api: ProviderApi::Responses, ..model("m") }],
    };
    let model = ModelRegistry::new(&settings, clock(), None).unwrap().find("m").unwrap();
    let answer = model.ask(&request("hello")).await.unwrap();
    assert_eq!((answer.text().as_str(), answer.usage.total()), ("Hello there", 12));
    let answer = read_stream(model.stream(&request("hello")).await.unwrap()).await.unwrap();
    assert_eq!((answer.text().as_str(), answer.usage.total()), ("Hello there", 12));
    for seen in fake.requests_seen() {
        assert_eq!((seen.path(), &seen.json()["model"]), ("/responses", &json!("m-id")));
    }
}

#[tokio::test]
async fn gemini() {
    let piece = |text: &str, more: &str| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}],"role":"model"}},"index":0{more}}}],"usageMetadata":{{"promptTokenCount":9,"candidatesTokenCount":3,"totalTokenCount":12}},"modelVersion":"m-id","responseId":"r-1"}}"#
        )
    };
    let stop = r#","finishReason":"STOP""#;
    let events = format!("data: {}\n\ndata: {}\n\n", piece("Hello ", ""), piece("there", stop));
    let answers = vec![whole(200, &piece("Hello there", stop)), encode_chunks(&events)];
    let fake = Fake::start(answers).await;
    let model = serve_one(provider(ProviderKind::Gemini, fake.address));
    let answer = model.ask(&request("hello")).await.unwrap();
    assert_eq!((answer.text().as_str(), answer.usage.total()), ("Hello there", 12));
    assert!(answer.created > 1_700_000_000, "Gemini does not tell the time, the gateway does");
    let answer = read_stream(model.stream(&request("hello")).await.unwrap()).await.unwrap();
    assert_eq!((answer.text().as_str(), answer.usage.total()), ("Hello there", 12));
    assert!(answer.created > 1_700_000_000, "Gemini does not tell the time, the gateway does");
    let paths: Vec<String> =
        fake.requests_seen().iter().map(|seen| seen.path().to_owned()).collect();
    let models = "/v1beta/models/m-id";
    let expected =
        [format!("{models}:generateContent"), format!("{models}:streamGenerateContent?alt=sse")];
    assert_eq!(paths, expected);
}

/// Google answers 400 where others answer 401.
#[tokio::test]
async fn a_key_that_gemini_refuses_is_the_gateways_trouble_also_where_bytes_are_handed_on() {
    let words = r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#;
    let fake = Fake::start(vec![whole(400, words)]).await;
    let model = serve_one(provider(ProviderKind::Gemini, fake.address));
    let address = RequestUrlParams { model: Some("m"), delivery: Some(ResponseDelivery::Whole) };
    let body = Bytes::from_static(br#"{"contents":[]}"#);
    let passed = PassThroughRequest::read(body, HeaderMap::new(), &address).unwrap();
    let failure = model.pass(passed).await.map(drop).unwrap_err().failure;
    assert_eq!(failure.kind, LlmErrorKind::Provider);
    assert!(failure.message.contains("rejected the gateway's key"), "{failure}");
}

#[tokio::test]
async fn b_se_07_done_may_come_twice_or_never() {
    for tail in ["data: [DONE]\n\ndata: [DONE]\n\n", "", "data: [DONE]", ": bye\n\n"] {
        let events = format!("{}{tail}", chat_events(&["Hello"]));
        let fake = Fake::start(vec![stream(events.as_bytes())]).await;
        let model = serve_one(provider(ProviderKind::OpenAi, fake.address));
        let answer = read_stream(model.stream(&request("hello")).await.unwrap()).await.unwrap();
        assert_eq!((answer.text().as_str(), answer.usage.total()), ("Hello", 12), "{tail}");
    }
}

#[tokio::test]
async fn b_se_07_done_too_early_is_no_answer() {
    let events = chat_events(&["Hello"]);
    let early: String = events.split_inclusive("\n\n").take(2).collect();
    let fake = Fake::start(vec![stream(format!("{early}data: [DONE]\n\n").as_bytes())]).await;
    let model = serve_one(provider(ProviderKind::OpenAi, fake.address));
    let (text, failure) =
        read_stream(model.stream(&request("hello")).await.unwrap()).await.unwrap_err();
    assert_eq!((text.as_str(), failure.kind), ("Hello", LlmErrorKind::Provider));
}

#[tokio::test]
async fn an_error_with_the_status_of_an_answer_is_an_error() {
    let words = r#"{"error":{"message":"Provider returned error","code":429},"user_id":"u"}"#;
    let fake = Fake::start(vec![whole(200, words)]).await;
    let model = serve_one(provider(ProviderKind::OpenAi, fake.address));
    let error = model.ask(&request("hello")).await.unwrap_err();
    assert_eq!(error.failure.kind, LlmErrorKind::RateLimited, "{error}");
    assert!(error.failure.message.contains("Provider returned error"), "{error}");
}

#[tokio::test]
async fn a_key_without_money_is_the_gateways_trouble() {
    let words = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    let fake = Fake::start(vec![whole(429, words)]).await;
    let model = serve_one(provider(ProviderKind::OpenAi, fake.address));
    let error = model.ask(&request("hello")).await.unwrap_err();
    let expected = "provider `fake` reports that its account has no credit or quota left: You \
                    exceeded your current quota";
    assert_eq!(error.failure.message, expected);
}
