//! A gateway whose realtime provider is scripted by the test.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tollgate_core::agent::Agent;
use tollgate_core::glob::Glob;
use tollgate_core::secret::Secret;
use tollgate_engine::builtin;
use tollgate_llm::settings::{
    LlmSettings, ModelSettings, PoolSettings, ProviderApi, ProviderKind, ProviderSettings,
    ProviderTimeouts, ToolMode,
};
use tollgate_mcp::tasks::{self, Task};
use tollgate_testkit::realtime::openai::events;
use tollgate_testkit::ws::{
    BINARY, RawUpgradeRequest, RawWebSocket, RawWebSocketFrame, RawWebSocketMessage, Refused,
};

use crate::stage::{Setup, Stage};

const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Living {
    pub(crate) stage: Stage,
    sockets: tokio::sync::Mutex<mpsc::Receiver<RawWebSocket>>,
    echoes: parking_lot::Mutex<JoinSet<()>>,
    _accepting: Task,
}

/// Which of the providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    OpenAi,
    Gemini,
    Deepgram,
}

/// Both ends of a session.
pub(crate) struct Ends {
    pub(crate) client: RawWebSocket,
    pub(crate) provider: RawWebSocket,
}

impl Living {
    pub(crate) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(crate) async fn with(setup: Setup) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let models = models(listener.local_addr().unwrap());
        let (sender, sockets) = mpsc::channel(64);
        let accepting = tasks::spawn("providers", async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let Some(request) = RawUpgradeRequest::read(stream).await else { continue };
                let Some(wire) = request.welcome().await else { continue };
                if sender.send(wire).await.is_err() {
                    return;
                }
            }
        });
        let agents = vec![agent(&setup.tools)];
        let stage = Stage::with(Setup { models, agents, ..setup }).await;
        let sockets = tokio::sync::Mutex::new(sockets);
        Self { stage, sockets, echoes: parking_lot::Mutex::default(), _accepting: accepting }
    }

    /// The next socket that the gateway opens at a provider.
    pub(crate) async fn accept(&self) -> RawWebSocket {
        let mut sockets = self.sockets.lock().await;
        let next = tokio::time::timeout(TIMEOUT, sockets.recv());
        next.await.expect("the gateway dials in time").expect("providers are there")
    }

    pub(crate) async fn dial(
        &self,
        speaks: Speaks,
        headers: &[String],
    ) -> Result<RawWebSocket, Refused> {
        let path = match speaks {
            Speaks::OpenAi => "/v1/realtime?model=voice",
            Speaks::Deepgram => "/v1/agent/converse?model=voice-agent",
            Speaks::Gemini => {
                "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
            }
        };
        let dialling = RawWebSocket::dial(self.stage.address, path, headers);
        tokio::time::timeout(TIMEOUT, dialling).await.expect("an answer in time")
    }

    /// A session that has begun: both sides said what they say first.
    pub(crate) async fn open(&self, speaks: Speaks) -> Ends {
        self.open_with(speaks, &[]).await
    }

    /// The client's end of a session whose provider sends back whatever it gets.
    pub(crate) async fn echoing(&self, speaks: Speaks, headers: &[String]) -> RawWebSocket {
        let Ends { client, provider } = self.open_with(speaks, headers).await;
        self.echoes.lock().spawn(echo(provider));
        client
    }

    pub(crate) async fn open_with(&self, speaks: Speaks, headers: &[String]) -> Ends {
        let mut ends = match speaks {
            Speaks::OpenAi => {
                let (client, provider) = tokio::join!(self.dial(speaks, headers), self.accept());
                Ends { client: client.unwrap(), provider }
            }
            Speaks::Gemini | Speaks::Deepgram => {
                let mut client = self.dial(speaks, headers).await.unwrap();
                client.text(hello(speaks)).await.unwrap();
                Ends { client, provider: self.accept().await }
            }
        };
        ends.greet(speaks).await;
        ends
    }
}

impl Ends {
    async fn greet(&mut self, speaks: Speaks) {
        match speaks {
            Speaks::OpenAi => {
                self.says(events::session("session.created", &json!([]), "")).await;
                self.client_sees("session.created").await;
            }
            Speaks::Gemini => {
                assert!(text(&mut self.provider).await.starts_with("{\"setup\""));
                self.says(json!({"setupComplete": {}})).await;
                text(&mut self.client).await;
            }
            Speaks::Deepgram => {
                assert!(text(&mut self.provider).await.contains("Settings"));
                self.says(json!({"type": "Welcome", "request_id": "r"})).await;
                self.client_sees("Welcome").await;
            }
        }
    }

