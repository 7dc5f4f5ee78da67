//! A host's own session on a bridge: what it is declared, what its calls come to, and how it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use parking_lot::Mutex;
use rand::RngExt;
use serde_json::{Map, Value, json};
use tollgate_core::agent::Agent;
use tollgate_core::budget::Tier;
use tollgate_core::call::CallStatus;
use tollgate_core::glob::Glob;
use tollgate_core::id::AgentId;
use tollgate_engine::builtin::{
    self, BuiltinReply as Said, BuiltinTool, BuiltinToolContext, BuiltinToolError,
};
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_engine::settings::EngineSettings;
use tollgate_engine::{Parts, RunningEngine};
use tollgate_llm::realtime::bridge::{
    Bridge, BridgeCallHandler, BridgeError, HostSession, HostSessionError, Reply,
};
use tollgate_llm::realtime::{RealtimeCall, RealtimeProtocol};

/// An engine with tools of each speed, and what was done to them.
struct HostEngine {
    running: RunningEngine,
    settings: EngineSettings,
    seen: Arc<Seen>,
    _directory: tempfile::TempDir,
}

#[derive(Default)]
struct Seen {
    began: AtomicUsize,
    finished: AtomicUsize,
}

struct Sleeper {
    name: &'static str,
    /// As it says itself.
    estimated: u64,
    seen: Arc<Seen>,
}

#[async_trait]
impl BuiltinTool for Sleeper {
    fn definition(&self) -> Value {
        let latency =
            json!({"estimatedDurationMs": self.estimated, "maxDurationMs": 60_000, "probe": false});
        json!({
            "name": self.name,
            "description": "Sleeps",
            "inputSchema": {"type": "object", "properties": {"ms": {"type": "integer"}}},
            "annotations": {"readOnlyHint": true, "idempotentHint": true},
            "_meta": {"dev.tollgate/latency": latency},
        })
    }

    async fn call(
        &self,
        arguments: &Map<String, Value>,
        _: &BuiltinToolContext,
    ) -> Result<Said, BuiltinToolError> {
        self.seen.began.fetch_add(1, Ordering::SeqCst);
        let ms = arguments.get("ms").and_then(Value::as_u64).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.seen.finished.fetch_add(1, Ordering::SeqCst);
        match self.name {
            "broken" => Err(BuiltinToolError::new("it is broken")),
            _ => Ok(Said { text: "slept".to_owned(), structured: None }),
        }
    }
}

impl HostEngine {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let seen = Arc::new(Seen::default());
        let tool = |name, estimated| -> Box<dyn BuiltinTool> {
            Box::new(Sleeper { name, estimated, seen: Arc::clone(&seen) })
        };
        let tools =
            vec![tool("nap", 50), tool("broken", 50), tool("rest", 1_000), tool("sleep", 3_000)];
        let parts =
            Parts { tools: vec![builtin::Server { name: "bed", tools }], ..Parts::default() };
        let agent = |name: &str, tools: &[&str]| Agent {
            id: AgentId::parse(name).unwrap(),
            tools: tools.iter().map(|name| Glob::new(*name)).collect(),
            auto_execute: vec![Glob::new("*")],
            ..Agent::implicit()
        };
        let settings = EngineSettings {
            agents: vec![agent("sage", &["nap", "broken", "rest", "sleep"])],
            ..EngineSettings::new(directory.path().to_owned())
        };
        let running = tollgate_engine::start(&settings, parts).unwrap();
        running.gate.wait_until_settled().await;
        Self { running, settings, seen, _directory: directory }
    }

    async fn bridge(&self, host: &Arc<Host>, tier: Tier) -> Result<Bridge, BridgeError> {
        let session = Arc::<Host>::clone(host);
        Bridge::new(Arc::clone(&self.running.gate), session, "sage", tier).await
    }

    fn began(&self) -> usize {
        self.seen.began.load(Ordering::SeqCst)
    }

    fn finish_count(&self) -> usize {
        self.seen.finished.load(Ordering::SeqCst)
    }
}

/// A session that is only a list.
struct Host {
    live: RealtimeProtocol,
    declared: Mutex<Vec<Vec<Value>>>,
    handler: Mutex<Option<BridgeCallHandler>>,
    late: Mutex<Vec<(String, Reply)>>,
    refuses: AtomicUsize,
}

impl Host {
    fn new() -> Arc<Self> {
        Self::speaking(RealtimeProtocol::OpenAi)
    }

    fn speaking(live: RealtimeProtocol) -> Arc<Self> {
        Arc::new(Self {
            live,
            declared: Mutex::default(),
            handler: Mutex::default(),
            late: Mutex::default(),
            refuses: AtomicUsize::new(0),
        })
    }

    /// The names that were declared, each time.
    fn declarations(&self) -> Vec<String> {
        let names = |tools: &Vec<Value>| {
            let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
            names.collect::<Vec<_>>().join(" ")
        };
        self.declared.lock().iter().map(names).collect()
    }

    fn handler(&self) -> BridgeCallHandler {
        self.handler.lock().clone().expect("a handler is registered")
    }

