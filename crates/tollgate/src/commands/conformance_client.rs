//! `tollgate conformance-client`: the client role of the MCP conformance suite. The server under
//! test runs behind a gate of its own, and its tools are called through it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tollgate_config::Environment;
use tollgate_core::call::{GateRequest, RequestKind};
use tollgate_core::id::ServerId;
use tollgate_core::json::{self, Object};
use tollgate_core::names::NamePattern;
use tollgate_core::turn::{Actor, Principal, Turn};
use tollgate_engine::caller::{Caller, Dialogue};
use tollgate_engine::gate::{Gate, TurnRequest};
use tollgate_engine::settings::{
    EngineSettings, HttpEndpoint, ProtocolSelection, ProvidedCredentials, RestartPolicy,
    RestartSettings, Server, ServerAuth, ServerCalibration, ServerTransport,
};
use tollgate_engine::upstream::UpstreamState;
use tollgate_engine::{Parts, start};
use tollgate_mcp::Revision;
use tollgate_mcp::client::{ProgressReporting, identity};
use tollgate_mcp::meta::ClientFacts;

use crate::command_error::CommandError;
use crate::output::Output;

mod auto_responder;
mod headless_consent;

/// Number of checks whether the server is up. Each waits for seconds.
const MAX_SETTLE_ROUNDS: usize = 12;
const CAPABILITIES: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}"#;

pub(super) async fn run(
    url: &str,
    output: Output,
    environment: &dyn Environment,
) -> Result<(), CommandError> {
    let context = environment.variable("MCP_CONFORMANCE_CONTEXT");
    let context: Value =
        context.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
    let revision = environment.variable("MCP_CONFORMANCE_PROTOCOL_VERSION");
    let protocol = revision.and_then(|text| Revision::parse(&text));
    let protocol = protocol.map_or(ProtocolSelection::Auto, ProtocolSelection::Pinned);
    let running = start(&settings(url, protocol, &context)?, Parts::default())
        .map_err(|error| CommandError::new(error.to_string()))?;
    let outcome = call_everything(&running.gate, &context, output).await;
    running.gate.stop().await;
    outcome
}

async fn call_everything(gate: &Gate, context: &Value, output: Output) -> Result<(), CommandError> {
    for _ in 0..MAX_SETTLE_ROUNDS {
        gate.wait_until_settled().await;
        if server(gate).is_some_and(|(state, _)| state != UpstreamState::Starting) {
            break;
        }
    }
    match server(gate) {
        Some((UpstreamState::Ready | UpstreamState::Degraded, _)) => {}
        Some((_, reason)) => return Err(CommandError::new(reason)),
        None => return Err(CommandError::new("the server is not configured")),
    }
    let turn_request = TurnRequest::by(Actor::endless(Principal::local()));
    let turn = gate.turn(turn_request).map_err(|error| CommandError::new(error.to_string()))?;
    let client =
        ClientFacts { capabilities: Some(json::raw(CAPABILITIES.to_owned())), ..identity() };
    for (name, arguments) in calls(&turn, context) {
        let (events, _person) = auto_responder::person();
        let mut params = Object::new();
        params.set_string("name", &name);
        params.set("arguments", json::raw_value(&arguments));
        let request = GateRequest { kind: RequestKind::CallTool, params };
        let events = Some(events);
        let progress = ProgressReporting::Requested;
        let dialogue = Dialogue::Live;
        let caller = Caller { events, progress, dialogue, ..Caller::silent(&client) };
        let reply = gate.call(&turn, request, caller).await;
        output.note(&format!("{name}: {reply:?}"));
    }
    Ok(())
}

fn server(gate: &Gate) -> Option<(UpstreamState, String)> {
    let id = server_id();
    let found = gate.servers().into_iter().find(|server| server.id == id)?;
    Some((found.status.state, found.status.reason))
}

/// The calls that the scenario names, or each tool of the server once.
fn calls(turn: &Turn, context: &Value) -> Vec<(String, Value)> {
    if let Some(calls) = context.get("toolCalls").and_then(Value::as_array) {
        let call = |call: &Value| {
            let name = call.get("name")?.as_str()?.to_owned();
            Some((name, call.get("arguments").cloned().unwrap_or_default()))
        };
        return calls.iter().filter_map(call).collect();
    }
    let id = server_id();
    let tools = turn.view.tools().iter().filter(|tool| tool.id.server == id);
    tools
        .map(|tool| {
            (tool.exposed.to_string(), auto_responder::sample_value(&tool.definition.input_schema))
        })
        .collect()
}

fn server_id() -> ServerId {
    ServerId::parse("under-test").expect("a valid name")
}

fn settings(
    url: &str,
    protocol: ProtocolSelection,
    context: &Value,
) -> Result<EngineSettings, CommandError> {
    let data = scratch()?;
    let credentials = Arc::new(headless_consent::credentials(url, context));
    let endpoint = HttpEndpoint {
        url: url.to_owned(),
        headers: BTreeMap::new(),
        auth: ServerAuth::Brought(ProvidedCredentials(credentials)),
    };
    let server = Server {
        protocol,
        calibrate: ServerCalibration::OnCommand,
        restart: RestartSettings {
            policy: RestartPolicy::Never,
            max_restarts: 0,
            ..RestartSettings::default()
        },
        timeout: Duration::from_secs(20),
        ..Server::new(server_id(), ServerTransport::StreamableHttp(endpoint))
    };
    Ok(EngineSettings {
        environment: "conformance".to_owned(),
        names: NamePattern::PassThrough,
        servers: vec![server],
        ..EngineSettings::new(data)
    })
}

/// A directory for this run only: scenarios run concurrently.
fn scratch() -> Result<PathBuf, CommandError> {
    let name = format!("tollgate-conformance-{}", std::process::id());
    let data = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&data)
        .map_err(|error| CommandError::new(format!("cannot use `{}`: {error}", data.display())))?;
    Ok(data)
}
