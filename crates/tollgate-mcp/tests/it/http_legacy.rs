//! Streamable HTTP of the legacy era: sessions, questions, cancels, streams taken up again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tollgate_core::json::raw;
use tollgate_mcp::client::Event;

use crate::http_server::{Seen, Server};
use crate::support::{echo, initialized, shown};

fn fine(seen: &Seen) -> Value {
    seen.result(&json!({"said": seen.body["params"]["arguments"]["text"]}))
}

const FINE: &str = r#"Complete {"said":"a"}"#;

#[tokio::test]
async fn the_session_is_kept_sent_back_and_closed() {
    let server = Server::legacy(|seen, reply| async move {
        match seen.verb.as_str() {
            "DELETE" => reply.respond(204, "", b"").await,
            _ => reply.json(200, &fine(&seen)).await,
        }
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    assert_eq!(shown(&echo(&*connection, "a", None).await), FINE);
    assert_eq!(server.seen("initialize")[0].header("mcp-session-id"), None);
    for method in ["notifications/initialized", "tools/call"] {
        let seen = &server.seen(method)[0];
        assert_eq!(seen.header("mcp-session-id"), Some("s-1"), "{method}");
        assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"), "{method}");
        assert_eq!(seen.header("mcp-method"), None);
    }
    connection.close().await;
    assert_eq!(server.seen("DELETE")[0].header("mcp-session-id"), Some("s-1"));
    assert!(echo(&*connection, "a", None).await.is_err());
}

/// Opens sessions `s-1`, `s-2`, …; only the newest counts, and `lose` makes it forget that too.
async fn forgetful(status: u16, lose: Arc<AtomicUsize>) -> Server {
    let opened = Arc::new(AtomicUsize::new(0));
    Server::start(move |seen, reply| {
        let opened = Arc::clone(&opened);
        let lose = Arc::clone(&lose);
        async move {
            if seen.method() == "server/discover" {
                return reply.respond(400, "", b"").await;
            }
            if seen.method() == "initialize" {
                let number = opened.fetch_add(1, Ordering::Relaxed) + 1;
                let body = seen.result(&initialized("2025-11-25")).to_string();
                let headers = format!("mcp-session-id: s-{number}\r\n");
                return reply.respond(200, &headers, body.as_bytes()).await;
            }
            if seen.method().starts_with("notifications/") {
                return reply.respond(202, "", b"").await;
            }
            let current = format!("s-{}", opened.load(Ordering::Relaxed));
            if lose.load(Ordering::Relaxed) > 0 || seen.header("mcp-session-id") != Some(&current) {
                lose.fetch_sub(1, Ordering::Relaxed);
                return reply.json(status, &seen.error(-32000, &Value::Null)).await;
            }
            reply.json(200, &fine(&seen)).await
        }
    })
    .await
}

#[tokio::test]
async fn a_lost_session_is_opened_again_once_and_the_call_repeated() {
    for status in [404, 400] {
        let lose = Arc::new(AtomicUsize::new(0));
        let server = forgetful(status, Arc::clone(&lose)).await;
        let (connection, recorder) = server.connect().await;
        lose.store(1, Ordering::Relaxed);
        assert_eq!(shown(&echo(&*connection, "a", None).await), FINE, "{status}");
        assert_eq!(server.seen("initialize").len(), 2);
        assert_eq!(server.seen("tools/call")[1].header("mcp-session-id"), Some("s-2"));
        assert_eq!(recorder.count("notifications/tools/list_changed"), 1, "lists may have changed");
        lose.store(2, Ordering::Relaxed);
        assert_eq!(shown(&echo(&*connection, "a", None).await), "no session, sorry (-32000)");
        assert_eq!(server.seen("initialize").len(), 3);
    }
}

#[tokio::test]
async fn many_calls_on_a_lost_session_open_one_new_one() {
    let lose = Arc::new(AtomicUsize::new(0));
    let server = Server::legacy({
        let lose = Arc::clone(&lose);
        move |seen, reply| {
            let is_old = lose.load(Ordering::Relaxed) < 10;
            lose.fetch_add(1, Ordering::Relaxed);
            async move {
                if is_old {
                    sleep(Duration::from_millis(50)).await;
                    return reply.respond(404, "", b"").await;
                }
                reply.json(200, &fine(&seen)).await
            }
        }
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    let calls = (0..10).map(|_| echo(&*connection, "a", None));
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(shown(&outcome), FINE);
    }
    assert_eq!(server.seen("initialize").len(), 2);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_by_a_message() {
    let server = Server::legacy(|seen, reply| async move {
        if seen.method() == "tools/call" {
            sleep(Duration::from_secs(10)).await;
        }
        reply.respond(202, "", b"").await
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    server.give_up(echo(&*connection, "a", None), 1).await;
    let cancelled = server.wait_for("notifications/cancelled").await;
    assert_eq!(cancelled.body["params"]["requestId"], server.seen("tools/call")[0].body["id"]);
    assert_eq!(cancelled.header("mcp-session-id"), Some("s-1"));
}

#[tokio::test]
async fn questions_on_the_stream_of_a_call_are_its_own() {
    let (answered, answers) = async_channel();
    let answers = Arc::new(tokio::sync::Mutex::new(answers));
    let server = Server::legacy(move |seen, reply| {
        let answered = answered.clone();
        let answers = Arc::clone(&answers);
        async move {
            if seen.method() != "tools/call" {
                let _ = answered.send(seen.body.clone()).await;
                return reply.respond(202, "", b"").await;
            }
            if seen.body["params"]["arguments"]["text"] != "a" {
                sleep(Duration::from_millis(500)).await;
                return reply.json(200, &fine(&seen)).await;
            }
            let question =
                json!({"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": {}});
            let reply = reply.stream().await.event(&question).await;
            let answer = answers.lock().await.recv().await.unwrap();
            assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 5, "result": {"action": "accept"}}));
            reply.event(&fine(&seen)).await.end().await
        }
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    let (events, mut receiver) = mpsc::channel(4);
    let (other_events, mut other_heard) = mpsc::channel(4);
    let answer = async {
        let Some(Event::Question(question)) = receiver.recv().await else { panic!("no question") };
        question.reply.send(Ok(raw(r#"{"action":"accept"}"#.to_owned()))).unwrap();
    };
    let (outcome, other, ()) = tokio::join!(
        echo(&*connection, "a", Some(events)),
        echo(&*connection, "b", Some(other_events)),
        answer
    );
    assert_eq!(shown(&outcome), FINE);
    assert!(other.is_ok());
    assert!(other_heard.recv().await.is_none());
}

fn async_channel() -> (mpsc::Sender<Value>, mpsc::Receiver<Value>) {
    mpsc::channel(8)
}

#[tokio::test]
async fn sse_retry_a_closed_stream_is_taken_up_where_it_ended() {
    let id = Arc::new(parking_lot::Mutex::new(Value::Null));
    let server = Server::legacy(move |seen, reply| {
        let id = Arc::clone(&id);
        async move {
            if seen.verb == "POST" {
                *id.lock() = seen.body["id"].clone();
                let priming = "id: e-1\nretry: 150\ndata: \n\n";
                return reply.stream().await.chunk(priming).await.end().await;
            }
            let result = json!({"jsonrpc": "2.0", "id": *id.lock(), "result": {"said": "a"}});
            match seen.header("last-event-id") {
                Some("e-1") => reply.stream().await.chunk("id: e-2\ndata:\n\n").await.end().await,
                Some("e-2") => reply.stream().await.event(&result).await.end().await,
                _ => reply.respond(405, "", b"").await,
            }
        }
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    let quick = timeout(Duration::from_millis(140), echo(&*connection, "a", None)).await;
    assert!(quick.is_err(), "`retry` is honoured");
    assert_eq!(shown(&echo(&*connection, "a", None).await), FINE);
    assert_eq!(server.seen("GET")[0].header("mcp-session-id"), Some("s-1"));
    assert_eq!(server.seen("GET")[0].header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn a_stream_that_cannot_be_taken_up_is_lost() {
    let server = Server::legacy(|_, reply| async move { reply.stream().await.end().await }).await;
    let (connection, _) = server.connect().await;
    let lost = shown(&echo(&*connection, "a", None).await);
    assert_eq!(lost, "the server's stream ended without an answer");
    let server = Server::legacy(|_, reply| async move {
        reply.stream().await.chunk("id: e\nretry: 1\n\n").await.end().await
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    let lost = timeout(Duration::from_secs(5), echo(&*connection, "a", None)).await.unwrap();
    assert_eq!(shown(&lost), "the server's stream ended without an answer");
    assert!(server.seen("GET").len() <= 6);
}
