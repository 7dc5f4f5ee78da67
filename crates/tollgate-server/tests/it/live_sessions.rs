//! Live sessions with a scripted provider: calls that run, calls that are refused, and the end of a
//! session.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tollgate_core::agent::{Agent, AgentMemoryPolicy, RecordPolicy};
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_core::memory::{MemoryName, MemoryScope, Namespace};
use tollgate_core::secret::Secret;
use tollgate_llm::settings::{
    LlmSettings, ModelSettings, PoolSettings, ProviderApi, ProviderKind, ProviderSettings,
    ProviderTimeouts, ToolMode,
};
use tollgate_server::Rights;
use tollgate_testkit::ws::{
    RawUpgradeRequest, RawWebSocket, RawWebSocketFrame, RawWebSocketMessage, Refused,
};

use crate::stage::{Remembers, Setup, Stage, key};

/// Long for a test, short for a person.
const SOON: Duration = Duration::from_secs(10);

/// A stage, and where its provider listens.
pub(crate) struct Theatre {
    pub(crate) stage: Stage,
    pub(crate) provider: TcpListener,
}

impl Theatre {
    pub(crate) async fn open(setup: Setup) -> Self {
        let provider = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let models = models(&format!("http://{}/v1", provider.local_addr().unwrap()));
        Self { stage: Stage::with(Setup { models, ..setup }).await, provider }
    }

    pub(crate) async fn dial(&self, headers: &[String]) -> Result<RawWebSocket, Refused> {
        RawWebSocket::dial(self.stage.address, "/v1/realtime?model=voice", headers).await
    }

    /// Both ends of a session that has begun.
    pub(crate) async fn session(&self, headers: &[String]) -> (Talker, Talker) {
        let provider = async {
            let (stream, _) = self.provider.accept().await.unwrap();
            RawUpgradeRequest::read(stream).await.unwrap().welcome().await.unwrap()
        };
        let (client, provider) = tokio::join!(self.dial(headers), provider);
        let mut client = Talker(client.unwrap());
        let mut provider = Talker(provider);
        provider.say(json!({"type": "session.created", "session": {"tools": []}})).await;
        assert_eq!(client.hear().await["type"], "session.created");
        (client, provider)
    }
}

pub(crate) fn models(url: &str) -> LlmSettings {
    let provider = ProviderSettings {
        name: "voices".to_owned(),
        kind: ProviderKind::OpenAi,
        base_url: Some(url.to_owned()),
        api_key: Some(Secret::new("sk-canary")),
        cloud: None,
        endpoints: Vec::new(),
        headers: Vec::new(),
        patience: ProviderTimeouts::default(),
        concurrent: 8,
        retries: 0,
    };
    let model = ModelSettings {
        name: "voice".to_owned(),
        id: "gpt-realtime".to_owned(),
        provider: Some("voices".to_owned()),
        context_window: 32_000,
        max_output: 4_096,
        tool_mode: ToolMode::Native,
        api: ProviderApi::Realtime,
        store: false,
        behaves_like: None,
        pool: PoolSettings::default(),
    };
    LlmSettings { providers: vec![provider], models: vec![model] }
}

/// Runs what it wants to by itself.
pub(crate) fn agent(name: &str, tools: &[&str]) -> Agent {
    Agent {
        id: AgentId::parse(name).unwrap(),
        tools: tools.iter().map(|pattern| Glob::new(*pattern)).collect(),
        // By name: what may destroy something is run by no pattern.
        auto_execute: ["echo", "wait"].map(Glob::new).to_vec(),
        ..Agent::implicit()
    }
}

pub(crate) struct Talker(pub(crate) RawWebSocket);

impl Talker {
    pub(crate) fn new(wire: RawWebSocket) -> Self {
        Self(wire)
    }

    pub(crate) async fn send(&mut self, frame: &RawWebSocketFrame) {
        self.0.send(frame).await.unwrap();
    }

    pub(crate) async fn close(self, code: u16, reason: &str) {
        self.0.close(code, reason).await;
    }

    pub(crate) async fn say(&mut self, event: Value) {
        self.0.text(event.to_string()).await.unwrap();
    }

