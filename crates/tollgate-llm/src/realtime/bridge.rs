//! Bridge for hosts that hold their own realtime sessions: declares an agent's tools to a session
//! and runs the calls that come back.
//!
//! Called by programs that embed Tollgate. Independent of sockets and protocols. Every call goes
//! through the gate and is checked against the view of the tier that is current when it arrives.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Mutex as Turnstile, watch};
use tollgate_core::agent::RequestedTier;
use tollgate_core::budget::Tier;
use tollgate_core::call::{CallStatus, Outcome};
use tollgate_core::shaping;
use tollgate_core::tool::{ResultDelivery, SpeechTemplate};
use tollgate_core::turn::{Actor, Principal, Taint, Turn};
use tollgate_engine::gate::{Gate, TurnRequest, UnknownAgentError};
use tollgate_mcp::tasks::{self, Task, TaskGroup};

use super::calls::{self, RealtimeCallRunner};
use super::events::RealtimeCall;
use super::outcome_json;
use super::protocol::RealtimeProtocol;
use super::tool_declarations::declare_tools;

/// Call timeout, unless another one is set.
const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Catalogue changes within this time are declared together.
const DECLARE_DEBOUNCE: Duration = Duration::from_millis(250);
/// Late results of pending calls that are awaited at once.
const MAX_AWAITED_LATE_RESULTS: usize = 64;

/// Error of a host's session that rejects tools.
pub type HostSessionError = Box<dyn std::error::Error + Send + Sync>;

/// A realtime session held by the host itself.
#[async_trait]
pub trait HostSession: Send + Sync {
    /// Declares these tools to the model, replacing all earlier declarations.
    async fn set_tools(&self, tools: Vec<Value>) -> Result<(), HostSessionError>;

    /// Registers the handler of the model's calls. Called once, before tools are declared.
    fn on_tool_call(&self, handler: BridgeCallHandler);

    /// Protocol of the session's model: determines the format of definitions, and the size limits
    /// of results.
    fn live(&self) -> RealtimeProtocol {
        RealtimeProtocol::OpenAi
    }

    /// A call is slow; this text may be spoken meanwhile.
    fn slow(&self, _call: &RealtimeCall, _message: &str) {}

    /// Late result of a call that was answered as pending.
    fn late(&self, _call: &RealtimeCall, _reply: Reply) {}
}

/// Runs the calls of a session concurrently, without a limit of its own.
#[derive(Clone)]
pub struct BridgeCallHandler(Weak<BridgeCore>);

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: CallStatus,
    /// For the model: a JSON object, `{status, message, data, …}`, within the session's size
    /// limits.
    pub outcome: String,
}

/// An agent's tools in a session. Dropping it closes the bridge.
pub struct Bridge {
    core: Arc<BridgeCore>,
    _following: Task,
}

