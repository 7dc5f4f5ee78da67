//! Answers that stream, however they are cut, and wherever they break.

use std::time::Duration;

use tollgate_llm::conversation::StopReason;
use tollgate_llm::error::LlmErrorKind;
use tollgate_llm::provider::{AskError, RetryTarget};
use tollgate_llm::settings::{ProviderKind, ProviderSettings, ProviderTimeouts};

use crate::fake::{Act, Fake, encode_chunks, json, response, stream, stream_head};
use crate::stage::{anthropic, provider, read_stream, request, serve_one};
use crate::wire::{EVENTS, OVERLOADED, TOO_OFTEN, events_before};

/// Until an answer that never comes.
const SHORT: Duration = Duration::from_millis(100);
/// Between events that do come.
const SILENCE: Duration = Duration::from_secs(1);

async fn check(acts: Vec<Act>) {
    let fake = Fake::start(vec![acts]).await;
    let answering = anthropic(fake.address).stream(&request("hello")).await.unwrap();
    let answer = read_stream(answering).await.unwrap();
    assert_eq!(answer.text(), "Hello thére");
    assert_eq!((answer.stop, answer.usage.total()), (StopReason::End, 12));
    assert_eq!(fake.only().json()["stream"], true);
}

/// What came before the failure, and the failure.
async fn expect_break(acts: Vec<Act>) -> (String, LlmErrorKind, String) {
    broken_within(acts, Duration::from_secs(9)).await
}

async fn broken_within(acts: Vec<Act>, silence: Duration) -> (String, LlmErrorKind, String) {
    let fake = Fake::start(vec![acts]).await;
    let settings = provider(ProviderKind::Anthropic, fake.address);
    let patience =
        ProviderTimeouts { answer: Duration::from_secs(5), silence, ..ProviderTimeouts::default() };
    let model = serve_one(ProviderSettings { patience, ..settings });
    let answering = model.stream(&request("hello")).await.unwrap();
    let (text, failure) = read_stream(answering).await.expect_err("it must break");
    assert!(failure.message.contains("model `m-id` of provider `fake`"), "{failure}");
    (text, failure.kind, failure.message)
}

/// A failure before anything was said.
async fn refusal_of(acts: Vec<Act>) -> AskError {
    refused_within(acts, Duration::from_secs(9)).await
}

async fn refused_within(acts: Vec<Act>, answer: Duration) -> AskError {
    let fake = Fake::start(vec![acts]).await;
    let settings = provider(ProviderKind::Anthropic, fake.address);
    let patience =
        ProviderTimeouts { answer, silence: Duration::from_secs(9), ..ProviderTimeouts::default() };
    let model = serve_one(ProviderSettings { patience, ..settings });
    model.stream(&request("hello")).await.map(drop).expect_err("nothing was said")
}

#[tokio::test]
async fn b_se_03_a_stream_may_be_cut_at_every_byte() {
    check(vec![Act::Send(stream_head()), Act::Drip(EVENTS.into()), Act::Close]).await;
    let returns = EVENTS.replace('\n', "\r\n");
    check(vec![Act::Send(stream_head()), Act::Drip(returns.into()), Act::Close]).await;
    check(stream(EVENTS.replace('\n', "\r").as_bytes())).await;
    check(stream(EVENTS.replacen('\n', "\r\n", 7).as_bytes())).await;
}

#[tokio::test]
async fn b_se_04_05_06_marks_comments_and_strange_events_are_passed_over() {
    check(stream(format!("\u{feff}{EVENTS}").as_bytes())).await;
    let strange = ": hello\n\nid: a\u{0}b\nretry: -1\nretry: 1000000000000000000\n\n\
                   event: brand_new\ndata: {\"type\":\"brand_new\"}\n\n";
    check(stream(format!("{strange}{EVENTS}").as_bytes())).await;
}

#[tokio::test]
async fn b_se_07_an_event_may_have_several_lines() {
    let lines = EVENTS.replace("\"index\":0,", "\"index\":0,\ndata: ");
    check(stream(lines.as_bytes())).await;
    let twice = format!("{EVENTS}event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n");
    check(stream(twice.as_bytes())).await;
}

