//! Changes of a server keep coming, over each transport and in each era.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tollgate_mcp::client::{McpConnection, RequestError};

use crate::http_server::{Seen, Server};
use crate::support::{Connected, Peer, legacy, modern};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn acknowledged(id: &Value) -> Value {
    note("notifications/subscriptions/acknowledged", id)
}

fn note(method: &str, id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": {SUBSCRIPTION: id}}})
}

async fn accept(peer: &mut Peer) -> Value {
    let listen = peer.expect("subscriptions/listen").await;
    peer.send(&acknowledged(&listen["id"])).await;
    listen
}

#[tokio::test(start_paused = true)]
async fn a_modern_pipe_holds_one_subscription_and_replaces_it_new_first() {
    let Connected { client, mut peer, recorder } = modern().await;
    let (watched, listen) = tokio::join!(client.watch(&[]), accept(&mut peer));
    watched.unwrap();
    assert_eq!(listen["params"]["notifications"], json!({"toolsListChanged": true}));
    peer.send(&note("notifications/tools/list_changed", &listen["id"])).await;
    recorder.wait_for("tools/list_changed").await;
    client.watch(&[]).await.unwrap();

    let uris = ["b".to_owned(), "a".to_owned()];
    let (watched, second) = tokio::join!(client.watch(&uris), accept(&mut peer));
    watched.unwrap();
    let requested = json!({"toolsListChanged": true, "resourceSubscriptions": ["a", "b"]});
    assert_eq!(second["params"]["notifications"], requested);
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], listen["id"]);
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_ends_is_opened_again_and_what_was_missed_announced() {
    let Connected { client, mut peer, recorder } = modern().await;
    let (watched, listen) = tokio::join!(client.watch(&[]), accept(&mut peer));
    watched.unwrap();
    peer.answer(&listen, &json!({"resultType": "complete"})).await;
    let listen = accept(&mut peer).await;
    recorder.wait_for("tools/list_changed").await;
    let params = json!({"requestId": listen["id"]});
    let method = "notifications/cancelled";
    peer.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    accept(&mut peer).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_subscription_is_an_error_and_not_repeated() {
    let Connected { client, mut peer, .. } = modern().await;
    let refuse = async {
        let listen = peer.expect("subscriptions/listen").await;
        peer.refuse(&listen, -32601, &Value::Null).await;
    };
    let (watched, ()) = tokio::join!(client.watch(&[]), refuse);
    assert!(matches!(watched, Err(RequestError::Refused(_))));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_never_acknowledged_is_held_like_any_other() {
    let Connected { client, mut peer, recorder } = modern().await;
    for _ in 0..2 {
        client.watch(&[]).await.unwrap();
        let listen = peer.expect("subscriptions/listen").await;
        peer.send(&note("notifications/tools/list_changed", &listen["id"])).await;
        recorder.wait_for("subscriptionId").await;
        peer.answer(&listen, &json!({"resultType": "complete"})).await;
    }
    peer.expect("subscriptions/listen").await;
    let missed = || recorder.lines().iter().filter(|line| line.ends_with("changed ")).count();
    assert_eq!(missed(), 0);
    sleep(Duration::from_secs(6)).await;
    assert_eq!(missed(), 2, "what the gap may have hidden is announced");
}

#[tokio::test(start_paused = true)]
async fn a_legacy_pipe_subscribes_by_difference() {
    let Connected { client, mut peer, .. } = legacy().await;
    let serve = async {
        let mut seen = Vec::new();
        for _ in 0..4 {
            let request = peer.next().await.unwrap();
            seen.push(format!("{} {}", request["method"], request["params"]["uri"]));
            peer.answer(&request, &json!({})).await;
        }
        seen
    };
    let watch = async {
        client.watch(&["a".to_owned(), "b".to_owned()]).await.unwrap();
        client.watch(&["b".to_owned(), "c".to_owned()]).await.unwrap();
    };
    let ((), seen) = tokio::join!(watch, serve);
    assert_eq!(
        seen,
        [
            r#""resources/subscribe" "a""#,
            r#""resources/subscribe" "b""#,
            r#""resources/unsubscribe" "a""#,
            r#""resources/subscribe" "c""#,
        ]
    );
}

#[tokio::test]
async fn a_session_lost_while_subscribing_is_opened_again_with_what_was_subscribed() {
    let asked = Arc::new(AtomicUsize::new(0));
    let server = Server::legacy(move |seen, reply| {
        let is_subscribe = seen.method() == "resources/subscribe";
        let is_lost = is_subscribe && asked.fetch_add(1, Ordering::Relaxed) == 1;
        async move {
            match () {
                () if is_lost => reply.respond(404, "", b"").await,
                () if is_subscribe => reply.json(200, &seen.result(&json!({}))).await,
                () => reply.respond(405, "", b"").await,
            }
        }
    });
    let server = server.await;
    let (connection, _) = server.connect().await;
    connection.watch(&["a".to_owned()]).await.unwrap();
    let both = ["a".to_owned(), "b".to_owned()];
    timeout(Duration::from_secs(5), connection.watch(&both)).await.unwrap().unwrap();
    assert_eq!(server.seen("initialize").len(), 2);
    let asked_for = || {
        let seen = server.seen("resources/subscribe");
        let mut seen: Vec<Value> =
            seen.iter().map(|seen| seen.body["params"]["uri"].clone()).collect();
        seen[2..].sort_by_key(ToString::to_string);
        seen
    };
    while asked_for().len() < 4 {
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(asked_for(), ["a", "b", "a", "b"]);
}

#[tokio::test]
async fn modern_http_holds_a_stream_and_opens_it_again() {
    let server = Server::modern(|seen: Seen, reply| async move {
        let id = &seen.body["id"];
        let reply = reply.stream().await.event(&acknowledged(id)).await;
        let reply = reply.event(&note("notifications/tools/list_changed", id)).await;
        reply.hang_up()
    });
    let server = server.await;
    let (connection, recorder) = server.connect().await;
    connection.watch(&[]).await.unwrap();
    recorder.wait_for("tools/list_changed").await;
    let listens = server.wait_for_many("subscriptions/listen", 2).await;
    assert_eq!(listens[0].header("mcp-method"), Some("subscriptions/listen"));
    drop(connection);
    // One may be under way.
    sleep(Duration::from_millis(200)).await;
    let count = server.seen("subscriptions/listen").len();
    sleep(Duration::from_millis(700)).await;
    assert_eq!(server.seen("subscriptions/listen").len(), count, "it ends with the connection");
}

#[tokio::test]
async fn legacy_http_follows_the_servers_own_stream_from_the_first_watch() {
    let opened = Arc::new(AtomicUsize::new(0));
    let server = Server::legacy(move |seen, reply| {
        let first = seen.verb == "GET" && opened.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if !first {
                return reply.respond(405, "", b"").await;
            }
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
            let reply = reply.stream().await.chunk("id: 9\nretry: 10\n\n").await;
            reply.event(&changed).await.event(&ping).await.end().await
        }
    });
    let server = server.await;
    let (connection, recorder) = server.connect().await;
    assert!(server.seen("GET").is_empty());
    connection.watch(&[]).await.unwrap();
    connection.watch(&[]).await.unwrap();
    recorder.wait_for("tools/list_changed").await;
    let gets = server.wait_for_many("GET", 2).await;
    assert_eq!(gets[1].header("last-event-id"), Some("9"));
    let is_pong = |seen: &Seen| seen.body["result"] == json!({});
    let answered = async {
        while !server.requests.lock().iter().any(is_pong) {
            sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(Duration::from_secs(10), answered).await.is_ok(), "pings are answered");
    sleep(Duration::from_millis(400)).await;
    assert_eq!(server.seen("GET").len(), 2, "405 ends it");
}
