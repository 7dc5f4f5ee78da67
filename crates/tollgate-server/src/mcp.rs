//! MCP front, for both protocol eras and all transports. `modern` and `legacy` interpret requests,
//! `encode` writes results, `http` and `stdio` transport the messages.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use tollgate_core::budget::Tier;
use tollgate_core::call::RequestKind;
use tollgate_core::filter::RequestFilter;
use tollgate_core::json::Object;
use tollgate_core::trace;
use tollgate_engine::caller::OverflowPolicy;
use tollgate_engine::clock::Clock;
use tollgate_engine::gate::Gate;
use tollgate_llm::agent::ChatService;
use tollgate_llm::realtime::RealtimeSessionRegistry;
use tollgate_mcp::tasks::TaskGroup;

use crate::access::RefusedAccess;
use crate::admin::memory::EntityEditLocks;
use crate::auth::{Authenticator, AuthenticatorOptions, Right};
use crate::body::BodyBudget;
use crate::chat::ResponseStore;
use crate::config_service::ConfigService;
use crate::error_mapping::McpRequestError;
use crate::filters;
use crate::in_flight::{InFlightClass, InFlightLimit};
use crate::limits::Limits;
use crate::pressure::MemoryPressure;
use crate::readiness::MemoryCheck;
use crate::request_context::{RequestContext, RequestLink};

pub(crate) mod encode;
mod exchange;
mod headers;
pub(crate) mod http;
mod legacy;
mod listen;
mod method;
mod modern;
mod notifications;
mod request_span;
mod session;
pub(crate) mod stdio;

use session::McpSessionRegistry;

/// State shared by all requests of all fronts.
pub(crate) struct AppState {
    pub(crate) gate: Arc<Gate>,
    pub(crate) chat: Arc<ChatService>,
    pub(crate) threads: Arc<ResponseStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) began: Instant,
    /// The same as wall clock time.
    pub(crate) began_at: SystemTime,
    /// Listen address, once bound.
    pub(crate) address: OnceLock<SocketAddr>,
    pub(crate) limits: Limits,
    pub(crate) keys: Authenticator,
    pub(crate) refused: RefusedAccess,
    pub(crate) sessions: McpSessionRegistry,
    /// Legacy calls whose client disconnected without cancelling them.
    survivors: Arc<TaskGroup>,
    /// Shutdown was requested: the gateway reports not ready, but still serves.
    pub(crate) stopping: CancellationToken,
    /// The grace period, in which it still serves, is over.
    pub(crate) grace_over: CancellationToken,
    /// New work is refused, and endless streams end.
    pub(crate) stop: CancellationToken,
    /// Running work is aborted.
    pub(crate) cut: CancellationToken,
    /// Access to the config, if there is one.
    pub(crate) operator: OnceLock<Arc<dyn ConfigService>>,
    /// Memory pressure level.
    pub(crate) pressure: MemoryPressure,
    pub(crate) crowd: Arc<InFlightLimit>,
    /// Limit on streams that only listen.
    pub(crate) streams: Arc<InFlightLimit>,
    /// Memory budget for request bodies.
    pub(crate) bodies: Arc<BodyBudget>,
    /// Registry of realtime sessions, with their limit.
    pub(crate) hall: Arc<RealtimeSessionRegistry>,
    pub(crate) live: Arc<InFlightLimit>,
    /// Memory entities that an admin is changing.
    pub(crate) edits: EntityEditLocks,
    /// Health of the memory's database.
    pub(crate) memory_check: Option<MemoryCheck>,
    /// Whether clients can fetch the rest of a result that does not fit into a response.
    pub(crate) rest: OverflowPolicy,
}