    async fn call(&self, name: &str, arguments: &str) -> Reply {
        let id = "c1".to_owned();
        let name = name.to_owned();
        self.handler().call(RealtimeCall { id, name, arguments: arguments.to_owned() }).await
    }
}

#[async_trait]
impl HostSession for Host {
    async fn set_tools(&self, tools: Vec<Value>) -> Result<(), HostSessionError> {
        tokio::task::yield_now().await;
        if self.refuses.load(Ordering::SeqCst) > 0 {
            return Err("no more tools".into());
        }
        self.declared.lock().push(tools);
        Ok(())
    }

    fn on_tool_call(&self, handler: BridgeCallHandler) {
        *self.handler.lock() = Some(handler);
    }

    fn live(&self) -> RealtimeProtocol {
        self.live
    }

    fn late(&self, call: &RealtimeCall, reply: Reply) {
        self.late.lock().push((call.id.clone(), reply));
    }
}

fn status(reply: &Reply) -> &str {
    let outcome: Value = serde_json::from_str(&reply.outcome).unwrap();
    assert_eq!(outcome["status"], reply.status.as_str(), "{}", reply.outcome);
    reply.status.as_str()
}

#[tokio::test(start_paused = true)]
async fn a_session_is_declared_what_the_agent_has_at_its_tier_and_only_when_it_changes() {
    let host_engine = HostEngine::new().await;
    let host = Host::new();
    let bridge = host_engine.bridge(&host, Tier::Fast).await.unwrap();
    bridge.update_tier(Tier::Fast).await.unwrap();
    bridge.update_tier(Tier::Deep).await.unwrap();
    bridge.update_tier(Tier::Deep).await.unwrap();
    bridge.update_tier(Tier::Standard).await.unwrap();
    let expected = ["broken nap", "broken nap rest sleep", "broken nap rest"];
    assert_eq!(host.declarations(), expected);
    assert_eq!(bridge.tier(), Tier::Standard);
}

#[tokio::test(start_paused = true)]
async fn definitions_have_the_form_that_the_session_speaks() {
    let host_engine = HostEngine::new().await;
    for (live, place, expected) in [
        (RealtimeProtocol::OpenAi, "/0/parameters/type", "object"),
        (RealtimeProtocol::OpenAi, "/0/type", "function"),
        (RealtimeProtocol::Gemini, "/0/parameters/type", "OBJECT"),
    ] {
        let host = Host::speaking(live);
        let _bridge = host_engine.bridge(&host, Tier::Fast).await.unwrap();
        let declared = Value::from(host.declared.lock()[0].clone());
        assert_eq!(declared.pointer(place), Some(&json!(expected)), "{declared}");
    }
}