    pub(crate) async fn hear(&mut self) -> Value {
        match tokio::time::timeout(SOON, self.0.message()).await.expect("something is said") {
            RawWebSocketMessage::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The next event of this kind; what comes before is passed over.
    pub(crate) async fn await_event(&mut self, kind: &str) -> Value {
        loop {
            let event = self.hear().await;
            if event["type"] == kind {
                return event;
            }
        }
    }

    pub(crate) async fn end(&mut self) -> RawWebSocketMessage {
        loop {
            match tokio::time::timeout(SOON, self.0.message()).await.expect("it ends") {
                RawWebSocketMessage::Text(_) | RawWebSocketMessage::Binary(_) => {}
                end => return end,
            }
        }
    }

    /// As a provider: a response in which the model calls one tool.
    pub(crate) async fn call(&mut self, id: &str, name: &str, arguments: &Value) {
        let item = json!({
            "id": format!("item-{id}"), "type": "function_call", "status": "completed",
            "call_id": id, "name": name, "arguments": arguments.to_string(),
        });
        let response = format!("resp-{id}");
        let of = |status: &str, output: Value| json!({"id": response, "status": status, "output": output, "conversation_id": "c"});
        self.say(json!({"type": "response.created", "response": of("in_progress", json!([]))}))
            .await;
        for kind in ["added", "done"] {
            let kind = format!("response.output_item.{kind}");
            self.say(
                json!({"type": kind, "response_id": response, "output_index": 0, "item": item}),
            )
            .await;
        }
        self.say(json!({"type": "response.done", "response": of("completed", json!([item]))}))
            .await;
    }

    /// As a provider: what came back for a call.
    pub(crate) async fn answer(&mut self) -> Value {
        let event = self.await_event("conversation.item.create").await;
        assert_eq!(event["item"]["type"], "function_call_output");
        serde_json::from_str(event["item"]["output"].as_str().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn a_call_is_run_and_answered_and_the_client_sees_nothing_of_it() {
    let setup = Setup { agents: vec![agent("default", &["*"])], ..Setup::default() };
    let theatre = Theatre::open(setup).await;
    let (mut client, mut provider) = theatre.session(&[]).await;
    let declared = provider.await_event("session.update").await;
    let names = declared["session"]["tools"].as_array().unwrap();
    assert!(names.iter().any(|tool| tool["name"] == "echo"), "{declared}");
    provider.call("call_1", "echo", &json!({"text": "seven"})).await;
    let answer = provider.answer().await;
    assert_eq!(answer["status"], "ok");
    assert_eq!(answer["message"], "seven");
    provider.await_event("response.create").await;
    let done = client.await_event("response.done").await;
    assert_eq!(done["response"]["output"], json!([]));
}

#[tokio::test]
async fn s_29_what_is_not_in_the_view_is_not_run_whatever_the_model_wants() {
    let setup = Setup { agents: vec![agent("default", &["echo"])], ..Setup::default() };
    let theatre = Theatre::open(setup).await;
    let (_client, mut provider) = theatre.session(&[]).await;
    for (id, name) in [("a", "wait"), ("b", "nothing_of_this_name")] {
        provider.call(id, name, &json!({"ms": 1})).await;
        let answer = provider.answer().await;
        assert_eq!(answer["status"], "denied", "{answer}");
    }
    assert_eq!(theatre.stage.calls(), 0);
}

#[tokio::test]
async fn r_32_a_client_that_goes_takes_its_calls_along() {
    let setup = Setup { agents: vec![agent("default", &["*"])], ..Setup::default() };
    let theatre = Theatre::open(setup).await;
    let (client, mut provider) = theatre.session(&[]).await;
    provider.call("call_1", "wait", &json!({"ms": 60_000})).await;
    while theatre.stage.calls() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(client);
    theatre.stage.reaches(&theatre.stage.seen.cancelled, 1).await;
    assert!(matches!(provider.end().await, RawWebSocketMessage::Close(1001, _)));
    assert_eq!(theatre.stage.seen.finished.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn r_33_a_gateway_that_stops_says_goodbye_to_both_sides() {
    let theatre = Theatre::open(Setup::default()).await;
    let (mut client, mut provider) = theatre.session(&[]).await;
    theatre.stage.stop.cancel();
    assert!(matches!(client.end().await, RawWebSocketMessage::Close(1001, _)));
    assert!(matches!(provider.end().await, RawWebSocketMessage::Close(1001, _)));
}

#[tokio::test]
async fn close_codes_pass_both_ways() {
    let theatre = Theatre::open(Setup::default()).await;
    let (mut client, provider) = theatre.session(&[]).await;
    provider.0.close(4_002, "session expired").await;
    assert_eq!(client.end().await, RawWebSocketMessage::Close(4_002, "session expired".to_owned()));
    let (client, mut provider) = theatre.session(&[]).await;
    client.0.close(4_100, "enough").await;
    assert_eq!(provider.end().await, RawWebSocketMessage::Close(4_100, "enough".to_owned()));
}

#[tokio::test]
async fn a_key_that_is_taken_away_ends_its_sessions() {
    let keys = vec![key("phone", "secret", Rights::ALL)];
    let theatre = Theatre::open(Setup { keys, ..Setup::default() }).await;
    assert_eq!(theatre.dial(&[]).await.unwrap_err().status, 401);
    let sent = ["authorization: Bearer secret".to_owned()];
    let (mut client, _provider) = theatre.session(&sent).await;
    theatre.stage.front.set_access(vec![key("other", "secret-2", Rights::ALL)], None);
    assert!(matches!(client.end().await, RawWebSocketMessage::Close(1008, _)));
}

#[tokio::test]
async fn a_provider_that_refuses_is_told_of_in_http() {
    let theatre = Theatre::open(Setup::default()).await;
    let refusing = async {
        let (stream, _) = theatre.provider.accept().await.unwrap();
        let answer = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 9\r\n\r\nsk-canary";
        RawUpgradeRequest::read(stream).await.unwrap().refuse(answer).await;
    };
    let (refused, ()) = tokio::join!(theatre.dial(&[]), refusing);
    let refused = refused.unwrap_err();
    assert_eq!(refused.status, 502, "{}", refused.text);
    assert!(refused.text.contains("providers.voices.api_key"), "{}", refused.text);
    assert!(!refused.text.contains("sk-canary"), "{}", refused.text);
}

#[tokio::test]
async fn what_is_said_in_a_session_is_remembered_where_the_agent_does() {
    let memory = AgentMemoryPolicy { record: RecordPolicy::Shared, ..AgentMemoryPolicy::default() };
    let agents = vec![Agent { memory, ..agent("default", &["*"]) }];
    let setup = Setup { agents, memory: Remembers::All, ..Setup::default() };
    let theatre = Theatre::open(setup).await;
    let sent = ["x-tollgate-conversation: call-7".to_owned()];
    let (mut client, mut provider) = theatre.session(&sent).await;
    let item = json!({"type": "message", "role": "user",
        "content": [{"type": "input_text", "text": "where is the silver key"}]});
    client.say(json!({"type": "conversation.item.create", "item": item})).await;
    client.say(json!({"type": "response.create"})).await;
    provider.await_event("response.create").await;
    let response = json!({"id": "r", "status": "completed", "output": [], "conversation_id": "c"});
    provider.say(json!({"type": "response.created", "response": response})).await;
    provider
        .say(json!({"type": "response.output_audio_transcript.done", "response_id": "r",
            "item_id": "m", "transcript": "It hangs by the kitchen door."}))
        .await;
    provider.say(json!({"type": "response.done", "response": response})).await;
    client.await_event("response.done").await;
    let memory_service = theatre.stage.gate.memory().unwrap();
    let scope = MemoryScope::of_operator(Namespace::of(None, &MemoryName::usual()));
    for _ in 0..200 {
        let found =
            memory_service.search_entries(&scope, "silver key kitchen", None, 5).await.unwrap();
        if found.len() == 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("what was said is not there");
}

#[tokio::test]
async fn an_edited_prompt_reaches_a_session_that_runs() {
    let mut sage = agent("default", &["echo"]);
    sage.persona.prompt = Some("Be brief.".into());
    let theatre = Theatre::open(Setup { agents: vec![sage], ..Setup::default() }).await;
    let (_client, mut provider) = theatre.session(&[]).await;
    let update = provider.await_event("session.update").await;
    assert_eq!(update["session"]["instructions"], "Be brief.");
    provider.say(json!({"type": "session.updated", "session": {"tools": []}})).await;
    let mut settings = theatre.stage.settings.clone();
    settings.agents[0].persona.prompt = Some("Be merry.".into());
    theatre.stage.running.reconfigure(&settings, || ()).await;
    let update = provider.await_event("session.update").await;
    assert_eq!(update["session"]["instructions"], "Be merry.");
}

#[tokio::test]
async fn a_provider_that_never_accepts_is_given_up_in_the_configured_time() {
    let provider = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut models = models(&format!("http://{}/v1", provider.local_addr().unwrap()));
    models.providers[0].patience.connect = Duration::from_millis(300);
    let stage = Stage::with(Setup { models, ..Setup::default() }).await;
    let dialled = RawWebSocket::dial(stage.address, "/v1/realtime?model=voice", &[]);
    let refused = tokio::time::timeout(SOON, dialled).await.expect("in time");
    let Err(refused) = refused else { panic!("the session began without its provider") };
    assert_eq!(refused.status, 504);
    assert!(refused.text.contains("within 300 ms"), "{}", refused.text);
}
