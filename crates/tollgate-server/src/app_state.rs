//! The state that all fronts share: the gate, the keys, the limits, and what stops it all. Holds
//! things together and decides nothing.

use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

use tokio_util::sync::CancellationToken;
use tollgate_engine::caller::OverflowPolicy;
use tollgate_engine::clock::Clock;
use tollgate_engine::gate::Gate;
use tollgate_llm::agent::ChatService;
use tollgate_llm::realtime::RealtimeSessionRegistry;
use tollgate_mcp::tasks::TaskGroup;

use crate::access::RefusedAccess;
use crate::auth::{Authenticator, AuthenticatorOptions};
use crate::body::BodyBudget;
use crate::call_registry::CallRegistry;
use crate::config_service::ConfigService;
use crate::entity_edit_locks::EntityEditLocks;
use crate::in_flight::{InFlightClass, InFlightLimit};
use crate::incoming_calls::IncomingCalls;
use crate::limits::Limits;
use crate::mcp_session::McpSessionRegistry;
use crate::memory_check::MemoryCheck;
use crate::phone_lines::PhoneLineRegistry;
use crate::pressure::MemoryPressure;
use crate::realtime_threads::RealtimeThreads;
use crate::response_store::ResponseStore;
use crate::unproven_senders::UnprovenSenders;

/// What all requests share.
pub(crate) struct AppState {
    pub(crate) gate: Arc<Gate>,
    pub(crate) chat: Arc<ChatService>,
    pub(crate) threads: Arc<ResponseStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) began: Instant,
    /// The same, by the wall clock as it stood then.
    pub(crate) began_at: SystemTime,
    /// Where it listens, once it does.
    pub(crate) address: OnceLock<SocketAddr>,
    pub(crate) limits: Limits,
    pub(crate) keys: Authenticator,
    pub(crate) refused: RefusedAccess,
    pub(crate) sessions: McpSessionRegistry,
    /// Legacy calls whose client went away without cancelling them.
    pub(crate) survivors: Arc<TaskGroup>,
    /// The end has begun: the gateway is not ready any more, and answers all the same.
    pub(crate) stopping: CancellationToken,
    /// The time in which it still answers is over.
    pub(crate) grace_over: CancellationToken,
    /// New work is refused, and streams that would go on for ever end.
    pub(crate) stop: CancellationToken,
    /// What still runs is cut.
    pub(crate) cut: CancellationToken,
    /// The way to the config, where there is one.
    pub(crate) operator: OnceLock<Arc<dyn ConfigService>>,
    /// How short of memory we are.
    pub(crate) pressure: MemoryPressure,
    pub(crate) in_flight: Arc<InFlightLimit>,
    /// How many only listen.
    pub(crate) streams: Arc<InFlightLimit>,
    /// How many of them are operators'.
    pub(crate) operator_streams: Arc<InFlightLimit>,
    /// Events that readers of operators' streams missed, because they were too slow.
    pub(crate) missed_events: AtomicU64,
    /// Memory for the bodies of requests.
    pub(crate) bodies: Arc<BodyBudget>,
    /// Where live sessions are held, and how many.
    pub(crate) realtime_sessions: Arc<RealtimeSessionRegistry>,
    pub(crate) live: Arc<InFlightLimit>,
    pub(crate) telephony: PhoneLineRegistry,
    /// Tool calls of telephone platforms, which run to their end.
    pub(crate) telephone_calls: TaskGroup,
    pub(crate) realtime_threads: RealtimeThreads,
    /// Live sessions without a connection of their client.
    pub(crate) calls: CallRegistry,
    /// Logins and webhooks whose body is being read.
    pub(crate) unproven: Arc<UnprovenSenders>,
    /// Webhooks that announce calls.
    pub(crate) incoming: IncomingCalls,
    /// Entities of the memory that an admin is changing.
    pub(crate) edits: EntityEditLocks,
    /// How the memory's database is.
    pub(crate) memory_check: Option<MemoryCheck>,
    /// Whether its clients can come back for what an answer has no room for.
    pub(crate) rest: OverflowPolicy,
}

impl AppState {
    /// Must be called within a runtime.
    pub(crate) fn new(gate: Arc<Gate>, clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let checking = Arc::clone(&clock);
        let memory_check = MemoryCheck::start(&gate, move || checking.now());
        let chat = Arc::new(ChatService::offline(Arc::clone(&gate), Arc::clone(&clock)));
        let realtime_sessions =
            RealtimeSessionRegistry::new(Arc::clone(&gate), Arc::clone(&chat), Arc::clone(&clock));
        Self {
            gate,
            chat,
            realtime_sessions: Arc::new(realtime_sessions),
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
            in_flight: InFlightLimit::new(InFlightClass::Requests, &limits),
            streams: InFlightLimit::new(InFlightClass::Streams, &limits),
            operator_streams: InFlightLimit::new(InFlightClass::OperatorStreams, &limits),
            missed_events: AtomicU64::new(0),
            bodies: BodyBudget::new(&limits.memory),
            live: InFlightLimit::new(InFlightClass::LiveSessions, &limits),
            telephony: PhoneLineRegistry::default(),
            telephone_calls: TaskGroup::new("telephone call", limits.in_flight),
            realtime_threads: RealtimeThreads::new(),
            calls: CallRegistry::new(limits.live_sessions),
            unproven: UnprovenSenders::new(limits.unproven_bodies()),
            incoming: IncomingCalls::default(),
            limits,
        }
    }
}
