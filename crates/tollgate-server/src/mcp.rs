//! The MCP front, for both eras and whatever carries it. `modern` and `legacy` say what a request
//! means, `dress` how an answer looks; `http` and `stdio` carry the messages.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use tollgate_core::budget::Tier;
use tollgate_core::call::Kind;
use tollgate_core::filter::Narrow;
use tollgate_core::json::Object;
use tollgate_core::trace;
use tollgate_engine::caller::Rest;
use tollgate_engine::clock::Clock;
use tollgate_engine::gate::Gate;
use tollgate_llm::agent::Chat;
use tollgate_llm::realtime::Hall;
use tollgate_mcp::tasks::Group;

use crate::admin::memory::Edits;
use crate::auth::{Keys, Lock, Right};
use crate::chat::Threads;
use crate::crowd::{Crowd, Guests};
use crate::filters;
use crate::limits::Limits;
use crate::operator::Operator;
use crate::pressure::Pressure;
use crate::refusal::Refused;
use crate::who::Who;

pub(crate) mod dress;
mod exchange;
mod headers;
pub(crate) mod http;
mod legacy;
mod listen;
mod method;
mod modern;
mod served;
mod session;
pub(crate) mod stdio;
mod voice;

use session::Sessions;

/// What all MCP requests share.
pub(crate) struct Front {
    pub(crate) gate: Arc<Gate>,
    pub(crate) chat: Arc<Chat>,
    pub(crate) threads: Arc<Threads>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) began: Instant,
    /// The same, by the wall clock as it stood then.
    pub(crate) began_at: SystemTime,
    /// Where it listens, once it does.
    pub(crate) address: OnceLock<SocketAddr>,
    pub(crate) limits: Limits,
    pub(crate) keys: Keys,
    pub(crate) sessions: Sessions,
    /// Legacy calls whose client went away without cancelling them.
    survivors: Arc<Group>,
    /// Streams that would go on for ever end when it is cancelled.
    pub(crate) stop: CancellationToken,
    /// The way to the config, where there is one.
    pub(crate) operator: OnceLock<Arc<dyn Operator>>,
    /// How short of memory we are.
    pub(crate) pressure: Pressure,
    pub(crate) crowd: Arc<Crowd>,
    /// Where live sessions are held, and how many.
    pub(crate) hall: Arc<Hall>,
    pub(crate) live: Arc<Crowd>,
    /// Entities of the memory that an admin is changing.
    pub(crate) edits: Edits,
    /// Whether its clients can come back for what an answer has no room for.
    pub(crate) rest: Rest,
}

impl Front {
    /// Must be called within a runtime.
    pub(crate) fn new(gate: Arc<Gate>, clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let chat = Arc::new(Chat::offline(Arc::clone(&gate), Arc::clone(&clock)));
        let hall = Hall::new(Arc::clone(&gate), Arc::clone(&chat), Arc::clone(&clock));
        Self {
            gate,
            chat,
            hall: Arc::new(hall),
            threads: Arc::new(Threads::new()),
            keys: Keys::new(Arc::clone(&clock), Lock::default()),
            sessions: Sessions::new(Arc::clone(&clock), &limits),
            edits: Edits::default(),
            began: clock.now(),
            began_at: clock.wall(),
            address: OnceLock::new(),
            clock,
            survivors: Arc::new(Group::new("legacy call", limits.in_flight)),
            stop: CancellationToken::new(),
            operator: OnceLock::new(),
            rest: Rest::Readable,
            pressure: Pressure::new(limits.memory.clone()),
            crowd: Crowd::new(Guests::Requests, &limits),
            live: Crowd::new(Guests::LiveSessions, &limits),
            limits,
        }
    }
}

const META_AGENT: &str = "dev.tollgate/agent";
const META_TIER: &str = "dev.tollgate/tier";
const META_CONVERSATION: &str = "dev.tollgate/conversation";

impl Who {
    /// Reading is for whoever was let in; running something is a right.
    pub(crate) fn may(&self, kind: Kind) -> Result<(), Refused> {
        match kind {
            Kind::CallTool | Kind::Task(_) => Ok(self.rights.need(Right::Execute)?),
            Kind::ReadResource | Kind::GetPrompt | Kind::Complete => Ok(()),
        }
    }

    /// Adds what the request's `_meta` asks for. The route and the headers were there first.
    fn with_wishes(mut self, meta: &Object<'_>) -> Result<Self, Refused> {
        if self.agent.is_none() && meta.contains(META_AGENT) {
            let agent = meta.string(META_AGENT);
            self.agent = Some(agent.ok_or_else(|| wrong(META_AGENT, "a string"))?.into());
        }
        self.with_limits(meta)
    }

    /// What of it can change from request to request.
    fn with_limits(mut self, meta: &Object<'_>) -> Result<Self, Refused> {
        if self.tier.is_none() && meta.contains(META_TIER) {
            let tier = meta.string(META_TIER).and_then(|text| Tier::parse(&text));
            self.tier = Some(tier.ok_or_else(|| wrong(META_TIER, "fast, standard or deep"))?);
        }
        Ok(self.narrowed(by_meta(meta)?))
    }
}

/// What of a client's `_meta` goes on to a server: not what was for this hop, nor for us.
fn passed_on(meta: &mut Object<'_>) -> Option<Box<RawValue>> {
    tollgate_mcp::meta::strip_hop_keys(meta);
    for key in trace::KEYS {
        meta.remove(key);
    }
    for key in [META_AGENT, META_TIER, META_CONVERSATION].into_iter().chain(filters::meta_keys()) {
        meta.remove(key);
    }
    (!meta.is_empty()).then(|| meta.to_raw())
}

/// What a `_meta` takes away.
fn by_meta(meta: &Object<'_>) -> Result<Narrow, Refused> {
    filters::by_meta(meta).map_err(|bad| Refused::bad_params(bad.to_string()))
}

fn put_meta(params: &mut Object<'_>, meta: Option<Box<RawValue>>) {
    match meta {
        Some(meta) => params.set("_meta", meta),
        None => {
            params.remove("_meta");
        }
    }
}

fn wrong(key: &str, expected: &str) -> Refused {
    Refused::bad_params(format!("`_meta` has a `{key}` that is not {expected}"))
}