impl AppState {
    /// Must be called within a runtime.
    pub(crate) fn new(gate: Arc<Gate>, clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let checking = Arc::clone(&clock);
        let memory_check = MemoryCheck::start(&gate, move || checking.now());
        let chat = Arc::new(ChatService::offline(Arc::clone(&gate), Arc::clone(&clock)));
        let hall =
            RealtimeSessionRegistry::new(Arc::clone(&gate), Arc::clone(&chat), Arc::clone(&clock));
        Self {
            gate,
            chat,
            hall: Arc::new(hall),
            threads: Arc::new(ResponseStore::new()),
            keys: Authenticator::new(Arc::clone(&clock), AuthenticatorOptions::default()),
            sessions: McpSessionRegistry::new(Arc::clone(&clock), &limits),
            refused: RefusedAccess::new(&limits),
            edits: EntityEditLocks::default(),
            memory_check,
            began: clock.now(),
            began_at: clock.wall(),
            address: OnceLock::new(),
            clock,
            survivors: Arc::new(TaskGroup::new("legacy call", limits.in_flight)),
            stopping: CancellationToken::new(),
            grace_over: CancellationToken::new(),
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
            operator: OnceLock::new(),
            rest: OverflowPolicy::Readable,
            pressure: MemoryPressure::new(limits.memory.clone()),
            crowd: InFlightLimit::new(InFlightClass::Requests, &limits),
            streams: InFlightLimit::new(InFlightClass::Streams, &limits),
            bodies: BodyBudget::new(&limits.memory),
            live: InFlightLimit::new(InFlightClass::LiveSessions, &limits),
            limits,
        }
    }
}

const META_AGENT: &str = "dev.tollgate/agent";
const META_TIER: &str = "dev.tollgate/tier";
const META_CONVERSATION: &str = "dev.tollgate/conversation";
const META_TURN: &str = "dev.tollgate/turn";

impl RequestContext {
    /// Reading needs no right beyond authentication. Running a tool needs `execute`.
    pub(crate) fn may(&self, kind: RequestKind) -> Result<(), McpRequestError> {
        match kind {
            RequestKind::CallTool | RequestKind::Task(_) => Ok(self.rights.need(Right::Execute)?),
            RequestKind::ReadResource | RequestKind::GetPrompt | RequestKind::Complete => Ok(()),
        }
    }

    /// Adds the settings of the request's `_meta`. Route and headers take precedence.
    fn with_wishes(mut self, meta: &Object<'_>) -> Result<Self, McpRequestError> {
        if self.agent.is_none() && meta.contains(META_AGENT) {
            let agent = meta.string(META_AGENT);
            self.agent = Some(agent.ok_or_else(|| wrong(META_AGENT, "a string"))?.into());
        }
        self.with_limits(meta)
    }

    /// Settings that may differ between requests of one session.
    fn with_limits(mut self, meta: &Object<'_>) -> Result<Self, McpRequestError> {
        if self.tier.is_none() && meta.contains(META_TIER) {
            let tier = meta.string(META_TIER).and_then(|text| Tier::parse(&text));
            self.tier = Some(tier.ok_or_else(|| wrong(META_TIER, "fast, standard or deep"))?);
        }
        let (conversation, turn) = (meta.string(META_CONVERSATION), meta.string(META_TURN));
        if let Some(link) = RequestLink::from_names(conversation.as_deref(), turn.as_deref()) {
            self.link = Some(match self.link {
                Some(outer) => RequestLink::continuation(&format!("{} {}", outer.name, link.name)),
                None => link,
            });
        }
        Ok(self.with_narrow(by_meta(meta)?))
    }
}

/// The part of a client's `_meta` that is forwarded to a server: without keys of this hop and our
/// own.
fn passed_on(meta: &mut Object<'_>) -> Option<Box<RawValue>> {
    tollgate_mcp::meta::strip_hop_keys(meta);
    for key in trace::KEYS {
        meta.remove(key);
    }
    let own = [META_AGENT, META_TIER, META_CONVERSATION, META_TURN];
    for key in own.into_iter().chain(filters::meta_keys()) {
        meta.remove(key);
    }
    (!meta.is_empty()).then(|| meta.to_raw())
}

/// The filter from `_meta`.
fn by_meta(meta: &Object<'_>) -> Result<RequestFilter, McpRequestError> {
    filters::by_meta(meta).map_err(|bad| McpRequestError::bad_params(bad.to_string()))
}

fn put_meta(params: &mut Object<'_>, meta: Option<Box<RawValue>>) {
    match meta {
        Some(meta) => params.set("_meta", meta),
        None => {
            params.remove("_meta");
        }
    }
}

fn wrong(key: &str, expected: &str) -> McpRequestError {
    McpRequestError::bad_params(format!("`_meta` has a `{key}` that is not {expected}"))
}
