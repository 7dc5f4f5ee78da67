//! A server that does what a test tells it to, without a process and without a wire.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tollgate_core::agent::Agent;
use tollgate_core::budget::Tier;
use tollgate_core::filter::{GlobalRules, ToolFilter};
use tollgate_core::id::ServerId;
use tollgate_core::json::{Object, raw};
use tollgate_core::turn::{Actor, Principal, Turn, TurnId};
use tollgate_core::view::View;
use tollgate_mcp::Revision;
use tollgate_mcp::client::{
    Answer, AnswerKind, McpConnection, OutgoingRequest, ProgressReporting, RequestError,
    ServerFacts, ServerListener,
};
use tollgate_mcp::error_code::JsonRpcError;
use tollgate_mcp::meta::ClientFacts;

use super::super::connect::{Connector, ServerDownError, ServerLink};
use super::super::connection_schedule::UpstreamKind;
use super::super::process::ServerLog;
use super::super::{Change, Update, Upstream, UpstreamContext, UpstreamState};
use crate::backend::{Backend, BackendError, BackendJob, SendTimestamp};
use crate::clock::{Clock as _, SystemClock};
use crate::notices::Notices;
use crate::settings::{RestartSettings, Server, ServerCalibration, ServerTransport, StdioCommand};

/// How the fake behaves now; a test changes it as it goes.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) connects: Result<(), ServerDownError>,
    pub(super) revision: Revision,
    pub(super) tools: Vec<&'static str>,
    pub(super) calls: Reply,
    pub(super) pings: Reply,
    pub(super) lists: Reply,
    pub(super) prompts: Reply,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    Answer,
    Refuse,
    Lose,
    Silence,
}

#[derive(Clone)]
pub(super) struct Fake(Arc<Inner>);

pub(super) struct Inner {
    pub(super) script: Mutex<Script>,
    pub(super) nature: UpstreamKind,
    pub(super) connects: AtomicUsize,
    pub(super) lists: AtomicUsize,
    pub(super) watched: Mutex<Vec<String>>,
    listener: Mutex<Option<Arc<dyn ServerListener>>>,
}

impl std::ops::Deref for Fake {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Fake {
    pub(super) fn new(nature: UpstreamKind) -> Self {
        let script = Script {
            connects: Ok(()),
            revision: Revision::NEWEST_LEGACY,
            tools: vec!["one", "two"],
            calls: Reply::Answer,
            pings: Reply::Answer,
            lists: Reply::Answer,
            prompts: Reply::Answer,
        };
        Self(Arc::new(Inner {
            script: Mutex::new(script),
            nature,
            connects: AtomicUsize::new(0),
            lists: AtomicUsize::new(0),
            watched: Mutex::default(),
            listener: Mutex::default(),
        }))
    }

    pub(super) fn now(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock());
    }

    pub(super) fn listener(&self) -> Arc<dyn ServerListener> {
        Arc::clone(self.listener.lock().as_ref().expect("it was connected"))
    }

    /// The connection breaks.
    pub(super) fn breaks(&self) {
        self.listener().on_closed("the server closed its output");
    }

    pub(super) fn connects(&self) -> usize {
        self.connects.load(Ordering::Relaxed)
    }
}

/// What a test holds of a server under supervision.
pub(super) struct Stage {
    pub(super) fake: Fake,
    pub(super) upstream: Arc<Upstream>,
    pub(super) updates: mpsc::Receiver<Update>,
}

impl Stage {
    pub(super) fn new(nature: UpstreamKind) -> Self {
        Self::with(nature, |_| {})
    }

    pub(super) fn with(nature: UpstreamKind, change: impl FnOnce(&mut Server)) -> Self {
        let fake = Fake::new(nature);
        let mut server = server();
        change(&mut server);
        Self::start(fake, server, &std::env::temp_dir())
    }

    pub(super) fn start(fake: Fake, server: Server, data: &std::path::Path) -> Self {
        let (sender, updates) = mpsc::channel(64);
        let data = data.to_owned();
        let context = UpstreamContext {
            clock: Arc::new(SystemClock),
            updates: sender,
            data,
            launcher: None,
            store: None,
            notices: Notices::default(),
        };
        let log = Arc::new(ServerLog::new(server.id.clone(), Vec::new()));
        let connector = Arc::new(fake.clone());
        let upstream = Upstream::start_supervised(server, &context, log, connector);
        Self { fake, upstream, updates }
    }

    pub(super) async fn until(&self, state: UpstreamState) {
        let mut changes = self.upstream.changes();
        let reached = changes.wait_for(|status| status.state == state);
        let reached = tokio::time::timeout(Duration::from_secs(600), reached).await;
        reached
            .unwrap_or_else(|_| panic!("never {state:?}: {:?}", self.upstream.status()))
            .unwrap();
    }

    /// What the registry was told since the last time, as text.
    pub(super) fn take_updates(&mut self) -> String {
        let mut lines = Vec::new();
        while let Ok(update) = self.updates.try_recv() {
            lines.push(match update.change {
                Change::Listed(listing) => format!("listed {}", listing.tools.len()),
                Change::Gone => "gone".to_owned(),
                Change::ResourceUpdated(uri) => format!("updated {uri}"),
            });
        }
        lines.join(", ")
    }

