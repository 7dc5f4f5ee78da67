//! A host with a live session of its own gets the tools of an agent: here the session is a script
//! in this process, the tools are the built-in ones. `cargo run -p tollgate-llm --example bridge`.

use std::io::{self, Write as _};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use tollgate_core::agent::Agent;
use tollgate_core::budget::Tier;
use tollgate_core::glob::Glob;
use tollgate_engine::Parts;
use tollgate_engine::settings::EngineSettings;
use tollgate_llm::realtime::RealtimeCall;
use tollgate_llm::realtime::bridge::{Bridge, BridgeCallHandler, HostSession, HostSessionError};

/// What a host has instead of a model: it is told of tools, and calls them by a script.
#[derive(Default)]
struct ScriptedSession {
    handler: Mutex<Option<BridgeCallHandler>>,
}

#[async_trait]
impl HostSession for ScriptedSession {
    async fn set_tools(&self, tools: Vec<Value>) -> Result<(), HostSessionError> {
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        Ok(writeln!(io::stdout(), "the model has {} tools: {}", names.len(), names.join(", "))?)
    }

    fn on_tool_call(&self, handler: BridgeCallHandler) {
        *self.handler.lock() = Some(handler);
    }
}

impl ScriptedSession {
    /// The model calls a tool, and reads what comes of it.
    async fn calls(&self, name: &str, arguments: &str) -> io::Result<()> {
        let handler = self.handler.lock().clone();
        let Some(handler) = handler else { return Ok(()) };
        let id = "call_1".to_owned();
        let name = name.to_owned();
        let arguments = arguments.to_owned();
        writeln!(io::stdout(), "the model calls {name} {arguments}")?;
        let reply = handler.call(RealtimeCall { id, name, arguments }).await;
        writeln!(io::stdout(), "  {}: {}", reply.status.as_str(), reply.outcome)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = std::env::temp_dir().join(format!("tollgate-bridge-{}", std::process::id()));
    let agent = Agent {
        tools: ["roll", "roll_table", "search_rules"].into_iter().map(Glob::new).collect(),
        auto_execute: vec![Glob::new("*")],
        ..Agent::implicit()
    };
    let settings = EngineSettings { agents: vec![agent], ..EngineSettings::new(data) };
    let running = tollgate_engine::start(&settings, Parts::default())?;
    running.gate.wait_until_settled().await;

    let session = Arc::new(ScriptedSession::default());
    let gate = Arc::clone(&running.gate);
    let bridge = Bridge::new(gate, session.clone(), "default", Tier::Fast).await?;
    session.calls("roll", r#"{"expression":"2d6+3"}"#).await?;
    session.calls("roll", r#"{"expression":"two dice"}"#).await?;
    session.calls("read_file", r#"{"path":"secrets"}"#).await?;
    bridge.update_tier(Tier::Deep).await?;
    session.calls("search_rules", r#"{"query":"blinded"}"#).await?;
    bridge.close().await;
    Ok(session.calls("roll", r#"{"expression":"1d20"}"#).await?)
}
