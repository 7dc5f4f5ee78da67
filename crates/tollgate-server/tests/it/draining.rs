//! R-33: graceful shutdown in steps: readiness first, then new requests, then running calls.

use std::time::Duration;

use serde_json::json;
use tokio::net::TcpStream;
use tollgate_server::Limits;
use tollgate_testkit::ws::RawWebSocketMessage;

use crate::client::Reply;
use crate::live_gateway::{Ends, Living, Speaks, text};
use crate::live_sessions::Theatre;
use crate::stage::{Setup, Stage};

async fn stage(grace: Duration, drain: Duration) -> Stage {
    let limits = Limits { grace, drain, ..Limits::default() };
    Stage::with(Setup { limits, ..Setup::default() }).await
}

async fn list(stage: &Stage) -> Reply {
    stage.modern("tools/list", json!({})).send().await
}

async fn is_stopping(stage: &Stage) -> bool {
    let ready = stage.request("GET", "/readyz").send().await;
    ready.status == 503 && ready.json()["state"] == "stopping"
}

#[tokio::test]
async fn r_33_readiness_ends_first_then_new_work_and_running_calls_last() {
    let mut stage = stage(Duration::from_secs(3), Duration::from_secs(60)).await;
    assert_eq!(stage.request("GET", "/readyz").send().await.status, 200);
    assert_eq!(list(&stage).await.header("connection"), None);
    let wait = json!({"name": "wait", "arguments": {"ms": 9_000}});
    let call = stage.modern("tools/call", wait).send();
    let steps = async {
        stage.call_tool(1).await;
        stage.stop.cancel();
        while !is_stopping(&stage).await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let answered = list(&stage).await;
        assert_eq!(answered.status, 200, "it still answers: {answered:?}");
        assert_eq!(answered.header("connection").as_deref(), Some("close"));
        let refused = loop {
            let reply = list(&stage).await;
            if reply.status != 200 {
                break reply;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        assert_eq!(refused.status, 503, "{refused:?}");
        assert_eq!(refused.header("connection").as_deref(), Some("close"));
        assert!(refused.header("retry-after").is_some());
        assert!(refused.text.contains("shutting down"), "{refused:?}");
        assert_eq!(stage.request("GET", "/healthz").send().await.status, 200, "it lives");
        assert!(is_stopping(&stage).await);
    };
    let (reply, ()) = tokio::join!(call, steps);
    assert_eq!(reply.brief(), "200 ok", "what ran has ended");
    let ended = tokio::time::timeout(Duration::from_secs(30), stage.serving.wait()).await;
    assert!(ended.is_ok(), "nothing holds it up");
    assert!(TcpStream::connect(stage.address).await.is_err(), "nobody listens");
}

#[tokio::test]
async fn r_33_what_does_not_end_is_cut_and_answered_and_the_end_comes_in_time() {
    let mut stage = stage(Duration::ZERO, Duration::from_millis(300)).await;
    let wait = json!({"name": "wait", "arguments": {"ms": 600_000}});
    let call = stage.modern("tools/call", wait).send();
    let stop = async {
        stage.call_tool(1).await;
        stage.stop.cancel();
    };
    let (reply, ()) = tokio::join!(call, stop);
    assert_eq!(reply.status, 503, "it has an answer: {reply:?}");
    assert!(reply.header("retry-after").is_some(), "{reply:?}");
    assert!(reply.text.contains("shutting down"), "{reply:?}");
    stage.reaches(&stage.seen.cancelled, 1).await;
    let ended = tokio::time::timeout(Duration::from_secs(20), stage.serving.wait()).await;
    assert!(ended.is_ok());
}

#[tokio::test]
async fn r_33_grace_can_be_skipped() {
    let mut stage = stage(Duration::from_secs(600), Duration::from_secs(5)).await;
    stage.front.skip_grace();
    stage.stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(20), stage.serving.wait()).await;
    assert!(ended.is_ok());
}

#[tokio::test]
async fn r_33_a_live_turn_ends_before_its_session_does_and_no_other_begins() {
    let limits = Limits { grace: Duration::ZERO, ..Limits::default() };
    let theatre = Theatre::open(Setup { limits, ..Setup::default() }).await;
    let (mut talking, mut provider) = theatre.session(&[]).await;
    let (mut silent, _other) = theatre.session(&[]).await;
    let of = |status: &str| json!({"id": "r", "status": status, "output": []});
    provider.say(json!({"type": "response.created", "response": of("in_progress")})).await;
    talking.await_event("response.created").await;
    theatre.stage.stop.cancel();
    let gone = RawWebSocketMessage::Close(1001, "the gateway stops".to_owned());
    assert_eq!(silent.end().await, gone, "nothing was said there");
    // Long after the other one ended, words still pass.
    tokio::time::sleep(Duration::from_millis(300)).await;
    provider.say(json!({"type": "response.output_audio.delta", "delta": "AAAA"})).await;
    talking.await_event("response.output_audio.delta").await;
    provider.say(json!({"type": "response.done", "response": of("completed")})).await;
    talking.await_event("response.done").await;
    assert_eq!(talking.end().await, gone);
    assert!(matches!(provider.end().await, RawWebSocketMessage::Close(1001, _)));
}

#[tokio::test]
async fn r_33_a_live_turn_that_does_not_end_is_told_before_it_is_cut() {
    let limits =
        Limits { grace: Duration::ZERO, drain: Duration::from_millis(300), ..Limits::default() };
    let theatre = Theatre::open(Setup { limits, ..Setup::default() }).await;
    let (mut client, mut provider) = theatre.session(&[]).await;
    let response = json!({"id": "r", "status": "in_progress", "output": []});
    provider.say(json!({"type": "response.created", "response": response})).await;
    client.await_event("response.created").await;
    theatre.stage.stop.cancel();
    assert!(matches!(client.end().await, RawWebSocketMessage::Close(1001, _)));
}

#[tokio::test]
async fn r_33_no_live_session_begins_once_the_end_has_begun() {
    let limits = Limits { grace: Duration::from_secs(600), ..Limits::default() };
    let theatre = Theatre::open(Setup { limits, ..Setup::default() }).await;
    theatre.stage.stop.cancel();
    while !is_stopping(&theatre.stage).await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let refused = theatre.dial(&[]).await.expect_err("it is refused");
    assert_eq!(refused.status, 503);
}

#[tokio::test]
async fn r_33_a_gemini_client_is_told_how_long_it_has_before_its_session_ends() {
    let limits = Limits { grace: Duration::ZERO, ..Limits::default() };
    let living = Living::with(Setup { limits, ..Setup::default() }).await;
    let Ends { mut client, provider: _provider } = living.open(Speaks::Gemini).await;
    living.stage.stop.cancel();
    let left: serde_json::Value = serde_json::from_str(&text(&mut client).await).unwrap();
    assert_eq!(left["goAway"]["timeLeft"], "30s");
    let end = tokio::time::timeout(Duration::from_secs(20), client.message()).await;
    let gone = RawWebSocketMessage::Close(1001, "the gateway stops".to_owned());
    assert_eq!(end.expect("it ends"), gone);
}
