//! Requests that are handed on as they came.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::BodyExt;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::LlmErrorKind;
use tollgate_llm::format::RequestUrlParams;
use tollgate_llm::provider::{AskError, PassThroughBody, PassThroughRequest, carry};
use tollgate_llm::settings::{ProviderKind, ProviderSettings, ProviderTimeouts};

use crate::fake::{Act, Fake, encode_chunks, json, response, stream_head};
use crate::stage::{KEY, anthropic, provider, request, serve_one};
use crate::wire::{ANSWER, EVENTS, INVALID, NO_KEY, OVERLOADED, TOO_OFTEN, events_before};

const BODY: &str =
    r#"{ "model":"mine", "messages":[ {"role":"user","content":"héllo"} ], "new_field": 1e3 }"#;

fn pass_through(body: &str) -> PassThroughRequest {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_static("Bearer client-secret"));
    headers.insert("x-api-key", HeaderValue::from_static("client-secret"));
    headers.insert("anthropic-beta", HeaderValue::from_static("new-thing-2026"));
    let address = RequestUrlParams::default();
    PassThroughRequest::read(Bytes::from(body.to_owned()), headers, &address).unwrap()
}

async fn pass(acts: Vec<Act>) -> (Fake, Result<Response<PassThroughBody>, AskError>) {
    let fake = Fake::start(vec![acts]).await;
    let answer = anthropic(fake.address).pass(pass_through(BODY)).await;
    (fake, answer)
}

async fn text(response: Response<PassThroughBody>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn bytes_go_through_and_only_the_model_is_replaced() {
    let headers = [
        ("content-type", "application/json"),
        ("request-id", "req_1"),
        ("anthropic-ratelimit-requests-remaining", "4"),
        ("set-cookie", "a=b"),
        ("anthropic-organization-id", "org"),
    ];
    let (fake, answer) = pass(vec![Act::Send(response(200, &headers, ANSWER))]).await;
    let answer = answer.unwrap();
    let mut names: Vec<&str> = answer.headers().keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["anthropic-ratelimit-requests-remaining", "content-type", "request-id"]);
    assert_eq!(text(answer).await, ANSWER);
    let seen = fake.only();
    assert_eq!(seen.body, BODY.replace("mine", "m-id"));
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("anthropic-beta"), Some("new-thing-2026"));
    assert!(!seen.head.contains("client-secret"), "{}", seen.head);
}

#[tokio::test]
async fn streams_go_through_frame_by_frame() {
    let fake = Fake::start(vec![encode_chunks(EVENTS)]).await;
    let body = BODY.replace("1e3", "1e3, \"stream\": true");
    let answer = anthropic(fake.address).pass(pass_through(&body)).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert_eq!(text(answer).await, EVENTS);
    assert_eq!(fake.only().header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn errors_come_in_the_providers_own_words() {
    for (status, body) in [(400, INVALID), (429, TOO_OFTEN), (500, "{\"error\":{}}")] {
        let headers = [("content-type", "application/json"), ("retry-after", "7")];
        let (_fake, answer) = pass(vec![Act::Send(response(status, &headers, body))]).await;
        let answer = answer.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["retry-after"]),
            (status, &HeaderValue::from_static("7"))
        );
        assert_eq!(text(answer).await, body);
    }
}