    pub(super) async fn call(&self) -> Result<String, BackendError> {
        call(&self.upstream, "tools/call", r#"{"name":"one"}"#).await
    }

    /// A call whose caller gives up.
    pub(super) async fn call_within(
        &self,
        limit: Duration,
    ) -> Option<Result<String, BackendError>> {
        tokio::time::timeout(limit, self.call()).await.ok()
    }
}

pub(super) async fn call(
    upstream: &Upstream,
    method: &str,
    params: &str,
) -> Result<String, BackendError> {
    call_noted(upstream, method, params, &SendTimestamp::new(Arc::new(SystemClock))).await
}

fn nobodys_turn() -> Turn {
    let global = GlobalRules::default();
    let agent = Agent::implicit();
    let sieve = ToolFilter::of(&global, &agent, Tier::Deep);
    let view = Arc::new(View::build(&Arc::default(), &sieve));
    let id = TurnId::new(SystemClock.wall(), 0);
    Turn::open(id, SystemClock.now(), Actor::endless(Principal::local()), view, Arc::default())
}

/// The same for somebody who wants to know when it left.
pub(super) async fn call_noted(
    upstream: &Upstream,
    method: &str,
    params: &str,
    departure: &SendTimestamp,
) -> Result<String, BackendError> {
    let client = ClientFacts::default();
    let turn = nobodys_turn();
    let job = BackendJob {
        method,
        params: Object::parse(params).unwrap(),
        arguments: None,
        turn: &turn,
        id: None,
        trace: None,
        client: &client,
        mirrored: Vec::new(),
        events: None,
        progress: ProgressReporting::Unwanted,
        waits: None,
        until: None,
        departure,
    };
    upstream.connection().await?.run(job).await.map(|answer| answer.result.get().to_owned())
}

pub(super) fn server() -> Server {
    let words = vec!["fake".to_owned()];
    let transport = ServerTransport::Stdio(StdioCommand::new(words));
    Server {
        calibrate: ServerCalibration::OnCommand,
        restart: RestartSettings {
            backoff: Duration::from_millis(500),
            ..RestartSettings::default()
        },
        timeout: Duration::from_secs(30),
        allow: Vec::new(),
        ..Server::new(ServerId::parse("fake").unwrap(), transport)
    }
}

#[async_trait]
impl Connector for Fake {
    async fn connect(
        &self,
        listener: Arc<dyn ServerListener>,
    ) -> Result<ServerLink, ServerDownError> {
        self.connects.fetch_add(1, Ordering::Relaxed);
        let Script { connects, revision, .. } = self.script.lock().clone();
        connects?;
        *self.listener.lock() = Some(listener);
        let connection = Arc::new(FakeConnection {
            fake: self.clone(),
            facts: ServerFacts {
                revision,
                capabilities: raw(r#"{"tools":{},"prompts":{},"resources":{}}"#.to_owned()),
                info: None,
                instructions: None,
            },
        });
        Ok(ServerLink { connection, process: None })
    }

    fn nature(&self) -> UpstreamKind {
        self.nature
    }
}

struct FakeConnection {
    fake: Fake,
    facts: ServerFacts,
}

#[async_trait]
impl McpConnection for FakeConnection {
    fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    async fn request(&self, request: OutgoingRequest<'_>) -> Result<Answer, RequestError> {
        let script = self.fake.script.lock().clone();
        let (reply, result) = match request.method {
            "tools/list" => {
                self.fake.lists.fetch_add(1, Ordering::Relaxed);
                let tools: Vec<String> =
                    script.tools.iter().map(|name| format!(r#"{{"name":"{name}"}}"#)).collect();
                (script.lists, format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
            }
            "resources/list" => (Reply::Answer, r#"{"resources":[]}"#.to_owned()),
            "resources/templates/list" => (Reply::Refuse, String::new()),
            "prompts/list" => (script.prompts, r#"{"prompts":[{"name":"p"}]}"#.to_owned()),
            "ping" => (script.pings, "{}".to_owned()),
            _ => (script.calls, r#"{"content":[]}"#.to_owned()),
        };
        match reply {
            Reply::Answer => Ok(Answer { kind: AnswerKind::Complete, result: raw(result) }),
            Reply::Refuse => {
                let code = if request.method.contains("templates") { -32601 } else { -32000 };
                Err(RequestError::Refused(JsonRpcError::new(code, "not today")))
            }
            Reply::Lose => Err(RequestError::Lost("connection refused".to_owned())),
            Reply::Silence => std::future::pending().await,
        }
    }

    async fn notify(&self, _: &str, _: Object<'_>) -> Result<(), RequestError> {
        Ok(())
    }

    async fn watch(&self, resources: &[String]) -> Result<(), RequestError> {
        self.fake.watched.lock().push(resources.join(" "));
        Ok(())
    }

    async fn close(&self) {}
}

/// The params of a notification.
pub(super) fn params(text: &str) -> Box<RawValue> {
    raw(text.to_owned())
}
