//! R-33 with the real program: a signal during live sessions. A live turn ends before its session
//! does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tollgate_testkit::ws::{RawUpgradeRequest, RawWebSocket, RawWebSocketMessage};

use crate::running::Served;

/// Both ends of a session, with the gateway between them.
struct LiveSession {
    client: RawWebSocket,
    provider: RawWebSocket,
}

impl LiveSession {
    async fn open(gateway: SocketAddr, provider: &TcpListener) -> Self {
        let accepted = async {
            let (stream, _) = provider.accept().await.unwrap();
            let upgrade = RawUpgradeRequest::read(stream).await.unwrap();
            let mut socket = upgrade.welcome().await.unwrap();
            let session = json!({"type": "realtime", "object": "realtime.session", "id": "s"});
            let created = json!({"type": "session.created", "event_id": "e", "session": session});
            socket.text(created.to_string()).await.unwrap();
            socket
        };
        let dialled =
            async { RawWebSocket::dial(gateway, "/v1/realtime?model=bench", &[]).await.unwrap() };
        let (provider, client) = tokio::join!(accepted, dialled);
        let mut session = Self { client, provider };
        session.await_event("session.created").await;
        session
    }

    async fn say(&mut self, event: Value) {
        self.provider.text(event.to_string()).await.unwrap();
    }

    /// Reads on until the client hears this.
    async fn await_event(&mut self, kind: &str) {
        let wanted = format!("\"{kind}\"");
        let heard = async {
            loop {
                match self.client.message().await {
                    RawWebSocketMessage::Text(text) if text.contains(&wanted) => return,
                    RawWebSocketMessage::Text(_) => {}
                    other => panic!("no {kind}, but {other:?}"),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), heard).await.expect(kind);
    }

    /// How the client's side ends.
    async fn end(&mut self) -> RawWebSocketMessage {
        let ended = async {
            loop {
                match self.client.message().await {
                    RawWebSocketMessage::Text(_) => {}
                    last => return last,
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ended).await.expect("it ends")
    }
}

#[tokio::test]
async fn r_33_a_live_turn_goes_on_after_sigterm_and_its_session_ends_with_it() {
    let provider = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let served = Served::start(&format!(
        "shutdown: {{ grace_s: 0, drain_s: 120 }}\n\
         providers:\n  up: {{ kind: openai, base_url: \"http://{}/v1\", api_key: k }}\n\
         models:\n  bench: {{ provider: up, id: bench-1, api: realtime }}\n\
         default_agent: speaker\n\
         agents:\n  speaker: {{ tools: [\"*\"], auto_execute: [roll], models: [bench] }}\n",
        provider.local_addr().unwrap()
    ));
    let address = served.address.parse().unwrap();
    let mut talking = LiveSession::open(address, &provider).await;
    let mut silent = LiveSession::open(address, &provider).await;
    let response = |status: &str| json!({"id": "r", "status": status, "output": []});
    talking.say(json!({"type": "response.created", "response": response("in_progress")})).await;
    talking.await_event("response.created").await;

    let pid = served.pid().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let goodbye = RawWebSocketMessage::Close(1001, "the gateway stops".to_owned());
    assert_eq!(silent.end().await, goodbye, "nothing was said there");
    // Long after the other one ended, words still pass.
    tokio::time::sleep(Duration::from_secs(1)).await;
    talking.say(json!({"type": "response.output_audio.delta", "delta": "AAAA"})).await;
    talking.await_event("response.output_audio.delta").await;
    talking.say(json!({"type": "response.done", "response": response("completed")})).await;
    talking.await_event("response.done").await;
    assert_eq!(talking.end().await, goodbye);
}
