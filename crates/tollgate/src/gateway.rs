//! Client of a gateway, used by all commands: the running gateway at the configured address, or
//! otherwise an in-process one for the duration of the command. Both answer the same requests.

use bytes::Bytes;
use http::{Method, Request, Response, header};
use serde_json::{Value, json};
use tollgate_core::text::percent_encoded;
use tollgate_engine::caller::CacheFreshness;
use tollgate_server::FilterFlags;

use crate::command_error::CommandError;

mod chat;
mod code;
mod events;
mod in_process;
pub mod memory;
mod remote;
mod sessions;
mod tls_trust;

pub use code::{CodeRunFailure, CodeRunResult};
pub use events::GatewayEvent;
pub use in_process::InProcessGateway;
pub use remote::RemoteGateway;

use events::GatewayEventListener;
use tollgate_config::Config;

pub enum Gateway {
    Remote(Box<RemoteGateway>),
    Local(Box<InProcessGateway>),
}

/// Parameters of a tool listing.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolViewQuery<'a> {
    pub agent: Option<&'a str>,
    pub tier: Option<&'a str>,
    pub filters: FilterFlags<'a>,
}

/// A review decision on a tool definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolReviewDecision {
    Accept,
    Reject,
}

impl ToolReviewDecision {
    fn verb(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
        }
    }

    pub fn past_tense(self) -> &'static str {
        match self {
            Self::Accept => "accepted",
            Self::Reject => "rejected",
        }
    }
}

/// Parameters of a call.
#[derive(Debug, Clone)]
pub struct GatewayCall<'a> {
    pub name: &'a str,
    pub arguments: Value,
    pub view: ToolViewQuery<'a>,
    pub freshness: CacheFreshness,
}

impl ToolViewQuery<'_> {
    fn query(self) -> String {
        let pairs = [("agent", self.agent), ("tier", self.tier)];
        let typed = pairs.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let pairs: Vec<String> =
            typed.map(|(name, value)| format!("{name}={}", percent_encoded(value))).collect();
        pairs.join("&")
    }

    /// The filters as HTTP headers.
    fn add_filter_headers(
        self,
        mut request: Request<Bytes>,
    ) -> Result<Request<Bytes>, CommandError> {
        self.filters.read().map_err(|bad| CommandError::Usage(bad.to_string()))?;
        for (name, list) in self.filters.headers() {
            let value = header::HeaderValue::from_bytes(list.as_bytes())
                .map_err(|_| CommandError::Usage(format!("not a filter: `{list}`")))?;
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }
}

impl Gateway {
    pub async fn open(config: &Config) -> Result<Self, CommandError> {
        match RemoteGateway::find(config).await {
            Some(remote) => Ok(Self::Remote(Box::new(remote))),
            None => InProcessGateway::start(config).await.map(|local| Self::Local(Box::new(local))),
        }
    }

    /// The running gateway, if there is one.
    pub async fn running(config: &Config) -> Option<Self> {
        RemoteGateway::find(config).await.map(|remote| Self::Remote(Box::new(remote)))
    }

    /// The same for commands that need no servers: an in-process gateway starts none.
    pub async fn open_store(config: &Config) -> Result<Self, CommandError> {
        match RemoteGateway::find(config).await {
            Some(remote) => Ok(Self::Remote(Box::new(remote))),
            None => {
                let mut alone = config.clone();
                alone.settings.servers.clear();
                InProcessGateway::start(&alone).await.map(|local| Self::Local(Box::new(local)))
            }
        }
    }

    /// `GET /v1/tools`
    pub async fn tools(&self, view: ToolViewQuery<'_>) -> Result<Value, CommandError> {
        let path = format!("/v1/tools?{}", view.query());
        self.ask(view.add_filter_headers(request(Method::GET, &path, None)?)?).await
    }

    /// `GET /v1/tools?leaderboard=true`
    pub async fn leaderboard(&self, view: ToolViewQuery<'_>) -> Result<Value, CommandError> {
        let path = format!("/v1/tools?leaderboard=true&{}", view.query());
        self.ask(view.add_filter_headers(request(Method::GET, &path, None)?)?).await
    }

    /// `GET /v1/tools?explain=true`
    pub async fn explain_tools(&self, view: ToolViewQuery<'_>) -> Result<Value, CommandError> {
        let path = format!("/v1/tools?explain=true&{}", view.query());
        self.ask(view.add_filter_headers(request(Method::GET, &path, None)?)?).await
    }

    /// `POST /v1/tools/execute`
    pub async fn execute(&self, order: GatewayCall<'_>) -> Result<Value, CommandError> {
        let GatewayCall { name, arguments, view, freshness } = order;
        let mut body = json!({ "name": name, "arguments": arguments });
        if let Some(agent) = view.agent {
            body["agent"] = json!(agent);
        }
        if let Some(tier) = view.tier {
            body["tier"] = json!(tier);
        }
        let mut request = request(Method::POST, "/v1/tools/execute", Some(&body))?;
        if freshness == CacheFreshness::Fresh {
            let yes = header::HeaderValue::from_static("1");
            request.headers_mut().insert("x-tollgate-no-cache", yes);
        }
        self.ask(view.add_filter_headers(request)?).await
    }

