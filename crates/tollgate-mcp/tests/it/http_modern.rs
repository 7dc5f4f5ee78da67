//! Streamable HTTP of the modern era, against servers good and bad.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderName, HeaderValue, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tollgate_mcp::client::{
    ConnectError, ConnectOptions, Credentials, CredentialsError, Event, RequestError,
};

use crate::http_server::{Reply, Seen, Server};
use crate::support::{echo, shown};

fn fine(seen: &Seen) -> Value {
    seen.result(
        &json!({"resultType": "complete", "said": seen.body["params"]["arguments"]["text"]}),
    )
}

const FINE: &str = r#"Complete {"resultType":"complete","said":"a"}"#;

/// What a call comes to on a server that answers it like this.
async fn outcome<F, Fut>(handler: F) -> String
where
    F: Fn(Seen, Reply) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    let server = Server::modern(handler).await;
    let options = ConnectOptions { message_limit: 64 << 10, ..ConnectOptions::default() };
    let (connection, _) = server.connect_with(&options).await;
    let outcome = timeout(Duration::from_secs(10), echo(&*connection, "a", None)).await;
    shown(&outcome.expect("a call hangs"))
}

#[tokio::test]
async fn a_call_carries_its_headers_and_its_answer_comes_back() {
    let server = Server::modern(|seen, reply| async move { reply.json(200, &fine(&seen)).await });
    let server = server.await;
    let (connection, _) = server.connect().await;
    let answer = echo(&*connection, "grün", None).await;
    assert!(shown(&answer).contains("grün"));
    let call = &server.seen("tools/call")[0];
    for (name, value) in [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
        ("mcp-param-text", "=?base64?Z3LDvG4=?="),
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(call.header(name), Some(value), "{name}");
    }
    assert_eq!(call.header("mcp-session-id"), None);
    let meta = &call.body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!((call.verb.as_str(), call.path.as_str()), ("POST", "/mcp"));
}

