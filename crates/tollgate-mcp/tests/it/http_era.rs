//! Which era a server behind a URL is taken for.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_mcp::Revision;
use tollgate_mcp::client::{ConnectError, ConnectOptions, HttpTarget, HttpTransport, connect_http};

use crate::http_server::{Reply, Seen, Server};
use crate::support::{discovered, echo, initialized, shown};

/// The revision agreed on with a server that reacts to the probe like this, and then is legacy.
async fn agreed<F, Fut>(probed: F) -> String
where
    F: Fn(Seen, Reply) -> Fut + Send + Sync + Clone + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    let server = Server::start(move |seen, reply| {
        let probed = probed.clone();
        async move {
            match seen.method() {
                "server/discover" => probed(seen, reply).await,
                "initialize" => {
                    let body = seen.result(&initialized("2025-06-18"));
                    reply.json(200, &body).await
                }
                _ => reply.respond(202, "", b"").await,
            }
        }
    });
    match server.await.try_connect().await {
        Ok(connection) => connection.facts().revision.to_string(),
        Err(ConnectError::Unreachable(_)) => "unreachable".to_owned(),
        Err(ConnectError::Protocol(_)) => "protocol".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn whatever_is_no_modern_answer_means_legacy() {
    let json = "content-type: application/json\r\n";
    for (status, headers, body) in [
        (400, "", &b"Missing session ID"[..]),
        (400, "", b""),
        (404, "", b""),
        (405, "", b""),
        (406, "", b""),
        (415, json, b"{\"error\":\"no\"}"),
        (200, json, b"{}"),
        (200, "content-type: text/html\r\n", b"<html>"),
        (202, "", b""),
    ] {
        let revision =
            agreed(move |_, reply| async move { reply.respond(status, headers, body).await });
        assert_eq!(revision.await, "2025-06-18", "{status} {body:?}");
    }
    for (status, code) in
        [(200, -32601), (400, -32000), (400, -32600), (404, -32601), (200, -32603)]
    {
        let revision = agreed(move |seen, reply| async move {
            reply.json(status, &seen.error(code, &Value::Null)).await
        });
        assert_eq!(revision.await, "2025-06-18", "{status} {code}");
    }
    let ended = agreed(|_, reply| async move { reply.stream().await.end().await });
    assert_eq!(ended.await, "2025-06-18");
}

#[tokio::test]
async fn outages_and_redirects_say_nothing_about_the_era() {
    for status in [429, 500, 502, 503, 504] {
        let outage = agreed(move |_, reply| async move { reply.respond(status, "", b"").await });
        assert_eq!(outage.await, "unreachable", "{status}");
    }
    let redirect =
        agreed(|_, reply| async move { reply.respond(302, "location: /login\r\n", b"").await });
    assert_eq!(redirect.await, "protocol");
    assert_eq!(agreed(|_, reply| async move { reply.hang_up() }).await, "unreachable");
}

#[tokio::test]
async fn modern_errors_keep_the_server_modern() {
    let unknown = agreed(|seen, reply| async move {
        reply.json(400, &seen.error(-32022, &json!({"supported": ["2031-01-01"]}))).await
    });
    assert_eq!(unknown.await, "protocol");
    let headers =
        agreed(
            |seen, reply| async move { reply.json(400, &seen.error(-32020, &Value::Null)).await },
        );
    assert_eq!(headers.await, "protocol");
    let capabilities = agreed(|seen, reply| async move {
        let meta = &seen.body["params"]["_meta"];
        if meta["io.modelcontextprotocol/clientCapabilities"] == json!({}) {
            return reply.json(400, &seen.error(-32021, &Value::Null)).await;
        }
        reply.json(200, &seen.result(&discovered())).await
    });
    assert_eq!(capabilities.await, "2026-07-28");
    let stream = agreed(|seen, reply| async move {
        reply.stream().await.event(&seen.result(&discovered())).await.end().await
    });
    assert_eq!(stream.await, "2026-07-28");
}

#[tokio::test]
async fn a_server_that_keeps_silent_is_unreachable_in_time() {
    let server = Server::start(|_, reply| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        reply
    });
    let server = server.await;
    let options = ConnectOptions {
        handshake_timeout: Duration::from_millis(200),
        ..ConnectOptions::default()
    };
    let recorder = std::sync::Arc::new(crate::support::Recorder::default());
    let connected = connect_http(server.target(), recorder, &options).await;
    assert!(matches!(connected.err(), Some(ConnectError::Unreachable(_))));
}

#[tokio::test]
async fn pins_skip_the_other_era() {
    let server = Server::legacy(|_, reply| async move { reply.respond(202, "", b"").await }).await;
    let options =
        ConnectOptions { pinned: Some(Revision::V2025_11_25), ..ConnectOptions::default() };
    let (connection, _) = server.connect_with(&options).await;
    assert_eq!(connection.facts().revision, Revision::V2025_11_25);
    assert!(server.seen("server/discover").is_empty());
    let options =
        ConnectOptions { pinned: Some(Revision::V2026_07_28), ..ConnectOptions::default() };
    let recorder = std::sync::Arc::new(crate::support::Recorder::default());
    let connected = connect_http(server.target(), recorder, &options).await;
    assert!(matches!(connected.err(), Some(ConnectError::Protocol(_))));
    assert_eq!(server.seen("initialize").len(), 1);
}

