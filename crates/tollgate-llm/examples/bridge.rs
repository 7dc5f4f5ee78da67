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
use tollgate_engine::settings::Settings;
use tollgate_llm::realtime::Call;
use tollgate_llm::realtime::bridge::{Bridge, Handler, Session, Trouble};

/// What a host has instead of a model: it is told of tools, and calls them by a script.
#[derive(Default)]
struct Scripted {
    handler: Mutex<Option<Handler>>,
}

#[async_trait]
impl Session for Scripted {
    async fn set_tools(&self, tools: Vec<Value>) -> Result<(), Trouble> {
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        Ok(writeln!(io::stdout(), "the model has {} tools: {}", names.len(), names.join(", "))?)
    }

    fn on_tool_call(&self, handler: Handler) {
        *self.handler.lock() = Some(handler);
    }
}

impl Scripted {
    /// The model calls a tool, and reads what comes of it.
    async fn calls(&self, name: &str, arguments: &str) -> io::Result<()> {
        let handler = self.handler.lock().clone();
        let Some(handler) = handler else { return Ok(()) };
        let (id, name, arguments) = ("call_1".to_owned(), name.to_owned(), arguments.to_owned());
        writeln!(io::stdout(), "the model calls {name} {arguments}")?;
        let reply = handler.call(Call { id, name, arguments }).await;
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
    let settings = Settings { agents: vec![agent], ..Settings::new(data) };
    let running = tollgate_engine::start(&settings, Parts::default())?;
    running.gate.settled().await;

    let session = Arc::new(Scripted::default());
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