#[tokio::test(start_paused = true)]
async fn results_keep_the_status_they_have() {
    let host_engine = HostEngine::new().await;
    let host = Host::new();
    let _bridge = host_engine.bridge(&host, Tier::Fast).await.unwrap();
    for (name, arguments, expected) in [
        ("nap", "{}", "ok"),
        ("broken", "{}", "error"),
        ("nap", r#"{"ms":"long"}"#, "invalid_arguments"),
        ("nap", r#"{"ms":"#, "invalid_arguments"),
        ("nobody_has_it", "{}", "denied"),
    ] {
        let reply = host.call(name, arguments).await;
        assert_eq!(status(&reply), expected, "{name} {arguments}: {}", reply.outcome);
    }
}

#[tokio::test(start_paused = true)]
async fn s_29_a_tool_beyond_the_tier_that_holds_now_is_not_run() {
    let host_engine = HostEngine::new().await;
    let host = Host::new();
    let bridge = host_engine.bridge(&host, Tier::Deep).await.unwrap();
    assert_eq!(status(&host.call("sleep", "{}").await), "ok");
    bridge.update_tier(Tier::Fast).await.unwrap();
    assert_eq!(status(&host.call("sleep", "{}").await), "denied");
    assert_eq!(host_engine.began(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_nobody_knows_gets_no_bridge() {
    let host_engine = HostEngine::new().await;
    let host = Host::new();
    let gate = Arc::clone(&host_engine.running.gate);
    let refused = Bridge::new(gate, host.clone(), "nobody", Tier::Fast).await;
    assert!(matches!(refused, Err(BridgeError::UnknownAgent(_))));
    assert!(host.handler.lock().is_none() && host.declarations().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_takes_no_tools_keeps_its_tier() {
    let host_engine = HostEngine::new().await;
    let host = Host::new();
    let bridge = host_engine.bridge(&host, Tier::Fast).await.unwrap();
    host.refuses.store(1, Ordering::SeqCst);
    let refused = bridge.update_tier(Tier::Deep).await.unwrap_err();
    assert_eq!(refused.to_string(), "the session rejected the tools: no more tools");
    assert_eq!(bridge.tier(), Tier::Fast);
    host.refuses.store(0, Ordering::SeqCst);
    bridge.update_tier(Tier::Deep).await.unwrap();
    assert_eq!(host.declarations(), ["broken nap", "broken nap rest sleep"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_with_the_time_of_the_tier_and_its_result_comes_late() {
    let host_engine = HostEngine::new().await;
    let host = Host::new();
    let _bridge = host_engine.bridge(&host, Tier::Fast).await.unwrap();
    let began = SystemClock.now();
    let reply = host.call("nap", r#"{"ms":2000}"#).await;
    assert_eq!(status(&reply), "pending");
    assert!(SystemClock.now() - began < Duration::from_secs(1));
    tokio::time::sleep(Duration::from_secs(3)).await;
    let late = host.late.lock().clone();
    let [(id, reply)] = &late[..] else { panic!("{late:?}") };
    assert_eq!((id.as_str(), status(reply)), ("c1", "ok"));
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_no_longer_than_the_timeout() {
    let host_engine = HostEngine::new().await;
    let host = Host::new();
    let bridge = host_engine.bridge(&host, Tier::Deep).await.unwrap();
    let _bridge = bridge.with_timeout(Duration::from_millis(100));
    let reply = host.call("nap", r#"{"ms":2000}"#).await;
    assert_eq!(status(&reply), "timeout");
    assert!(reply.outcome.contains("`nap` did not answer within 100ms"), "{}", reply.outcome);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!((host_engine.began(), host_engine.finish_count()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn r_32_closing_cancels_what_runs_and_nothing_begins_afterwards() {
    let host_engine = HostEngine::new().await;
    let host = Host::new();
    let bridge = host_engine.bridge(&host, Tier::Deep).await.unwrap();
    let calling = host.call("nap", r#"{"ms":2000}"#);
    let closing = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        bridge.close().await;
    };
    let (reply, ()) = tokio::join!(calling, closing);
    assert_eq!(status(&reply), "denied");
    assert_eq!(status(&host.call("nap", "{}").await), "denied");
    assert!(matches!(bridge.update_tier(Tier::Fast).await, Err(BridgeError::Closed)));
    bridge.close().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!((host_engine.began(), host_engine.finish_count()), (1, 0));
    assert_eq!(host.declarations(), ["broken nap rest sleep", ""]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_outlives_its_bridge_without_harm() {
    let host_engine = HostEngine::new().await;
    let host = Host::new();
    let bridge = host_engine.bridge(&host, Tier::Deep).await.unwrap();
    let calling = host.call("nap", r#"{"ms":2000}"#);
    let dropping = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(bridge);
    };
    let (reply, ()) = tokio::join!(calling, dropping);
    assert_eq!(status(&reply), "denied");
    assert_eq!(status(&host.call("nap", "{}").await), "denied");
    assert_eq!((host_engine.began(), host_engine.finish_count()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn r_24_tools_that_come_and_go_are_declared_again() {
    let mut host_engine = HostEngine::new().await;
    let host = Host::new();
    let _bridge = host_engine.bridge(&host, Tier::Fast).await.unwrap();
    host_engine.settings.agents[0].tools = vec![Glob::new("nap")];
    host_engine.running.reconfigure(&host_engine.settings, || {}).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    host_engine.settings.agents[0].id = AgentId::parse("other").unwrap();
    host_engine.running.reconfigure(&host_engine.settings, || {}).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(host.declarations(), ["broken nap", "nap", ""]);
    assert_eq!(status(&host.call("nap", "{}").await), "denied");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tiers_calls_and_the_end_may_race() {
    let host_engine = HostEngine::new().await;
    for _ in 0..20 {
        let host = Host::new();
        let bridge = host_engine.bridge(&host, Tier::Fast).await.unwrap();
        let bridge = &bridge;
        let handler = host.handler();
        let updates = (0..20).map(|at| async move {
            pause().await;
            bridge.update_tier(Tier::ALL[at % 3]).await
        });
        let calls = (0..40).map(|at| {
            let handler = handler.clone();
            async move {
                pause().await;
                let name = ["nap", "rest", "sleep"][at % 3].to_owned();
                handler
                    .call(RealtimeCall { id: at.to_string(), name, arguments: "{}".to_owned() })
                    .await
            }
        });
        let close = async {
            pause().await;
            pause().await;
            bridge.close().await;
        };
        let (updates, replies, ()) = tokio::join!(join_all(updates), join_all(calls), close);
        for update in updates {
            assert!(matches!(update, Ok(()) | Err(BridgeError::Closed)), "{update:?}");
        }
        for reply in replies {
            assert!(matches!(reply.status, CallStatus::Ok | CallStatus::Denied), "{reply:?}");
        }
        let began = host_engine.began();
        assert_eq!(status(&host.call("nap", "{}").await), "denied");
        assert_eq!(host_engine.began(), began);
        let declared = host.declarations();
        assert_eq!(declared.last().map(String::as_str), Some(""));
        assert!(declared.windows(2).all(|two| two[0] != two[1]), "{declared:?}");
    }
}

async fn pause() {
    let micros = rand::rng().random_range(0..2_000);
    tokio::time::sleep(Duration::from_micros(micros)).await;
}
