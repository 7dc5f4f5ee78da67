//! Whole answers, and what comes in their place.

use std::time::Duration;

use tollgate_llm::conversation::StopReason;
use tollgate_llm::error::LlmErrorKind;
use tollgate_llm::provider::{AskError, RetryTarget};
use tollgate_llm::settings::{ProviderKind, ProviderTimeouts};

use crate::fake::{Act, Fake, json, response};
use crate::stage::{KEY, anthropic, provider, request, serve_one};
use crate::wire::{ANSWER, INVALID, NO_KEY, NO_MODEL, OVERLOADED, TOO_LONG, TOO_OFTEN};

async fn expect_failure(acts: Vec<Act>) -> AskError {
    let fake = Fake::start(vec![acts]).await;
    let asked = anthropic(fake.address).ask(&request("hello")).await;
    let error = asked.expect_err("this is no answer");
    let message = &error.failure.message;
    assert!(message.contains("`fake`"), "names the provider: {message}");
    assert!(message.chars().count() < 350, "{message}");
    assert!(!message.contains(KEY), "{message}");
    error
}

async fn check(acts: Vec<Act>, kind: LlmErrorKind, again: &str, says: &str) {
    let error = expect_failure(acts).await;
    let short = match error.again {
        RetryTarget::SameModel { .. } => "same",
        RetryTarget::OtherModel => "other",
        RetryTarget::Never => "never",
    };
    let message = &error.failure.message;
    assert_eq!((error.failure.kind, short), (kind, again), "{message}");
    assert!(message.contains(says), "{message}");
}

#[tokio::test]
async fn a_model_is_asked_in_its_providers_words() {
    let fake = Fake::start(vec![json(200, ANSWER)]).await;
    let answer = anthropic(fake.address).ask(&request("hello")).await.unwrap();
    assert_eq!(answer.text(), "Hello there");
    assert_eq!((answer.stop, answer.usage.total()), (StopReason::End, 12));
    let seen = fake.only();
    assert_eq!(seen.path(), "/v1/messages");
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(seen.header("accept-encoding"), None);
    assert_eq!(seen.json()["model"], "m-id");
}