/// HTTP+SSE on one path: GET opens the stream; POSTs elsewhere are answered on it.
async fn http_sse(endpoint: &'static str) -> Server {
    let (answers, _) = tokio::sync::broadcast::channel::<Value>(4096);
    Server::start(move |seen, mut reply| {
        let answers = answers.clone();
        async move {
            match (seen.verb.as_str(), seen.path.as_str()) {
                ("GET", "/mcp") => {
                    let mut answers = answers.subscribe();
                    reply = reply.stream().await;
                    reply = reply.chunk(&format!("event: endpoint\ndata: {endpoint}\n\n")).await;
                    while let Ok(answer) = answers.recv().await {
                        reply = reply.event(&answer).await;
                        if answer == json!("end") {
                            return reply.hang_up();
                        }
                    }
                    reply
                }
                ("POST", "/messages?s=1") => {
                    let result = match seen.method() {
                        "initialize" => initialized("2024-11-05"),
                        "tools/call" => json!({"said": seen.body["params"]["arguments"]["text"]}),
                        _ => return reply.respond(202, "", b"").await,
                    };
                    if seen.body["params"]["arguments"]["text"] == "end" {
                        let _ = answers.send(json!("end"));
                    } else if seen.body["params"]["arguments"]["text"] != "silence" {
                        let _ = answers.send(seen.result(&result));
                    }
                    reply.respond(202, "", b"Accepted").await
                }
                _ => reply.respond(405, "", b"").await,
            }
        }
    })
    .await
}

#[tokio::test]
async fn http_sse_is_the_last_resort() {
    let server = http_sse("/messages?s=1").await;
    let (connection, recorder) = server.connect().await;
    assert_eq!(connection.facts().revision, Revision::V2024_11_05);
    let answer = shown(&echo(&*connection, "a", None).await);
    assert_eq!(answer, r#"Complete {"said":"a"}"#);
    server.give_up(echo(&*connection, "silence", None), 2).await;
    let call = server.seen("tools/call").pop().unwrap();
    let cancelled = server.wait_for("notifications/cancelled").await;
    assert_eq!(cancelled.body["params"]["requestId"], call.body["id"]);
    let lost = shown(&echo(&*connection, "end", None).await);
    assert_eq!(lost, "the server's event stream ended");
    recorder.wait_for("closed").await;
}

/// All answers come on one stream; each reaches the caller whose it is, or nobody.
#[tokio::test]
async fn s_13_answers_on_one_event_stream_never_reach_another_caller() {
    let server = http_sse("/messages?s=1").await;
    let (connection, _) = server.connect().await;
    let one = |caller: u64| {
        let connection = &connection;
        async move {
            let mut answered = 0;
            for call in 0..10_u64 {
                let text = format!("caller {caller} call {call}");
                let asked = echo(&**connection, &text, None);
                // Every fourth gives up at some time, mostly too early.
                if (caller + call).is_multiple_of(4) {
                    let patience = Duration::from_millis((caller * 31 + call * 17) % 40);
                    let _ = tokio::time::timeout(patience, asked).await;
                    continue;
                }
                assert_eq!(shown(&asked.await), format!(r#"Complete {{"said":"{text}"}}"#));
                answered += 1;
            }
            answered
        }
    };
    let answered: usize = futures_util::future::join_all((0..100).map(one)).await.iter().sum();
    assert!(answered >= 700, "{answered}");
}

#[tokio::test]
async fn an_answer_too_large_for_http_sse_is_told_at_once() {
    let server = http_sse("/messages?s=1").await;
    let options = ConnectOptions { message_limit: 16 << 10, ..ConnectOptions::default() };
    let (connection, _) = server.connect_with(&options).await;
    let large = shown(&echo(&*connection, &"x".repeat(20_000), None).await);
    assert_eq!(large, "the answer is larger than 16384 bytes");
    assert!(echo(&*connection, "a", None).await.is_ok());
}

#[tokio::test]
async fn http_sse_may_be_asked_for() {
    let server = http_sse("/messages?s=1").await;
    let target = HttpTarget { transport: HttpTransport::Sse, ..server.target() };
    let recorder = std::sync::Arc::new(crate::support::Recorder::default());
    let connection = connect_http(target, recorder, &ConnectOptions::default()).await.unwrap();
    assert!(echo(&*connection, "a", None).await.is_ok());
    assert!(server.seen("server/discover").is_empty());
}

#[tokio::test]
async fn an_endpoint_on_another_origin_is_refused() {
    for endpoint in ["http://127.0.0.1:1/messages?s=1", "//127.0.0.1:1/x", "https://127.0.0.1/x"] {
        let server = http_sse(endpoint).await;
        let connected = server.try_connect().await.err();
        assert!(matches!(connected, Some(ConnectError::Protocol(_))), "{connected:?}");
    }
}

#[tokio::test]
async fn where_nothing_is_spoken_the_error_says_so() {
    let server = Server::start(|_, reply| async move { reply.respond(404, "", b"").await }).await;
    let Err(ConnectError::Protocol(reason)) = server.try_connect().await else {
        panic!("connected")
    };
    assert_eq!(reason, "there is no MCP server at this URL: the server answered HTTP 404");
}