#[tokio::test]
async fn progress_and_logs_on_the_stream_reach_their_request() {
    let server = Server::modern(|seen, reply| async move {
        let token = &seen.body["params"]["_meta"]["progressToken"];
        let progress = json!({"progressToken": token, "progress": 1});
        let other = json!({"progressToken": 99, "progress": 2});
        let note = |method: &str, params: &Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
        let reply = reply.stream().await.chunk(": hello\n\n").await;
        let reply = reply.event(&note("notifications/progress", &progress)).await;
        let reply = reply.event(&note("notifications/progress", &other)).await;
        let reply = reply.event(&note("notifications/message", &json!({"data": 1}))).await;
        reply.event(&fine(&seen)).await.end().await
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    let (events, mut receiver) = mpsc::channel(8);
    let answer = echo(&*connection, "a", Some(events)).await;
    assert_eq!(shown(&answer), FINE);
    assert!(
        matches!(receiver.recv().await, Some(Event::Progress(p)) if p.to_text() == r#"{"progress":1}"#)
    );
    assert!(matches!(receiver.recv().await, Some(Event::Log(_))));
    assert!(receiver.recv().await.is_none());
}

#[tokio::test]
async fn connections_are_reused_for_both_kinds_of_answer() {
    let server = Server::modern(|seen, reply| async move {
        if seen.body["params"]["arguments"]["text"] == "json" {
            return reply.json(200, &fine(&seen)).await;
        }
        reply.stream().await.event(&fine(&seen)).await.end().await
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    for text in ["json", "stream", "json", "stream", "stream"] {
        assert!(echo(&*connection, text, None).await.is_ok());
        sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(server.connections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    let closed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&closed);
    let server = Server::modern(move |_, mut reply| {
        let count = Arc::clone(&count);
        async move {
            if reply.read.read_u8().await.is_err() {
                count.fetch_add(1, Ordering::Relaxed);
            }
            reply.hang_up()
        }
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    server.give_up(echo(&*connection, "a", None), 1).await;
    for _ in 0..2000 {
        if closed.load(Ordering::Relaxed) == 1 {
            break;
        }
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(closed.load(Ordering::Relaxed), 1);
    assert!(server.seen("notifications/cancelled").is_empty());
}

#[tokio::test]
async fn refusals_with_a_json_rpc_error_are_passed_on() {
    for status in [200, 400, 404] {
        let refused = outcome(move |seen, reply| async move {
            reply.json(status, &seen.error(-32020, &Value::Null)).await
        });
        assert_eq!(refused.await, "no session, sorry (-32020)", "{status}");
    }
}

#[tokio::test]
async fn r_17_statuses_without_an_answer_are_losses() {
    for (status, expected) in [
        (500, "the server answered HTTP 500"),
        (503, "the server answered HTTP 503"),
        (404, "the server answered HTTP 404"),
        (202, "the server answered HTTP 202"),
        (206, "the server answered HTTP 206"),
    ] {
        let lost =
            outcome(move |_, reply| async move { reply.respond(status, "", b"sorry").await });
        assert_eq!(lost.await, expected);
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_told_from_a_connection_that_broke() {
    for (status, body) in [(500, "sorry"), (503, ""), (200, "hello"), (200, "[]")] {
        let server = Server::modern(move |_, reply| async move {
            reply.respond(status, "content-type: application/json\r\n", body.as_bytes()).await
        });
        let server = server.await;
        let (connection, _) = server.connect().await;
        let outcome = echo(&*connection, "a", None).await;
        assert!(matches!(outcome, Err(RequestError::Unusable(_))), "{status}: {outcome:?}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = Server::modern(|seen, reply| async move {
        match seen.path.as_str() {
            "/mcp" => reply.respond(307, "location: /elsewhere\r\n", b"").await,
            _ => reply.json(200, &fine(&seen)).await,
        }
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    let outcome = shown(&echo(&*connection, "a", None).await);
    assert!(outcome.contains("redirects are not followed"), "{outcome}");
    assert!(server.requests.lock().iter().all(|seen| seen.path == "/mcp"));
}

#[tokio::test]
async fn r_16_a_body_that_drips_is_read_to_its_end() {
    let dripped = outcome(|seen, mut reply| async move {
        let body = fine(&seen).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        for byte in head.into_bytes().into_iter().chain(body.into_bytes()) {
            reply = reply.raw([byte]).await;
        }
        reply
    });
    assert_eq!(dripped.await, FINE);
}

#[tokio::test]
async fn b_se_10_answers_that_break_off_are_lost() {
    let cut = outcome(|seen, reply| async move {
        let body = fine(&seen).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len() + 10);
        reply.raw(head).await.raw(body).await.hang_up()
    });
    assert!(cut.await.contains("was interrupted"));
    let silent = outcome(|_, reply| async move { reply.hang_up() });
    assert!(!silent.await.starts_with("Complete"));
    for end in ["0\r\n\r\n", ""] {
        let cut = outcome(move |_, reply| async move {
            let reply = reply.stream().await.chunk("id: 1\ndata: {\"jsonrpc\"\n").await;
            reply.raw(end).await.hang_up()
        });
        assert_eq!(cut.await, "the server's stream ended without an answer");
    }
}

#[tokio::test]
async fn b_se_08_an_answer_to_another_request_is_not_taken() {
    let wrong = outcome(|_, reply| async move {
        reply.json(200, &json!({"jsonrpc": "2.0", "id": 4711, "result": {}})).await
    });
    assert_eq!(wrong.await, "a response to another request");
    let then_right = outcome(|seen, reply| async move {
        let other = json!({"jsonrpc": "2.0", "id": 4711, "result": {}});
        let reply = reply.stream().await.event(&other).await.event(&fine(&seen)).await;
        reply.event(&other).await.end().await
    });
    assert_eq!(then_right.await, FINE);
}

#[tokio::test]
async fn b_se_04_invalid_utf8_is_survived_or_lost() {
    let json = outcome(|_, reply| async move {
        reply.respond(200, "content-type: application/json\r\n", b"{\"a\":\"\xff\"}").await
    });
    assert!(json.await.contains("invalid UTF-8"));
    let stream = outcome(|seen, reply| async move {
        let reply = reply.stream().await.raw(b"9\r\ndata: \xff\n\n\r\n").await;
        reply.event(&fine(&seen)).await.end().await
    });
    assert_eq!(stream.await, FINE);
}

#[tokio::test]
async fn answers_over_the_limit_are_not_read() {
    let stated = outcome(|_, reply| async move {
        reply.raw("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{").await
    });
    let chunked = outcome(|_, reply| async move {
        let mut reply = reply
            .raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
        for _ in 0..100 {
            reply = reply.chunk(&" ".repeat(1000)).await;
        }
        reply
    });
    let event = outcome(|_, reply| async move {
        let mut reply = reply.stream().await.chunk("data: ").await;
        for _ in 0..100 {
            reply = reply.chunk(&"x".repeat(1000)).await;
        }
        reply.chunk("\n\n").await
    });
    for outcome in [stated.await, chunked.await, event.await] {
        assert_eq!(outcome, "the answer is larger than 65536 bytes");
    }
}

#[tokio::test]
async fn b_se_09_content_types_that_lie_cost_the_answer_at_most() {
    let as_html = outcome(|seen, reply| async move {
        let body = fine(&seen).to_string();
        reply.respond(200, "content-type: text/html\r\n", body.as_bytes()).await
    });
    assert_eq!(as_html.await, FINE, "JSON is JSON, whatever it is called");
    let as_stream = outcome(|seen, reply| async move {
        let body = fine(&seen).to_string();
        reply.respond(200, "content-type: text/event-stream\r\n", body.as_bytes()).await
    });
    assert_eq!(as_stream.await, "the server's stream ended without an answer");
    let as_json = outcome(|seen, reply| async move {
        let body = format!("data: {}\n\n", fine(&seen));
        reply.respond(200, "content-type: application/json\r\n", body.as_bytes()).await
    });
    assert!(as_json.await.starts_with("not a JSON-RPC message"));
    let html = outcome(|_, reply| async move {
        reply.respond(200, "content-type: text/html\r\n", b"<html>").await
    });
    assert!(html.await.starts_with("not a JSON-RPC message"));
}

/// Hands out tokens `t0`, `t1`, …, a new one each time it is refused.
#[derive(Default)]
struct Tokens {
    next: AtomicUsize,
    challenges: Mutex<Vec<String>>,
}

#[async_trait]
impl Credentials for Tokens {
    async fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialsError> {
        let token = format!("Bearer t{}", self.next.load(Ordering::Relaxed));
        Ok(vec![(http::header::AUTHORIZATION, HeaderValue::from_str(&token).unwrap())])
    }

    async fn handle_refusal(&self, status: StatusCode, challenge: Option<&str>) -> bool {
        self.challenges.lock().push(format!("{status} {}", challenge.unwrap_or_default()));
        self.next.fetch_add(1, Ordering::Relaxed);
        true
    }
}

#[tokio::test]
async fn fresh_credentials_are_tried_once() {
    let server = Server::modern(|seen, reply| async move {
        let text = seen.body["params"]["arguments"]["text"].as_str().unwrap_or_default();
        if seen.header("authorization") == Some("Bearer t1") && text != "never" {
            return reply.json(200, &fine(&seen)).await;
        }
        reply.respond(401, "www-authenticate: Bearer scope=\"x\"\r\n", b"").await
    });
    let server = server.await;
    let tokens = Arc::new(Tokens::default());
    let connection = server.connect_as(tokens.clone()).await.unwrap();
    assert_eq!(shown(&echo(&*connection, "a", None).await), FINE);
    assert_eq!(*tokens.challenges.lock(), ["401 Unauthorized Bearer scope=\"x\""]);
    let outcome = echo(&*connection, "never", None).await;
    assert!(matches!(outcome, Err(RequestError::Unauthorized(_))));
    assert_eq!(tokens.challenges.lock().len(), 2, "asked at most once per request");
    assert_eq!(server.seen("tools/call").len(), 4);
}

#[tokio::test]
async fn without_credentials_a_refusal_is_final() {
    for status in [401, 403] {
        let server =
            Server::start(move |_, reply| async move { reply.respond(status, "", b"").await });
        let server = server.await;
        let refused = server.try_connect().await.err();
        assert!(matches!(refused, Some(ConnectError::Unauthorized(_))));
        assert_eq!(server.requests.lock().len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let server = Server::modern(|_, reply| async move { reply }).await;
    let address = server.target();
    drop(server);
    sleep(Duration::from_millis(20)).await;
    let recorder = Arc::new(crate::support::Recorder::default());
    let connected =
        tollgate_mcp::client::connect_http(address, recorder, &ConnectOptions::default()).await;
    assert!(matches!(connected.err(), Some(ConnectError::Unreachable(_))));
}

#[tokio::test]
async fn an_answer_in_many_frames_is_read_whole() {
    for pieces in [1, 2, 3, 4, 7, 40] {
        let said = outcome(move |seen, reply| async move {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
            let mut reply = reply.raw(format!("{head}transfer-encoding: chunked\r\n\r\n")).await;
            let body = fine(&seen).to_string();
            let size = body.len().div_ceil(pieces);
            for piece in body.as_bytes().chunks(size) {
                reply = reply.chunk(std::str::from_utf8(piece).unwrap()).await;
            }
            reply.end().await
        });
        assert_eq!(said.await, FINE, "{pieces}");
    }
}

/// Node and uvicorn close what is idle for five seconds, whoever is about to write there.
#[tokio::test]
async fn a_connection_that_the_server_is_about_to_close_is_not_used() {
    let server = Server::modern(|seen, reply| async move { reply.json(200, &fine(&seen)).await });
    let server = server.await;
    let (connection, _) = server.connect().await;
    let mut connections = Vec::new();
    for idle in [0, 3_000, 4_900] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_millis(idle)).await;
        tokio::time::resume();
        assert_eq!(shown(&echo(&*connection, "a", None).await), FINE);
        connections.push(server.connections.load(Ordering::SeqCst));
    }
    assert_eq!(connections[1], connections[0]);
    assert_eq!(connections[2], connections[0] + 1);
}
