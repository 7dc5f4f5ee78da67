//! Against a small server that answers as it is told.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tollgate_mcp::tasks::{self, Task};

use super::{Webhook, WebhookDelivery};

/// Answers one request after the other with these statuses, and keeps what it was sent.
async fn player(statuses: &'static [u16]) -> (String, Arc<Mutex<Vec<String>>>, Task) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/music", listener.local_addr().unwrap());
    let received = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&received);
    let task = tasks::spawn("player", async move {
        for status in statuses {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                let mut chunk = [0; 1_024];
                let read = stream.read(&mut chunk).await.unwrap();
                request.extend_from_slice(&chunk[..read]);
                if read == 0 {
                    break;
                }
            }
            hears.lock().push(String::from_utf8(request).unwrap());
            let answer =
                format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, received, task)
}

#[tokio::test]
async fn a_player_gets_the_event_as_json() {
    let (url, received, _player) = player(&[204]).await;
    let webhook = Webhook::new(&url).unwrap();
    let told = webhook.tell(json!({ "event": "stop" })).await;
    assert!(matches!(told, WebhookDelivery::Yes | WebhookDelivery::Pending), "{told:?}");
    until(|| received.lock().len() == 1).await;
    let request = received.lock()[0].clone();
    assert!(request.starts_with("POST /music HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("content-type: application/json"), "{request}");
    assert!(request.ends_with("{\"event\":\"stop\"}"), "{request}");
}

#[tokio::test]
async fn an_event_that_was_refused_is_sent_once_more() {
    let (url, received, _player) = player(&[503, 200]).await;
    let webhook = Webhook::new(&url).unwrap();
    let told = webhook.tell(json!({ "event": "play" })).await;
    assert!(!matches!(told, WebhookDelivery::No(_)), "{told:?}");
    until(|| received.lock().len() == 2).await;
}

#[tokio::test]
async fn a_player_that_is_not_there_is_told_of() {
    let webhook = Webhook::new("http://127.0.0.1:9/").unwrap();
    match webhook.tell(json!({})).await {
        WebhookDelivery::No(why) => {
            assert!(why.contains("127.0.0.1:9") || !why.is_empty(), "{why}")
        }
        // On a machine that is busy.
        WebhookDelivery::Pending => {}
        WebhookDelivery::Yes => panic!("nobody is there"),
    }
    assert!(Webhook::new("not a url").is_err());
}

#[tokio::test]
async fn nobody_waits_for_a_player_that_hangs() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let webhook = Webhook::new(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    for _ in 0..super::MAX_QUEUED_EVENTS {
        assert_eq!(webhook.tell(json!({})).await, WebhookDelivery::Pending);
    }
    let told = webhook.tell(json!({})).await;
    assert!(matches!(told, WebhookDelivery::No(_) | WebhookDelivery::Pending), "{told:?}");
}

async fn until(is_so: impl Fn() -> bool) {
    let so = async {
        while !is_so() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), so).await.expect("it happens");
}
