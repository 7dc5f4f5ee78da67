//! The tools of a round as MCP servers, all behind one socket and before one world: each has a path
//! of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tollgate_core::id::ServerId;
use tollgate_engine::settings::{
    HttpEndpoint, ProtocolSelection, Server, ServerAuth, ServerCalibration, ServerTransport,
};
use tollgate_mcp::Revision;

use super::inventory::{InventoryTool, ToolRef};
use super::schema::{self, ParameterUsage};
use super::world::SimulatedWorld;
use crate::error::BenchError;
use crate::serve::{self, BenchHandler, BenchResponse, ServerThread};
use crate::wire::Era;

/// Swapped for a new one before each query.
pub(super) type SharedWorld = Arc<Mutex<SimulatedWorld>>;

/// All servers of a round.
pub(super) struct MockServers {
    world: SharedWorld,
    lists: Arc<ToolListings>,
}

/// Of each server, its tools as it lists them.
pub(super) struct ToolListings(BTreeMap<&'static str, Vec<Value>>);

impl ToolListings {
    pub(super) fn of(listed: &[InventoryTool], usage: &ParameterUsage) -> Self {
        let mut tools: BTreeMap<&'static str, Vec<Value>> = BTreeMap::new();
        for it in listed {
            tools.entry(it.tool.server).or_default().push(schema::definition(it, usage));
        }
        Self(tools)
    }

    pub(super) fn servers(&self) -> Vec<&'static str> {
        self.0.keys().copied().collect()
    }

    pub(super) fn tools(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

#[derive(Deserialize)]
struct MockRpcMessage {
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: MockCallParams,
}

#[derive(Default, Deserialize)]
struct MockCallParams {
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl MockServers {
    pub(super) fn new(lists: &Arc<ToolListings>, world: &SharedWorld) -> Self {
        Self { world: Arc::clone(world), lists: Arc::clone(lists) }
    }

    /// What the gateway is told of them, once they are served.
    pub(super) fn settings(names: &[&str], at: &ServerThread) -> Result<Vec<Server>, BenchError> {
        let one = |name: &&str| {
            let id =
                ServerId::parse(name).map_err(|error| BenchError::Process(error.to_string()))?;
            let url = format!("http://{}/{name}", at.address);
            let endpoint = HttpEndpoint { url, headers: BTreeMap::new(), auth: ServerAuth::None };
            let mut server = Server::new(id, ServerTransport::StreamableHttp(endpoint));
            server.protocol = ProtocolSelection::Pinned(Revision::V2026_07_28);
            // What it says of its tools holds: none of them destroys anything, so all run by themselves.
            server.trusted = true;
            server.calibrate = ServerCalibration::OnCommand;
            Ok(server)
        };
        names.iter().map(one).collect()
    }

    fn result(&self, server: &str, message: &MockRpcMessage) -> Option<Value> {
        let (server, tools) = self.lists.0.get_key_value(server)?;
        match message.method.as_str() {
            "server/discover" => {
                let revision = Era::Modern.revision();
                Some(json!({ "supportedVersions": [revision], "capabilities": { "tools": {} } }))
            }
            "tools/list" => {
                Some(json!({ "tools": tools, "ttlMs": 600_000, "cacheScope": "public" }))
            }
            "tools/call" => {
                let tool = ToolRef { server, name: message.params.name.clone() };
                let answer = self.world.lock().call(&tool, &message.params.arguments);
                // As most servers do it: JSON in a text, and nothing said of its form beforehand.
                let (text, is_error) = match answer {
                    Ok(answer) => (answer.to_string(), false),
                    Err(failure) => (failure.to_string(), true),
                };
                Some(json!({ "content": [{ "type": "text", "text": text }], "isError": is_error }))
            }
            _ => None,
        }
    }
}

impl BenchHandler for MockServers {
    async fn handle(&self, request: Request<Incoming>) -> BenchResponse {
        if *request.method() != Method::POST {
            return serve::empty(StatusCode::METHOD_NOT_ALLOWED);
        }
        let server = request.uri().path().trim_start_matches('/').to_owned();
        let Ok(body) = serve::body_of(request).await else {
            return serve::empty(StatusCode::BAD_REQUEST);
        };
        let Ok(message) = serde_json::from_slice::<MockRpcMessage>(&body) else {
            return serve::empty(StatusCode::BAD_REQUEST);
        };
        let Some(id) = &message.id else { return serve::empty(StatusCode::ACCEPTED) };
        let answer = match self.result(&server, &message) {
            Some(mut result) => {
                result["resultType"] = json!("complete");
                json!({ "jsonrpc": "2.0", "id": id, "result": result })
            }
            None => {
                let error = json!({ "code": -32601, "message": "no such method" });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        };
        serve::json(answer.to_string().into())
    }
}