    /// `GET /v1/results/{handle}`
    pub async fn result(&self, handle: &str, page: u32) -> Result<Value, CommandError> {
        self.get(&format!("/v1/results/{}?page={page}", percent_encoded(handle))).await
    }

    /// `POST /v1/tier`
    pub async fn tier(&self, body: &Value) -> Result<Value, CommandError> {
        self.ask(request(Method::POST, "/v1/tier", Some(body))?).await
    }

    /// `POST /api/calibrate`: reports each step, and returns the final event.
    pub async fn calibrate(
        &self,
        what: &Value,
        mut each: impl FnMut(GatewayEvent) + Send,
    ) -> Result<Value, CommandError> {
        let mut request = request(Method::POST, "/api/calibrate", Some(what))?;
        let events = header::HeaderValue::from_static("text/event-stream");
        request.headers_mut().insert(header::ACCEPT, events);
        let mut listener = GatewayEventListener::new(&mut each);
        let mut on_event = |chunk: &[u8]| listener.hear(chunk);
        let response = match self {
            Self::Remote(remote) => remote.follow(request, &mut on_event).await?,
            Self::Local(local) => local.follow(request, &mut on_event).await?,
        };
        if events::is_stream(response.headers()) {
            return listener.finish();
        }
        decode_response(&response)?;
        Err(CommandError::new("the gateway's statistics are invalid"))
    }

    /// `GET /api/audit`
    pub async fn audit(&self, query: &[(&str, String)]) -> Result<Value, CommandError> {
        self.get(&format!("/api/audit?{}", query_string(query))).await
    }

    /// `GET /api/usage`
    pub async fn usage(&self, query: &[(&str, String)]) -> Result<Value, CommandError> {
        self.get(&format!("/api/usage?{}", query_string(query))).await
    }

    /// `GET /api/audit/verify`
    pub async fn audit_verify(&self) -> Result<Value, CommandError> {
        self.get("/api/audit/verify").await
    }

    /// `GET /api/audit/tail`: reports each row as it is written, until the stream ends.
    pub async fn audit_tail(
        &self,
        query: &[(&str, String)],
        mut each: impl FnMut(GatewayEvent) + Send,
    ) -> Result<(), CommandError> {
        let request =
            request(Method::GET, &format!("/api/audit/tail?{}", query_string(query)), None)?;
        let mut listener = GatewayEventListener::new(&mut each);
        let mut on_event = |chunk: &[u8]| listener.hear(chunk);
        let response = match self {
            Self::Remote(remote) => remote.follow(request, &mut on_event).await?,
            Self::Local(local) => local.follow(request, &mut on_event).await?,
        };
        if !events::is_stream(response.headers()) {
            decode_response(&response)?;
        }
        Ok(())
    }

    /// `GET /api/telemetry`
    pub async fn telemetry(&self) -> Result<Value, CommandError> {
        self.get("/api/telemetry").await
    }

    /// `GET /api/tools`
    pub async fn known_tools(&self) -> Result<Value, CommandError> {
        self.get("/api/tools").await
    }

    /// `GET /api/tools/{server}/{tool}`
    pub async fn examined_tool(&self, server: &str, tool: &str) -> Result<Value, CommandError> {
        self.get(&format!("/api/tools/{}/{}", percent_encoded(server), percent_encoded(tool))).await
    }

    /// `POST /api/tools/{server}/{tool}/accept` or `…/reject`
    pub async fn judge(
        &self,
        server: &str,
        tool: &str,
        hash: &str,
        judgement: ToolReviewDecision,
    ) -> Result<Value, CommandError> {
        let verb = judgement.verb();
        let path =
            format!("/api/tools/{}/{}/{verb}", percent_encoded(server), percent_encoded(tool));
        self.ask(request(Method::POST, &path, Some(&json!({ "hash": hash })))?).await
    }

    /// `GET /mcp/status`
    pub async fn status(&self) -> Result<Value, CommandError> {
        self.get("/mcp/status").await
    }

    /// `POST /mcp/test/{server}`
    pub async fn test(&self, server: &str) -> Result<Value, CommandError> {
        self.ask(request(Method::POST, &format!("/mcp/test/{}", percent_encoded(server)), None)?)
            .await
    }

    /// `GET /healthz`
    pub async fn health(&self) -> Result<Value, CommandError> {
        self.get("/healthz").await
    }

    /// `GET /readyz`, for either status.
    pub async fn readiness(&self) -> Result<Value, CommandError> {
        let response = self.exchange(request(Method::GET, "/readyz", None)?).await?;
        serde_json::from_slice(response.body())
            .map_err(|_| CommandError::new("the gateway's readiness response is invalid"))
    }

