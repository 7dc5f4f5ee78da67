//! Callers that can be asked have legacy sessions of their own, by what they declared.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tollgate_core::json::{Object, raw};
use tollgate_mcp::client::{Answer, McpConnection, OutgoingRequest, RequestError};
use tollgate_mcp::meta::ClientFacts;

use crate::http_server::Server;
use crate::support::initialized;

/// Opens sessions `s-1`, `s-2`, …, those that declare sampling not before there is a permit.
async fn server() -> (Server, Arc<Semaphore>) {
    let opened = Arc::new(AtomicUsize::new(0));
    let permits = Arc::new(Semaphore::new(0));
    let leave = Arc::clone(&permits);
    let server = Server::start(move |seen, reply| {
        let opened = Arc::clone(&opened);
        let leave = Arc::clone(&leave);
        async move {
            match (seen.method(), seen.verb.as_str()) {
                ("server/discover", _) => reply.respond(400, "", b"").await,
                ("initialize", _) => {
                    if seen.body["params"]["capabilities"].get("sampling").is_some() {
                        drop(leave.acquire().await.unwrap());
                    }
                    let number = opened.fetch_add(1, Ordering::Relaxed) + 1;
                    let headers = format!("mcp-session-id: s-{number}\r\n");
                    let body = seen.result(&initialized("2025-11-25")).to_string();
                    reply.respond(200, &headers, body.as_bytes()).await
                }
                ("tools/call", _) => reply.json(200, &seen.result(&json!({}))).await,
                (_, "GET") => reply.respond(405, "", b"").await,
                _ => reply.respond(202, "", b"").await,
            }
        }
    });
    (server.await, permits)
}

async fn call(connection: &dyn McpConnection, capability: &str) -> Result<Answer, RequestError> {
    let capabilities = Some(raw(json!({capability: {}}).to_string()));
    let client = ClientFacts { capabilities, ..ClientFacts::default() };
    connection.request(OutgoingRequest::plain("tools/call", Object::new(), &client)).await
}

#[tokio::test]
async fn callers_with_an_open_session_do_not_wait_for_one_that_opens() {
    let (server, permits) = server().await;
    let (connection, _) = server.connect().await;
    call(&*connection, "elicitation").await.unwrap();
    let quick = async {
        server.wait_for_many("initialize", 3).await;
        for _ in 0..3 {
            call(&*connection, "elicitation").await.unwrap();
        }
        permits.add_permits(1);
    };
    // Sooner than the other session is given up.
    let quick = timeout(Duration::from_secs(8), quick);
    let (first, second, quick) =
        tokio::join!(call(&*connection, "sampling"), call(&*connection, "sampling"), quick);
    assert!(quick.is_ok(), "they waited");
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(server.seen("initialize").len(), 3, "those who declare the same share a session");
    connection.close().await;
    let mut ended: Vec<_> = server.seen("DELETE");
    ended.sort_by_key(|seen| seen.header("mcp-session-id").map(str::to_owned));
    let ended: Vec<_> = ended.iter().filter_map(|seen| seen.header("mcp-session-id")).collect();
    assert_eq!(ended, ["s-1", "s-2", "s-3"]);
    assert!(call(&*connection, "elicitation").await.is_err(), "nothing is opened after the end");
}

#[tokio::test]
async fn a_session_whose_caller_went_away_is_ended() {
    let (server, permits) = server().await;
    let (connection, _) = server.connect().await;
    tokio::select! {
        _ = call(&*connection, "sampling") => panic!("it has no session yet"),
        _ = server.wait_for_many("initialize", 2) => {}
    }
    permits.add_permits(1);
    let ended = server.wait_for("DELETE").await;
    assert_eq!(ended.header("mcp-session-id"), Some("s-2"));
    call(&*connection, "sampling").await.unwrap();
    assert_eq!(server.seen("tools/call")[0].header("mcp-session-id"), Some("s-3"));
}

#[tokio::test]
async fn closing_ends_a_session_that_is_just_being_opened() {
    let (server, permits) = server().await;
    let (connection, _) = server.connect().await;
    let close = async {
        server.wait_for_many("initialize", 2).await;
        // It is opened while its end has begun already.
        tokio::join!(connection.close(), async { permits.add_permits(1) });
    };
    let (outcome, ()) = tokio::join!(call(&*connection, "sampling"), close);
    assert!(outcome.is_err());
    assert_eq!(server.seen("DELETE").len(), 2);
}
