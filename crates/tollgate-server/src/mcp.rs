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

use crate::access::RefusedAccess;
use crate::admin::memory::Edits;
use crate::auth::{Keys, Lock, Right};
use crate::body::BodyBudget;
use crate::chat::Threads;
use crate::crowd::{Crowd, Guests};
use crate::filters;
use crate::limits::Limits;
use crate::operator::Operator;
use crate::pressure::Pressure;
use crate::readiness::MemoryCheck;
use crate::refusal::Refused;
use crate::who::{Link, Who};

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

use session::SessionRegistry;

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
    pub(crate) refused: RefusedAccess,
    pub(crate) sessions: SessionRegistry,
    /// Legacy calls whose client went away without cancelling them.
    survivors: Arc<Group>,
    /// The end has begun: the gateway is not ready any more, and answers all the same.
    pub(crate) stopping: CancellationToken,
    /// The time in which it still answers is over.
    pub(crate) grace_over: CancellationToken,
    /// New work is refused, and streams that would go on for ever end.
    pub(crate) stop: CancellationToken,
    /// What still runs is cut.
    pub(crate) cut: CancellationToken,
    /// The way to the config, where there is one.
    pub(crate) operator: OnceLock<Arc<dyn Operator>>,
    /// How short of memory we are.
    pub(crate) pressure: Pressure,
    pub(crate) crowd: Arc<Crowd>,
    /// How many only listen.
    pub(crate) streams: Arc<Crowd>,
    /// Memory for the bodies of requests.
    pub(crate) bodies: Arc<BodyBudget>,
    /// Where live sessions are held, and how many.
    pub(crate) hall: Arc<Hall>,
    pub(crate) live: Arc<Crowd>,
    /// Entities of the memory that an admin is changing.
    pub(crate) edits: Edits,
    /// How the memory's database is.
    pub(crate) memory_check: Option<MemoryCheck>,
    /// Whether its clients can come back for what an answer has no room for.
    pub(crate) rest: Rest,
}

impl Front {
    /// Must be called within a runtime.
    pub(crate) fn new(gate: Arc<Gate>, clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let checking = Arc::clone(&clock);
        let memory_check = MemoryCheck::start(&gate, move || checking.now());
        let chat = Arc::new(Chat::offline(Arc::clone(&gate), Arc::clone(&clock)));
        let hall = Hall::new(Arc::clone(&gate), Arc::clone(&chat), Arc::clone(&clock));
        Self {
            gate,
            chat,
            hall: Arc::new(hall),
            threads: Arc::new(Threads::new()),
            keys: Keys::new(Arc::clone(&clock), Lock::default()),
            sessions: SessionRegistry::new(Arc::clone(&clock), &limits),
            refused: RefusedAccess::new(&limits),
            edits: Edits::default(),
            memory_check,
            began: clock.now(),
            began_at: clock.wall(),
            address: OnceLock::new(),
            clock,
            survivors: Arc::new(Group::new("legacy call", limits.in_flight)),
            stopping: CancellationToken::new(),
            grace_over: CancellationToken::new(),
            stop: CancellationToken::new(),
            cut: CancellationToken::new(),
            operator: OnceLock::new(),
            rest: Rest::Readable,
            pressure: Pressure::new(limits.memory.clone()),
            crowd: Crowd::new(Guests::Requests, &limits),
            streams: Crowd::new(Guests::Streams, &limits),
            bodies: BodyBudget::new(&limits.memory),
            live: Crowd::new(Guests::LiveSessions, &limits),
            limits,
        }
    }
}

const META_AGENT: &str = "dev.tollgate/agent";
const META_TIER: &str = "dev.tollgate/tier";
const META_CONVERSATION: &str = "dev.tollgate/conversation";
const META_TURN: &str = "dev.tollgate/turn";

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
        let (conversation, turn) = (meta.string(META_CONVERSATION), meta.string(META_TURN));
        if let Some(link) = Link::named(conversation.as_deref(), turn.as_deref()) {
            self.link = Some(match self.link {
                Some(outer) => Link::continued(&format!("{} {}", outer.name, link.name)),
                None => link,
            });
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
    let own = [META_AGENT, META_TIER, META_CONVERSATION, META_TURN];
    for key in own.into_iter().chain(filters::meta_keys()) {
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