#[tokio::test]
async fn the_connection_of_a_stream_that_ended_is_used_again() {
    let fake = Fake::start(vec![encode_chunks(EVENTS)]).await;
    let model = anthropic(fake.address);
    for _ in 0..3 {
        let answering = model.stream(&request("hello")).await.unwrap();
        read_stream(answering).await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let connections: Vec<usize> = fake.requests_seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[tokio::test]
async fn b_se_10_a_stream_that_ends_too_soon_is_no_answer() {
    let half = events_before("thére");
    let (text, kind, message) = expect_break(stream(half.as_bytes())).await;
    assert_eq!((text.as_str(), kind), ("Hello ", LlmErrorKind::Provider));
    assert!(message.contains("interrupted its response"), "{message}");
    // In the middle of a chunk: the connection broke, and the message says so.
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let cut = format!("{head}fff\r\n{half}");
    let (text, _, message) = expect_break(vec![Act::Send(cut.into()), Act::Close]).await;
    assert_eq!(text, "Hello ");
    assert!(message.contains("interrupted its response: "), "{message}");
}

#[tokio::test]
async fn an_error_in_the_middle_is_the_last_item() {
    let events = format!("{}event: error\ndata: {OVERLOADED}\n\n", events_before("thére"));
    let (text, kind, message) = expect_break(stream(events.as_bytes())).await;
    assert_eq!((text.as_str(), kind), ("Hello ", LlmErrorKind::Overloaded));
    assert!(message.ends_with("failed: Overloaded"), "{message}");
    let events = format!("{}data: {{\"type\":\n\n", events_before("thére"));
    let (text, kind, message) = expect_break(stream(events.as_bytes())).await;
    assert_eq!((text.as_str(), kind), ("Hello ", LlmErrorKind::Provider));
    assert!(message.contains("sent an invalid response"), "{message}");
}

#[tokio::test]
async fn b_se_06_silence_in_the_middle_ends_it_and_comments_are_silence() {
    let hang = vec![Act::Send(stream_head()), Act::Send(events_before("thére").into()), Act::Hang];
    let (text, kind, message) = broken_within(hang, SILENCE).await;
    assert_eq!((text.as_str(), kind), ("Hello ", LlmErrorKind::Timeout));
    assert!(message.ends_with("sent nothing for 1000 ms"), "{message}");
    let mut comments = vec![Act::Send(stream_head()), Act::Send(events_before("thére").into())];
    for _ in 0..50 {
        comments.push(Act::Wait(Duration::from_millis(40)));
        comments.push(Act::Send(b": still here\n\n".to_vec()));
    }
    let (_, kind, _) = broken_within(comments, SILENCE).await;
    assert_eq!(kind, LlmErrorKind::Timeout);
}

#[tokio::test]
async fn b_se_02_an_event_that_is_too_large_ends_it() {
    let mut large = vec![Act::Send(stream_head()), Act::Send(events_before("thére").into())];
    let mut event = b"data: ".to_vec();
    event.resize((16 << 20) + 7, b'x');
    event.extend_from_slice(b"\n\n");
    large.extend([Act::Send(event), Act::Hang]);
    let (text, kind, message) = expect_break(large).await;
    assert_eq!((text.as_str(), kind), ("Hello ", LlmErrorKind::Provider));
    assert!(message.contains("an event is larger than 16777216 bytes"), "{message}");
}

#[tokio::test]
async fn b_se_01_a_line_without_an_end_takes_no_memory_and_no_time() {
    let mut acts = vec![Act::Send(stream_head()), Act::Send(events_before("thére").into())];
    acts.extend([Act::Send(vec![b'x'; 20 << 20]), Act::Hang]);
    let (text, kind, message) = expect_break(acts).await;
    assert_eq!((text.as_str(), kind), ("Hello ", LlmErrorKind::Provider));
    assert!(message.contains("an event is larger than 16777216 bytes"), "{message}");
}

#[tokio::test]
async fn a_stream_without_an_end_is_given_up_at_a_limit() {
    let mut acts = vec![Act::Send(stream_head()), Act::Send(events_before("thére").into())];
    let mut piece = b": ".to_vec();
    piece.resize((1 << 20) - 2, b'x');
    piece.extend_from_slice(b"\n\n");
    acts.extend(std::iter::repeat_n(Act::Send(piece), 64));
    acts.push(Act::Hang);
    let (text, kind, message) = expect_break(acts).await;
    assert_eq!((text.as_str(), kind), ("Hello ", LlmErrorKind::Provider));
    assert!(message.contains("the answer is larger than 67108864 bytes"), "{message}");
}

#[tokio::test]
async fn trouble_before_the_first_word_is_worth_another_attempt() {
    let start = events_before("content_block_start");
    let error =
        refusal_of(stream(format!("{start}event: error\ndata: {OVERLOADED}\n\n").as_bytes()));
    let error = error.await;
    assert_eq!(
        (error.failure.kind, error.again),
        (LlmErrorKind::Overloaded, RetryTarget::SameModel { after: None })
    );
    let error = refusal_of(stream(start.as_bytes())).await;
    assert_eq!(
        (error.failure.kind, error.again),
        (LlmErrorKind::Provider, RetryTarget::SameModel { after: None })
    );
    let error = refusal_of(stream(b"")).await;
    assert_eq!(error.again, RetryTarget::SameModel { after: None });
    let error = refusal_of(json(429, TOO_OFTEN)).await;
    assert_eq!(error.failure.kind, LlmErrorKind::RateLimited);
    for acts in [
        vec![Act::Hang],
        vec![Act::Send(stream_head()), Act::Hang],
        vec![Act::Send(stream_head()), Act::Send(start.into()), Act::Hang],
    ] {
        let error = refused_within(acts, SHORT).await;
        assert_eq!(
            (error.failure.kind, error.again),
            (LlmErrorKind::Timeout, RetryTarget::OtherModel)
        );
    }
}

#[tokio::test]
async fn b_se_09_what_is_no_stream_is_named() {
    for (head, says) in [
        (
            response(200, &[("content-type", "text/html")], "<html>"),
            "`text/html` instead of events",
        ),
        (response(200, &[("content-type", "application/json")], "{}"), "instead of events"),
        (response(206, &[("content-type", "text/event-stream")], EVENTS), "HTTP 206"),
        (response(302, &[("location", "/x")], ""), "sent a redirect"),
        (
            response(
                200,
                &[("content-type", "text/event-stream"), ("content-encoding", "br")],
                EVENTS,
            ),
            "encoded as `br`",
        ),
    ] {
        let error = refusal_of(vec![Act::Send(head)]).await;
        assert!(error.failure.message.contains(says), "{}", error.failure.message);
        assert_eq!(error.again, RetryTarget::OtherModel);
    }
}

#[tokio::test]
async fn whoever_stops_listening_closes_the_connection() {
    let acts = vec![Act::Send(stream_head()), Act::Send(events_before("thére").into()), Act::Hang];
    let fake = Fake::start(vec![acts, encode_chunks(EVENTS)]).await;
    let settings = provider(ProviderKind::Anthropic, fake.address);
    let model = serve_one(ProviderSettings { concurrent: 1, ..settings });
    let mut answering = model.stream(&request("hello")).await.unwrap();
    answering.next().await.unwrap().unwrap();
    drop(answering);
    // Its slot is free again, and nobody reads the rest of the first answer.
    let answering = model.stream(&request("hello")).await.unwrap();
    assert_eq!(read_stream(answering).await.unwrap().text(), "Hello thére");
    assert_eq!(fake.requests_seen()[1].connection, 1);
}

#[tokio::test]
async fn nothing_is_lost_by_whoever_looks_away() {
    let mut acts = vec![Act::Send(stream_head())];
    for piece in EVENTS.as_bytes().chunks(11) {
        acts.extend([Act::Send(piece.to_vec()), Act::Wait(Duration::from_millis(1))]);
    }
    let fake = Fake::start(vec![acts]).await;
    let mut answering = anthropic(fake.address).stream(&request("hello")).await.unwrap();
    let mut assembly = tollgate_llm::delta::ResponseAssembly::default();
    loop {
        match tokio::time::timeout(Duration::from_micros(300), answering.next()).await {
            Err(_) => {}
            Ok(None) => break,
            Ok(Some(delta)) => assembly.add(&delta.unwrap()),
        }
    }
    assert_eq!(assembly.finish().unwrap().text(), "Hello thére");
}