/// Why a session did not get its tools.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error(transparent)]
    UnknownAgent(#[from] UnknownAgentError),
    #[error("the session rejected the tools: {0}")]
    Refused(#[source] HostSessionError),
    #[error("the bridge is closed")]
    Closed,
}

struct BridgeCore {
    gate: Arc<Gate>,
    session: Arc<dyn HostSession>,
    agent: Arc<str>,
    live: RealtimeProtocol,
    terms: Mutex<BridgeTerms>,
    /// The tools declared to the session; `None`: unknown. Locked during a declaration, so that
    /// changes are applied one at a time.
    declared: Turnstile<Option<Vec<Value>>>,
    phase: watch::Sender<BridgePhase>,
    /// Tasks that await late results of pending calls.
    late: TaskGroup,
    /// Recent output of untrusted servers: a bridge does not know where a turn ends.
    taint: Arc<Taint>,
}

#[derive(Debug, Clone)]
struct BridgeTerms {
    tier: Tier,
    timeout: Duration,
    principal: Principal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BridgePhase {
    Open,
    Closed,
}

impl Bridge {
    /// Declares the agent's tools at this tier, and registers the call handler.
    pub async fn new(
        gate: Arc<Gate>,
        session: Arc<dyn HostSession>,
        agent: &str,
        tier: Tier,
    ) -> Result<Self, BridgeError> {
        let live = session.live();
        let terms =
            BridgeTerms { tier, timeout: DEFAULT_CALL_TIMEOUT, principal: Principal::local() };
        let core = Arc::new(BridgeCore {
            agent: agent.into(),
            live,
            terms: Mutex::new(terms),
            declared: Turnstile::new(None),
            phase: watch::Sender::new(BridgePhase::Open),
            late: TaskGroup::new("late results of a bridge", MAX_AWAITED_LATE_RESULTS),
            taint: gate.session_taint(),
            gate,
            session,
        });
        // Subscribed before the first declaration, so that no change is missed.
        let changes = core.gate.changes();
        let tools = core.tools(tier)?;
        core.session.on_tool_call(BridgeCallHandler(Arc::downgrade(&core)));
        core.declare(&mut *core.declared.lock().await, tools).await?;
        let following = tasks::spawn("bridge", follow(Arc::downgrade(&core), changes));
        Ok(Self { core, _following: following })
    }

    /// Timeout of a call at any tier; the default is 30 s.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.core.terms.lock().timeout = timeout;
        self
    }

    /// Principal of the calls: recorded in the audit trail, and its limits apply.
    #[must_use]
    pub fn with_principal(self, principal: Principal) -> Self {
        self.core.terms.lock().principal = principal;
        self
    }

    pub fn tier(&self) -> Tier {
        self.core.terms.lock().tier
    }

    /// Changes the tier: for calls from now on, and for the declared tools, if they differ. If the
    /// session rejects them, nothing changes.
    pub async fn update_tier(&self, tier: Tier) -> Result<(), BridgeError> {
        let mut declared = self.core.declared.lock().await;
        if self.core.is_closed() {
            return Err(BridgeError::Closed);
        }
        let tools = self.core.tools(tier)?;
        // Set before the session is told: declared tools can be called at once.
        let before = std::mem::replace(&mut self.core.terms.lock().tier, tier);
        let done = self.core.declare(&mut declared, tools).await;
        if done.is_err() {
            self.core.terms.lock().tier = before;
        }
        done
    }

    /// Accepts no more calls, cancels running ones, and removes our tools from the session.
    pub async fn close(&self) {
        self.core.phase.send_replace(BridgePhase::Closed);
        let mut declared = self.core.declared.lock().await;
        // A session that is gone has no tools anyway.
        let _ = self.core.declare(&mut declared, Vec::new()).await;
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.core.phase.send_replace(BridgePhase::Closed);
    }
}

impl BridgeCallHandler {
    /// Runs one call. Dropping the future cancels it at its server.
    pub async fn call(&self, call: RealtimeCall) -> Reply {
        let Some(core) = self.0.upgrade() else { return closed_reply() };
        let mut phase = core.phase.subscribe();
        tokio::select! {
            biased;
            _ = phase.wait_for(|phase| *phase == BridgePhase::Closed) => closed_reply(),
            reply = core.run(call) => reply,
        }
    }
}

impl BridgeCore {
    fn is_closed(&self) -> bool {
        *self.phase.borrow() == BridgePhase::Closed
    }

    fn turn(&self, tier: Tier) -> Result<Turn, UnknownAgentError> {
        let principal = self.terms.lock().principal.clone();
        let agent = Some(&*self.agent);
        self.gate.turn(TurnRequest {
            agent,
            budget: RequestedTier::Selected(tier),
            ..TurnRequest::by(Actor::endless(principal))
        })
    }

    /// Definitions of the agent's tools at a tier.
    fn tools(&self, tier: Tier) -> Result<Vec<Value>, UnknownAgentError> {
        let agent = self.gate.agent(&self.agent)?;
        let turn = self.turn(tier)?;
        let shown = declare_tools(&agent, &turn, self.live);
        Ok(shown.into_iter().map(|tool| Arc::unwrap_or_clone(tool.definition)).collect())
    }

    async fn declare(
        &self,
        declared: &mut Option<Vec<Value>>,
        tools: Vec<Value>,
    ) -> Result<(), BridgeError> {
        if declared.as_ref() == Some(&tools) {
            return Ok(());
        }
        // The caller may cancel, or the session may fail half-way: then declare again next time.
        *declared = None;
        self.session.set_tools(tools.clone()).await.map_err(BridgeError::Refused)?;
        *declared = Some(tools);
        Ok(())
    }

    async fn run(&self, call: RealtimeCall) -> Reply {
        let BridgeTerms { tier, timeout, principal } = self.terms.lock().clone();
        let turn = match self.turn(tier) {
            Ok(turn) => turn,
            Err(unknown) => return denied_reply(&unknown.to_string()),
        };
        let form = self.live.form();
        let caps = self.live.caps();
        let tool = calls::resolve_tool(&turn, &call, form);
        let delivery = tool.as_ref().map_or(ResultDelivery::Wait, |tool| tool.terms.delivery);
        // The deadline applies only to calls that are waited for; others only have their own
        // limits.
        let deadline = turn.deadline.filter(|_| delivery == ResultDelivery::Wait);
        let gate = Arc::clone(&self.gate);
        let turn = Turn { deadline, taint: Arc::clone(&self.taint), ..turn };
        let runner = RealtimeCallRunner { gate, turn, form, caps, provider: None };
        let running = runner.run(&call, |message| self.session.slow(&call, &message));
        let outcome = tokio::time::timeout(timeout, running).await.unwrap_or_else(|_| {
            let message = format!("`{}` did not answer within {timeout:?}", call.name);
            shaping::failure(CallStatus::Timeout, &message, timeout)
        });
        let speech = calls::speech(tool.as_ref());
        let reply = self.reply(&outcome, &speech);
        self.await_late(call, principal, &outcome, speech);
        reply
    }

    fn reply(&self, outcome: &Outcome, speech: &SpeechTemplate) -> Reply {
        let text = outcome_json::encode_outcome(outcome, speech, &self.live.caps());
        Reply { status: outcome.status, outcome: text }
    }

    /// Reports the late result of a pending call to the session.
    fn await_late(
        &self,
        call: RealtimeCall,
        principal: Principal,
        outcome: &Outcome,
        speech: SpeechTemplate,
    ) {
        let (CallStatus::Pending, Some(handle)) = (outcome.status, outcome.handle) else { return };
        let gate = Arc::clone(&self.gate);
        let session = Arc::clone(&self.session);
        let phase = self.phase.subscribe();
        let caps = self.live.caps();
        let taint = Arc::clone(&self.taint);
        let waiting = async move {
            let late_result = calls::await_late_result(Arc::clone(&gate), principal, handle).await;
            let Some(outcome) = late_result else { return };
            if *phase.borrow() == BridgePhase::Open {
                gate.note_later(&taint, &outcome);
                let text = outcome_json::encode_outcome(&outcome, &speech, &caps);
                session.late(&call, Reply { status: outcome.status, outcome: text });
            }
        };
        if self.late.spawn(waiting).is_err() {
            tracing::warn!(
                "a late result is not delivered: {MAX_AWAITED_LATE_RESULTS} are already awaited"
            );
        }
    }
}

/// Declares the tools again whenever a catalogue change affects the agent.
async fn follow(core: Weak<BridgeCore>, mut changes: watch::Receiver<u64>) {
    while changes.changed().await.is_ok() {
        tokio::time::sleep(DECLARE_DEBOUNCE).await;
        changes.mark_unchanged();
        let Some(core) = core.upgrade() else { return };
        let mut declared = core.declared.lock().await;
        if core.is_closed() {
            return;
        }
        let tier = core.terms.lock().tier;
        // A removed agent has no tools.
        let tools = core.tools(tier).unwrap_or_default();
        if let Err(error) = core.declare(&mut declared, tools).await {
            tracing::warn!(agent = %core.agent, %error, "a session keeps the tools it had");
        }
    }
}

fn closed_reply() -> Reply {
    denied_reply("the session is closed")
}

fn denied_reply(message: &str) -> Reply {
    let outcome = shaping::failure(CallStatus::Denied, message, Duration::ZERO);
    let text = outcome_json::encode_outcome(
        &outcome,
        &SpeechTemplate::default(),
        &RealtimeProtocol::OpenAi.caps(),
    );
    Reply { status: CallStatus::Denied, outcome: text }
}