#[tokio::test]
async fn what_is_not_for_the_client_becomes_a_failure() {
    let betrayal = format!(r#"{{"error":{{"type":"api_error","message":"sent {KEY}"}}}}"#);
    let html = Act::Send(response(502, &[("content-type", "text/html")], "<h1>Bad Gateway</h1>"));
    for acts in [
        json(401, NO_KEY),
        json(403, NO_KEY),
        json(500, &betrayal),
        vec![html],
        vec![Act::Send(response(200, &[("content-type", "text/html")], "<html>"))],
        vec![Act::Send(response(204, &[], ""))],
        vec![Act::Send(response(307, &[("location", "http://127.0.0.1:1/")], ""))],
        vec![Act::Close],
    ] {
        let (_fake, answer) = pass(acts).await;
        let failure = answer.map(drop).unwrap_err().failure;
        assert_eq!(failure.kind, LlmErrorKind::Provider, "{failure}");
        assert!(failure.message.contains("`fake`"), "{failure}");
        assert!(!failure.message.contains(KEY), "{failure}");
    }
}

/// The request of a client that wants a stream.
fn streamed() -> PassThroughRequest {
    pass_through(&BODY.replace("1e3", "1e3, \"stream\": true"))
}

#[tokio::test]
async fn silence_and_breaks_end_a_stream_with_an_error_of_its_dialect() {
    let patience = ProviderTimeouts {
        answer: Duration::from_secs(5),
        silence: Duration::from_secs(1),
        ..ProviderTimeouts::default()
    };
    for (last, words) in [(Act::Hang, "sent nothing for 1000 ms"), (Act::Close, "interrupted")] {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\nfff\r\n";
        let whole = events_before("thére");
        let half = format!("{whole}event: content_block_delta\ndata: {{\"type\":");
        let acts = vec![Act::Send(head.into()), Act::Send(half.into()), last];
        let fake = Fake::start(vec![acts]).await;
        let settings = provider(ProviderKind::Anthropic, fake.address);
        let model = serve_one(ProviderSettings { patience, ..settings });
        let body = model.pass(streamed()).await.unwrap().into_body();
        let interruption = body.interruption();
        let read = body.collect().await.unwrap().to_bytes();
        let read = std::str::from_utf8(&read).unwrap();
        let error = read.strip_prefix(&*whole).unwrap();
        assert!(error.starts_with("event: error\ndata: {\"type\":\"error\""), "{error}");
        assert!(error.contains(words) && error.ends_with("\n\n"), "{error}");
        assert!(interruption.has_happened());
    }
}

#[tokio::test]
async fn what_fails_before_the_first_event_is_an_error_of_the_request() {
    let error = format!("event: error\ndata: {OVERLOADED}\n\n");
    let html = vec![Act::Send(response(200, &[("content-type", "text/html")], "<html>"))];
    let empty = vec![Act::Send(stream_head()), Act::Close];
    for (acts, kind) in [
        (crate::fake::stream(error.as_bytes()), LlmErrorKind::Overloaded),
        (empty, LlmErrorKind::Provider),
        (html, LlmErrorKind::Provider),
        (json(200, ANSWER), LlmErrorKind::Provider),
    ] {
        let fake = Fake::start(vec![acts, encode_chunks(EVENTS)]).await;
        let settings = provider(ProviderKind::Anthropic, fake.address);
        let failure = serve_one(settings.clone()).pass(streamed()).await.map(drop).unwrap_err();
        assert_eq!(failure.failure.kind, kind, "{failure}");
    }
    let fake =
        Fake::start(vec![crate::fake::stream(error.as_bytes()), encode_chunks(EVENTS)]).await;
    let settings = provider(ProviderKind::Anthropic, fake.address);
    let model = serve_one(ProviderSettings { retries: 1, ..settings });
    assert_eq!(text(model.pass(streamed()).await.unwrap()).await, EVENTS, "it is asked again");
}

#[tokio::test]
async fn a_whole_answer_is_checked_before_the_client_gets_any_of_it() {
    let short =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{";
    for acts in [
        vec![Act::Send(short.to_vec()), Act::Close],
        json(200, "[]"),
        json(200, "{\"id\""),
        json(200, OVERLOADED),
        encode_chunks(EVENTS),
    ] {
        let fake = Fake::start(vec![acts, json(200, ANSWER)]).await;
        let settings = provider(ProviderKind::Anthropic, fake.address);
        let model = serve_one(ProviderSettings { retries: 0, ..settings });
        let failure = model.pass(pass_through(BODY)).await.map(drop).unwrap_err().failure;
        assert!(
            matches!(failure.kind, LlmErrorKind::Provider | LlmErrorKind::Overloaded),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn frames_that_come_slowly_are_no_silence() {
    // Shorter than all gaps together.
    let patience = ProviderTimeouts {
        answer: Duration::from_secs(5),
        silence: Duration::from_secs(2),
        ..ProviderTimeouts::default()
    };
    let mut acts = vec![Act::Send(stream_head())];
    for event in EVENTS.split_inclusive("\n\n") {
        acts.extend([Act::Send(event.into()), Act::Wait(Duration::from_millis(300))]);
    }
    acts.push(Act::Close);
    let fake = Fake::start(vec![acts]).await;
    let settings = provider(ProviderKind::Anthropic, fake.address);
    let model = serve_one(ProviderSettings { patience, ..settings });
    assert_eq!(text(model.pass(streamed()).await.unwrap()).await, EVENTS);
}

#[tokio::test]
async fn the_slot_is_held_until_the_body_is_gone() {
    let fake = Fake::start(vec![encode_chunks(EVENTS)]).await;
    let settings = provider(ProviderKind::Anthropic, fake.address);
    let model = serve_one(ProviderSettings { concurrent: 1, ..settings });
    let first = model.pass(streamed()).await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(50), model.pass(streamed()));
    assert!(waiting.await.is_err(), "it waits for the first");
    drop(first);
    model.pass(streamed()).await.unwrap();
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_before_the_client_hears_of_it() {
    let fake = Fake::start(vec![json(529, OVERLOADED), json(200, ANSWER)]).await;
    let settings = provider(ProviderKind::Anthropic, fake.address);
    let model = serve_one(ProviderSettings { retries: 1, ..settings.clone() });
    assert_eq!(text(model.pass(pass_through(BODY)).await.unwrap()).await, ANSWER);
    assert_eq!(fake.requests_seen().len(), 2);
    let busy = Fake::start(vec![json(529, OVERLOADED)]).await;
    let settings =
        ProviderSettings { retries: 1, ..provider(ProviderKind::Anthropic, busy.address) };
    let answer = serve_one(settings).pass(pass_through(BODY)).await.unwrap();
    assert_eq!((answer.status().as_u16(), busy.requests_seen().len()), (529, 2));
    assert_eq!(text(answer).await, OVERLOADED);
}

#[tokio::test]
async fn a_client_of_the_same_dialect_keeps_its_features_through_the_loop() {
    let fake = Fake::start(vec![json(200, ANSWER)]).await;
    let mut headers = HeaderMap::new();
    headers.insert("anthropic-beta", HeaderValue::from_static("new-thing-2026"));
    let mut asked = request("hello");
    carry(&mut asked, Dialect::Anthropic, &headers);
    anthropic(fake.address).ask(&asked).await.unwrap();
    let seen = fake.only();
    assert_eq!(seen.header("anthropic-beta"), Some("new-thing-2026"));
    assert!(!seen.body.contains("new-thing"), "{}", seen.body);
}