    /// The provider says something.
    pub(crate) async fn says(&mut self, event: Value) {
        self.provider.text(event.to_string()).await.unwrap();
    }

    /// The next event of this type at the client; others are passed over.
    pub(crate) async fn client_sees(&mut self, kind: &str) -> Value {
        next(&mut self.client, kind).await
    }

    /// The next event of this type at the provider; others are passed over.
    pub(crate) async fn provider_sees(&mut self, kind: &str) -> Value {
        next(&mut self.provider, kind).await
    }
}

/// Whose model may call every tool without asking anybody.
fn agent(servers: &[builtin::Server]) -> Agent {
    let tools = servers.iter().flat_map(|server| &server.tools);
    let names = tools.map(|tool| tool.definition()["name"].as_str().unwrap().to_owned());
    let usual = ["echo", "wait", "boom", "mirrored"].map(str::to_owned);
    Agent { auto_execute: names.chain(usual).map(Glob::new).collect(), ..Agent::implicit() }
}

pub(crate) async fn next(wire: &mut RawWebSocket, kind: &str) -> Value {
    loop {
        let message = text(wire).await;
        let event: Value = serde_json::from_str(&message).unwrap_or_default();
        if event["type"] == kind {
            return event;
        }
    }
}

/// The next message, which is text, or as good as that.
pub(crate) async fn text(wire: &mut RawWebSocket) -> String {
    let message = tokio::time::timeout(TIMEOUT, wire.message()).await.expect("a word in time");
    match message {
        RawWebSocketMessage::Text(text) => text,
        RawWebSocketMessage::Binary(bytes) => String::from_utf8(bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// What a client says first.
fn hello(speaks: Speaks) -> String {
    match speaks {
        Speaks::OpenAi => json!({"type": "session.update", "session": {"type": "realtime"}}),
        Speaks::Gemini => json!({"setup": {"model": "models/live"}}),
        Speaks::Deepgram => {
            let think =
                json!({"provider": {"type": "open_ai", "model": "m"}, "prompt": "be brief"});
            json!({"type": "Settings", "audio": {}, "agent": {"think": think}})
        }
    }
    .to_string()
}

/// `voice`, `live` and `voice-agent`, all at the same address.
fn models(address: SocketAddr) -> LlmSettings {
    let kinds = [
        ("voice", ProviderKind::OpenAi, "/v1"),
        ("live", ProviderKind::Gemini, ""),
        ("voice-agent", ProviderKind::Deepgram, "/v1"),
    ];
    let provider = |(name, kind, path): (&str, ProviderKind, &str)| ProviderSettings {
        name: name.to_owned(),
        kind,
        base_url: Some(format!("http://{address}{path}")),
        api_key: Some(Secret::new("providers-own-key")),
        cloud: None,
        endpoints: Vec::new(),
        headers: Vec::new(),
        patience: ProviderTimeouts::default(),
        concurrent: ProviderSettings::DEFAULT_CONCURRENCY,
        retries: 0,
    };
    let model = |(name, _, _): (&str, ProviderKind, &str)| ModelSettings {
        name: name.to_owned(),
        id: "gemini-3.8-live".to_owned(),
        provider: Some(name.to_owned()),
        context_window: 128_000,
        max_output: 4_096,
        tool_mode: ToolMode::Native,
        api: ProviderApi::Realtime,
        store: false,
        behaves_like: None,
        pool: PoolSettings::default(),
    };
    LlmSettings { providers: kinds.map(provider).to_vec(), models: kinds.map(model).to_vec() }
}

/// A provider that sends back whatever it gets, but for what concerns the session itself.
async fn echo(mut wire: RawWebSocket) {
    loop {
        let frame = match wire.message().await {
            RawWebSocketMessage::Text(text) if concerns_session(&text) => continue,
            RawWebSocketMessage::Text(text) => RawWebSocketFrame::text(&text),
            RawWebSocketMessage::Binary(bytes) => RawWebSocketFrame::new(BINARY, bytes),
            RawWebSocketMessage::Close(code, _) => {
                let code = if code == 1005 { 1000 } else { code };
                let _ = wire.send(&RawWebSocketFrame::close(code, "")).await;
                return;
            }
            RawWebSocketMessage::Gone => return,
        };
        if wire.send(&frame).await.is_err() {
            return;
        }
    }
}

fn concerns_session(text: &str) -> bool {
    let start = &text[..text.floor_char_boundary(64)];
    ["session.update", "Settings", "UpdateThink"].iter().any(|it| start.contains(it))
}