    /// `GET /api/approvals`
    pub async fn approvals(&self) -> Result<Value, CommandError> {
        self.get("/api/approvals").await
    }

    /// `POST /api/approvals/{id}`
    pub async fn decide(
        &self,
        id: &str,
        decision: &str,
        note: Option<&str>,
    ) -> Result<Value, CommandError> {
        let path = format!("/api/approvals/{}", percent_encoded(id));
        let body = json!({ "decision": decision, "note": note });
        self.ask(request(Method::POST, &path, Some(&body))?).await
    }

    /// `GET /api/events`: reports events until the gateway stops.
    pub async fn events(
        &self,
        mut each: impl FnMut(GatewayEvent) + Send,
    ) -> Result<(), CommandError> {
        let mut listener = GatewayEventListener::new(&mut each);
        let mut on_event = |chunk: &[u8]| listener.hear(chunk);
        let request = request(Method::GET, "/api/events", None)?;
        let response = match self {
            Self::Remote(remote) => remote.follow(request, &mut on_event).await?,
            Self::Local(local) => local.follow(request, &mut on_event).await?,
        };
        if events::is_stream(response.headers()) {
            return Ok(());
        }
        decode_response(&response).map(drop)
    }

    /// `GET /api/keys`
    pub async fn keys(&self) -> Result<Value, CommandError> {
        self.get("/api/keys").await
    }

    /// `POST /api/keys`
    pub async fn make_key(&self, requested: &Value) -> Result<Value, CommandError> {
        self.ask(request(Method::POST, "/api/keys", Some(requested))?).await
    }

    /// `DELETE /api/keys/{name}`
    pub async fn revoke_key(&self, name: &str) -> Result<(), CommandError> {
        let request =
            request(Method::DELETE, &format!("/api/keys/{}", percent_encoded(name)), None)?;
        let response = self.exchange(request).await?;
        if response.status().is_success() { Ok(()) } else { decode_response(&response).map(drop) }
    }

    /// `POST /api/keys/{name}/rotate`
    pub async fn rotate_key(&self, name: &str, grace_s: u32) -> Result<Value, CommandError> {
        let path = format!("/api/keys/{}/rotate", percent_encoded(name));
        self.ask(request(Method::POST, &path, Some(&json!({ "grace_s": grace_s })))?).await
    }

    /// `POST /api/servers/{server}/restart`
    pub async fn restart(&self, server: &str) -> Result<Value, CommandError> {
        let path = format!("/api/servers/{}/restart", percent_encoded(server));
        self.ask(request(Method::POST, &path, None)?).await
    }

    /// `GET /api/servers/{server}/logs`
    pub async fn logs(&self, server: &str) -> Result<Value, CommandError> {
        self.get(&format!("/api/servers/{}/logs", percent_encoded(server))).await
    }

    /// `POST /api/reload`
    pub async fn reload(&self) -> Result<Value, CommandError> {
        self.ask(request(Method::POST, "/api/reload", None)?).await
    }

    /// Stops an in-process gateway with its servers.
    pub async fn close(self) {
        match self {
            Self::Local(local) => local.stop().await,
            Self::Remote(_) => {}
        }
    }

    async fn get(&self, path: &str) -> Result<Value, CommandError> {
        self.ask(request(Method::GET, path, None)?).await
    }

    async fn ask(&self, request: Request<Bytes>) -> Result<Value, CommandError> {
        decode_response(&self.exchange(request).await?)
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, CommandError> {
        match self {
            Self::Remote(remote) => remote.send(request).await,
            Self::Local(local) => Ok(local.answer(request).await),
        }
    }
}

fn request(
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Request<Bytes>, CommandError> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string())))
        .map_err(|error| CommandError::Usage(format!("not a request: {error}")))
}

/// The body of a successful response, or the error message of another.
fn decode_response(response: &Response<Bytes>) -> Result<Value, CommandError> {
    let body: Result<Value, _> = serde_json::from_slice(response.body());
    let status = response.status();
    match body {
        Ok(body) if status.is_success() || body.get("status").is_some_and(Value::is_string) => {
            Ok(body)
        }
        Ok(body) => {
            let silent = || format!("the gateway answered {status}");
            Err(CommandError::Failed(complaint(&body).map_or_else(silent, str::to_owned)))
        }
        Err(_) => Err(CommandError::Failed(format!("the gateway answered {status} and no JSON"))),
    }
}

/// The error message of a response, in any of the gateway's formats.
fn complaint(body: &Value) -> Option<&str> {
    let places = ["/error/message", "/detail", "/title", "/message", "/error"];
    places.iter().find_map(|at| body.pointer(at).and_then(Value::as_str))
}

fn query_string(query: &[(&str, String)]) -> String {
    let pairs = query.iter().map(|(key, value)| format!("{key}={}", percent_encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests;