#[tokio::test]
async fn connections_are_used_again() {
    let fake = Fake::start(vec![json(200, ANSWER)]).await;
    let model = anthropic(fake.address);
    for _ in 0..3 {
        model.ask(&request("hello")).await.unwrap();
    }
    let connections: Vec<usize> = fake.requests_seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[tokio::test]
async fn an_answer_may_come_byte_by_byte() {
    let bytes = response(200, &[("content-type", "application/json")], ANSWER);
    let fake = Fake::start(vec![vec![Act::Drip(bytes)]]).await;
    let answer = anthropic(fake.address).ask(&request("hello")).await.unwrap();
    assert_eq!(answer.text(), "Hello there");
}

#[tokio::test]
async fn errors_are_told_by_whose_fault_they_are() {
    check(json(400, INVALID), LlmErrorKind::Invalid, "never", "roles must alternate").await;
    check(json(400, TOO_LONG), LlmErrorKind::TooLong, "other", "208310 tokens").await;
    check(json(404, NO_MODEL), LlmErrorKind::UnknownModel, "other", "does not know model `m-id`")
        .await;
    check(json(429, TOO_OFTEN), LlmErrorKind::RateLimited, "same", "exceeded your limit").await;
    check(json(529, OVERLOADED), LlmErrorKind::Overloaded, "same", "Overloaded").await;
    check(json(500, "{}"), LlmErrorKind::Provider, "same", "500").await;
    check(json(504, ""), LlmErrorKind::Timeout, "same", "504").await;
}

#[tokio::test]
async fn a_refused_key_is_the_gateways_trouble_and_is_not_shown() {
    for status in [401, 403] {
        let says = format!("rejected the gateway's key (HTTP {status}, authentication_error)");
        check(json(status, NO_KEY), LlmErrorKind::Provider, "other", &says).await;
    }
}

#[tokio::test]
async fn b_ch_13_what_is_no_answer_is_named() {
    let html = "<html><head><title>Welcome</title></head></html>";
    let page = |status| vec![Act::Send(response(status, &[("content-type", "text/html")], html))];
    let typed =
        |kind: &str, body: &str| vec![Act::Send(response(200, &[("content-type", kind)], body))];
    check(page(200), LlmErrorKind::Provider, "other", "answered with `text/html` instead of JSON")
        .await;
    check(page(502), LlmErrorKind::Provider, "same", "502: Welcome").await;
    check(vec![Act::Send(response(204, &[], ""))], LlmErrorKind::Provider, "other", "HTTP 204")
        .await;
    check(
        typed("text/event-stream", "data: {}\n\n"),
        LlmErrorKind::Provider,
        "other",
        "instead of JSON",
    )
    .await;
    check(
        typed("application/json", "{\"id\":"),
        LlmErrorKind::Provider,
        "other",
        "sent an invalid response",
    )
    .await;
    check(
        typed("application/json", ""),
        LlmErrorKind::Provider,
        "other",
        "sent an invalid response",
    )
    .await;
    check(
        typed("application/json", "[]"),
        LlmErrorKind::Provider,
        "other",
        "sent an invalid response",
    )
    .await;
    check(
        typed("application/json", "\u{1f}\u{8b}"),
        LlmErrorKind::Provider,
        "other",
        "sent an invalid response",
    )
    .await;
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let lie = vec![Act::Send(response(200, &headers, ANSWER))];
    check(lie, LlmErrorKind::Provider, "other", "encoded as `gzip`, which was not requested").await;
    let moved = response(307, &[("location", "http://127.0.0.1:1/elsewhere")], "");
    check(vec![Act::Send(moved)], LlmErrorKind::Provider, "other", "sent a redirect (HTTP 307)")
        .await;
    check(vec![Act::Send(response(206, &[], ANSWER))], LlmErrorKind::Provider, "other", "HTTP 206")
        .await;
}

#[tokio::test]
async fn broken_connections_are_worth_another_attempt() {
    check(vec![Act::Close], LlmErrorKind::Provider, "same", "closed the connection").await;
    let half = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{";
    let cut = vec![Act::Send(half.to_vec()), Act::Close];
    check(cut, LlmErrorKind::Provider, "same", "interrupted its response").await;
    let noise = vec![Act::Send(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()), Act::Close];
    check(noise, LlmErrorKind::Provider, "same", "closed the connection").await;
}

#[tokio::test]
async fn answers_are_read_up_to_a_limit() {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n";
    let stated = vec![Act::Send(head.to_vec()), Act::Hang];
    check(stated, LlmErrorKind::Provider, "other", "larger than 33554432 bytes").await;
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    let endless = vec![Act::Send(head.to_vec()), Act::Send(vec![b' '; (32 << 20) + 1]), Act::Hang];
    check(endless, LlmErrorKind::Provider, "other", "larger than 33554432 bytes").await;
    let long = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "x".repeat(1 << 20));
    check(json(400, &long), LlmErrorKind::Invalid, "never", "m-id").await;
    let words = format!(
        "{{\"error\":{{\"type\":\"invalid_request_error\",\"message\":\"{}\"}}}}",
        "x".repeat(9_000)
    );
    check(json(400, &words), LlmErrorKind::Invalid, "never", "xxx…").await;
}

#[tokio::test]
async fn a_silent_provider_is_not_waited_for() {
    let patience = ProviderTimeouts {
        answer: Duration::from_millis(100),
        silence: Duration::from_secs(5),
        ..ProviderTimeouts::default()
    };
    for acts in [vec![Act::Hang], {
        let head =
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
        vec![Act::Send(head.to_vec()), Act::Hang]
    }] {
        let fake = Fake::start(vec![acts]).await;
        let settings = provider(ProviderKind::Anthropic, fake.address);
        let model = serve_one(tollgate_llm::settings::ProviderSettings { patience, ..settings });
        let error = model.ask(&request("hello")).await.unwrap_err();
        let expected = "model `m-id` of provider `fake` did not answer within 100 ms";
        assert_eq!(error.failure.message, expected);
        assert_eq!(
            (error.failure.kind, error.again),
            (LlmErrorKind::Timeout, RetryTarget::OtherModel)
        );
    }
}

#[tokio::test]
async fn nobody_listens() {
    let fake = Fake::start(vec![]).await;
    let address = fake.address;
    drop(fake);
    let error = anthropic(address).ask(&request("hello")).await.unwrap_err();
    assert!(error.failure.message.contains("cannot be reached"), "{}", error.failure.message);
    assert_eq!(error.again, RetryTarget::SameModel { after: None });
}

#[tokio::test]
async fn only_so_many_requests_are_under_way() {
    let slow = vec![
        Act::Wait(Duration::from_millis(50)),
        Act::Send(response(200, &[("content-type", "application/json")], ANSWER)),
    ];
    let fake = Fake::start(vec![slow]).await;
    let settings = provider(ProviderKind::Anthropic, fake.address);
    let model = serve_one(tollgate_llm::settings::ProviderSettings { concurrent: 1, ..settings });
    let hello = request("hello");
    let (one, two) = tokio::join!(model.ask(&hello), model.ask(&hello));
    assert!(one.is_ok() && two.is_ok());
    let connections: Vec<usize> = fake.requests_seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0], "the second waited for the first");
    let all: Vec<_> = (0..6).map(|_| model.ask(&hello)).collect();
    let answers = futures_util::future::join_all(all).await;
    let refused: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
    assert_eq!(refused.len(), 1, "one has the slot, four wait");
    assert_eq!(refused[0].failure.kind, LlmErrorKind::Overloaded);
    assert_eq!(refused[0].failure.retry_after, Some(Duration::from_secs(1)));
}
