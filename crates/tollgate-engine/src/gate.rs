//! The door. Every call, from every front, passes `view → permit → admit → clear → plan → run →
//! shape` here; there is no other way to a backend.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tollgate_core::agent::{Agent, RequestedTier};
use tollgate_core::call::{CallStatus, GateRequest, Outcome, RequestKind, ResultHandle, TaskVerb};
use tollgate_core::catalog::Catalog;
use tollgate_core::filter::{RequestFilter, ToolExplanation};
use tollgate_core::id::ToolId;
use tollgate_core::json::Object;
use tollgate_core::policy::{self, Permitted, Refusal};
use tollgate_core::shaping;
use tollgate_core::trace::Trace;
use tollgate_core::turn::{Actor, Principal, PrincipalGrant, Turn};
use tollgate_mcp::tasks::TaskGroup;
use tollgate_sandbox::sandbox::ProgramSandbox;

use crate::answer;
use crate::approvals::{ApprovalParking as Held, ApprovalQueue};
use crate::audit::AuditLedger;
use crate::caller::{CallError, Caller, Dialogue, Reply};
use crate::calls::CallTracker;
use crate::clock::Clock;
use crate::conversations::Conversations;
use crate::executor::Executor;
use crate::limits::RateLimiter;
use crate::memory::MemoryService;
use crate::meters::{MeterReading, ToolMeters};
use crate::notices::{Notice, Notices};
pub use crate::policy_snapshot::UnknownAgentError;
use crate::probe_limiter::ProbeLimiter;
use crate::random::RandomSource;
use crate::recorder::{CallRecording, Recorder, RecordingPolicy};
pub use crate::registry::ToolVisibility;
use crate::registry::{CatalogRegistry, ViewQuery};
use crate::resource_watches::{self, ResourceWatch, ResourceWatches};
use crate::results::{ResultLookup, ResultStore};
use crate::reuse::{CacheStats, CallReuse};
use crate::revocations::{Revocations, until_revoked};
use crate::servers::{Readiness, ServerDirectory, ServerStatus};
use crate::settings::OnAuditFailure;
use crate::spans::Tracer;
use crate::tickets::TaskTickets;
use crate::upstream::{StateEpisode, TestReport, TrialRunner, Upstream};

mod again;
mod ask;
mod assembly;
mod code;
mod figures;
mod late;
mod late_approval;
mod origin;
mod permit;
mod reshape;
mod run;
mod secret_screen;
mod slow;
mod tier_choice;
mod trial;
mod trust;
mod turn_lease;

pub(crate) use assembly::GateParts;
pub(crate) use code::CodeBackend;
use code::LearnedTypes;
pub use code::ProgramNotRunError;
use origin::SessionTaints;
pub use origin::{TAINT_HOLDS, TurnLink};
pub use reshape::{SpokenOutcome, render_speech, whole};
use run::CallContext;
use secret_screen::{ContainsSecrets, SecretScreen};
use tier_choice::TierChoiceCounts;
pub use tier_choice::TierRequest;
pub use trial::TrialError;
pub use trust::{Answer, KnownTool, StoredPin, ToolExamination, TrustDecisionError};

pub struct Gate {
    pub(crate) registry: Arc<CatalogRegistry>,
    pub(crate) limits: Arc<RateLimiter>,
    pub(crate) revocations: Revocations,
    pub(crate) approvals: Arc<ApprovalQueue>,
    /// Calls whose callers come back with leave.
    pub(crate) held: Held,
    pub(crate) executor: Arc<Executor>,
    pub(crate) reuse: CallReuse,
    /// Those that wait for calls whose turn is over.
    pub(crate) late: TaskGroup,
    pub(crate) servers: ServerDirectory,
    pub(crate) trials: TrialRunner,
    pub(crate) watches: Arc<ResourceWatches>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn RandomSource>,
    pub(crate) recorder: Recorder,
    pub(crate) notices: Notices,
    pub(crate) results: Arc<ResultStore>,
    pub(crate) meters: Arc<ToolMeters>,
    pub(crate) probing: ProbeLimiter,
    pub(crate) conversations: Conversations,
    choices: TierChoiceCounts,
    pub(crate) taints: SessionTaints,
    /// Where the tools are measured.
    pub(crate) environment: String,
    /// Where programs run. Swapped when the config changes.
    pub(crate) sandbox: ArcSwap<ProgramSandbox>,
    pub(crate) lessons: LearnedTypes,
    pub(crate) tracer: Tracer,
    mind: Option<Arc<MemoryService>>,
}

/// Who asks for a turn, and with what wishes.
#[derive(Debug, Clone)]
pub struct TurnRequest<'a> {
    pub actor: Actor,
    /// `None`: nothing of its own limits the principal.
    pub grant: Option<Arc<PrincipalGrant>>,
    /// `None`: the default agent.
    pub agent: Option<&'a str>,
    pub budget: RequestedTier,
    /// What the request itself takes away.
    pub narrow: Option<&'a RequestFilter>,
    /// What the request is part of.
    pub trace: Option<Arc<Trace>>,
    /// Which other requests belong to the same turn; `None`: the turn is this request.
    pub link: Option<TurnLink<'a>>,
}

impl TurnRequest<'_> {
    /// All that the default agent has.
    pub fn by(actor: Actor) -> Self {
        Self {
            actor,
            grant: None,
            agent: None,
            budget: RequestedTier::Ceiling,
            narrow: None,
            trace: None,
            link: None,
        }
    }

    fn seen(&self) -> ViewQuery<'_> {
        ViewQuery {
            agent: self.agent,
            wish: self.budget,
            principal: self.grant.as_ref().and_then(|grant| grant.tools.as_deref()),
            request: self.narrow,
        }
    }
}

/// What is asked about a task: `params` are those of the MCP method.
#[derive(Debug)]
pub struct TaskRequest<'a> {
    pub verb: TaskVerb,
    pub params: Object<'a>,
}

impl Gate {
    /// Why each tool is in the view of such a turn, or out of it. Names what nobody can see.
    pub fn explain(
        &self,
        asked: &TurnRequest<'_>,
    ) -> Result<Vec<ToolExplanation>, UnknownAgentError> {
        self.registry.current().explain(asked.seen())
    }

    /// Runs one request. Dropping the future cancels it at the server.
    pub async fn call(
        &self,
        turn: &Turn,
        request: GateRequest<'_>,
        mut caller: Caller<'_>,
    ) -> Result<Reply, CallError> {
        let kind = request.kind;
        let policy = self.policy().with_purpose(caller.purpose);
        let mut recording = self.recorder.begin(turn, &request, policy).await;
        recording.set_provider(caller.provider);
        let turn = &*recording.within(turn);
        let reply = match self.screen_secrets(request, &mut caller).await {
            Ok(request) => self.permit_and_run(turn, request, (&mut recording, &caller)).await,
            Err(ContainsSecrets) if kind == RequestKind::CallTool => {
                recording.set_detail("secrets in its arguments");
                Ok(answer::secret_arguments_reply())
            }
            Err(ContainsSecrets) => Err(Refusal::Secretive.into()),
        };
        match recording.finish(&reply).await {
            Ok(()) => reply,
            Err(unwritten) => answer::withhold_unrecorded(reply, &unwritten),
        }
    }

    /// Refuses a call before it comes to anything: the trail knows of it all the same, and why.
    pub async fn decline(
        &self,
        turn: &Turn,
        request: GateRequest<'_>,
        (message, because): (&str, impl Into<Cow<'static, str>>),
    ) -> Outcome {
        let mut recording = self.recorder.begin(turn, &request, self.policy()).await;
        recording.set_owned_detail(because.into());
        let outcome = shaping::failure(CallStatus::Denied, message, Duration::ZERO);
        // A refusal that could not be written down is none the less one.
        let _ = recording.finish(&Ok(Reply::Tool(outcome.clone()))).await;
        outcome
    }

    async fn permit_and_run(
        &self,
        turn: &Turn,
        request: GateRequest<'_>,
        (recording, caller): (&mut CallRecording<'_>, &Caller<'_>),
    ) -> Result<Reply, CallError> {
        match self.permit(turn, request).await {
            Ok(permitted) => self.let_through(turn, permitted, (recording, caller)).await,
            Err(Refusal::InvalidArguments { tool, violations }) => {
                recording.target(&tool.id.server, Some(&tool));
                let refusal = Refusal::InvalidArguments { tool, violations };
                Ok(answer::failure_reply(CallStatus::InvalidArguments, &refusal.to_string()))
            }
            Err(Refusal::Away { name, server }) => {
                recording.target(&server, None);
                let how = self.servers.word(&server);
                let message = format!("`{name}` is unavailable: its server `{server}` is {how}");
                Ok(answer::failure_reply(CallStatus::Offline, &message))
            }
            Err(Refusal::Withheld { name, server }) => {
                recording.target(&server, None);
                let refusal = Refusal::Withheld { name, server };
                Ok(answer::failure_reply(CallStatus::Denied, &refusal.to_string()))
            }
            Err(refusal @ Refusal::OnlyInCode { .. }) => {
                Ok(answer::failure_reply(CallStatus::Denied, &refusal.to_string()))
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Runs what may run, if that can be written down.
    async fn let_through(
        &self,
        turn: &Turn,
        permitted: Permitted<'_>,
        (recording, caller): (&mut CallRecording<'_>, &Caller<'_>),
    ) -> Result<Reply, CallError> {
        if let Some(refused) = self.refuse_tainted(turn, &permitted, (recording, caller)) {
            return Ok(refused);
        }
        match recording.mark_permitted(&permitted) {
            Ok(course) => {
                let of_call = self.lease_for_tool(turn, &permitted);
                recording.set_lease(&of_call.lease);
                let way = CallContext { turn: &of_call, caller, course: &course };
                // Pinned here: passed by value, it would be in the future of each call twice.
                let running = std::pin::pin!(self.run(way, permitted));
                let ran = until_revoked(&of_call.lease, running).await;
                ran.unwrap_or_else(|why| {
                    recording.mark_revoked(&why);
                    answer::revocation_reply(turn, why)
                })
            }
            Err(unwritten) => answer::refuse_unaudited(&permitted, &unwritten),
        }
    }

    /// Runs independent calls side by side. The outcomes come in the order of the calls.
    pub async fn call_all(
        &self,
        turn: &Turn,
        requests: Vec<GateRequest<'_>>,
        caller: Caller<'_>,
    ) -> Vec<Result<Reply, CallError>> {
        let calls = requests.into_iter().map(|request| self.call(turn, request, caller.clone()));
        futures_util::future::join_all(calls).await
    }

    /// Asks after, feeds or cancels a task that an earlier call was answered with.
    pub async fn task(
        &self,
        turn: &Turn,
        request: TaskRequest<'_>,
        mut caller: Caller<'_>,
    ) -> Result<Box<RawValue>, CallError> {
        let TaskRequest { verb, params } = request;
        let tickets = TaskTickets { seal: &self.executor.seal, principal: &turn.principal };
        let shown = params.string("taskId").unwrap_or_default().into_owned();
        let request = GateRequest { kind: RequestKind::Task(verb), params };
        let mut recording = self.recorder.begin(turn, &request, self.policy()).await;
        let screened = self.screen_secrets(request, &mut caller).await;
        let permitted = match (tickets.open(&shown), screened) {
            (Some(ticket), Ok(it)) => policy::permit_task(turn, verb, ticket, it.params),
            (Some(_), Err(ContainsSecrets)) => Err(Refusal::Secretive),
            (None, _) => Err(Refusal::UnknownTask),
        };
        let reply = match permitted {
            Ok(permitted) => self.let_through(turn, permitted, (&mut recording, &caller)).await,
            Err(refusal) => Err(refusal.into()),
        };
        let reply = match reply {
            Ok(Reply::Result(result)) => {
                Ok(Reply::Result(TaskTickets::with_handle(&result, &shown)))
            }
            Ok(Reply::Tool(_) | Reply::InputRequired(_) | Reply::Task(_)) => Err(lost_task()),
            Err(error) => Err(error),
        };
        let reply = match recording.finish(&reply).await {
            Ok(()) => reply,
            Err(unwritten) => answer::withhold_unrecorded(reply, &unwritten),
        };
        match reply? {
            Reply::Result(result) => Ok(result),
            Reply::Tool(_) | Reply::InputRequired(_) | Reply::Task(_) => Err(lost_task()),
        }
    }

    /// All that goes on to the server: the request, and what its caller answered to questions.
    async fn screen_secrets<'a>(
        &self,
        request: GateRequest<'a>,
        caller: &mut Caller<'_>,
    ) -> Result<GateRequest<'a>, ContainsSecrets> {
        let screen = SecretScreen::of(&self.registry.current().charter);
        let Some(screen) = screen else { return Ok(request) };
        if let Dialogue::Rounds(retry) = &mut caller.dialogue {
            screen.pass_answers(retry).await?;
        }
        screen.pass(request).await
    }

    fn policy(&self) -> RecordingPolicy {
        RecordingPolicy::of(&self.registry.current().charter)
    }

    /// What was too much for an answer, or came too late for it. Says the same of what is not
    /// there and of what is another's.
    pub fn result(&self, principal: &Principal, handle: &str) -> ResultLookup {
        ResultHandle::parse(handle)
            .map_or(ResultLookup::Unknown, |handle| self.results.read(principal, handle))
    }

    /// How fast the tool is, and which tier it is in because of that; `None` if there is no such
    /// tool.
    pub fn reading(&self, tool: &ToolId) -> Option<MeterReading> {
        self.meters.reading(tool)
    }

    /// Makes spans of what is done for requests, where somebody follows them.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Calls that wait for a person's leave.
    pub fn approvals(&self) -> &ApprovalQueue {
        &self.approvals
    }

    /// Slow calls, late results, calls that wait for leave, tools that moved: from now on.
    pub fn notices(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.notices.listen()
    }

    /// Tells it to whoever listens.
    pub fn announce(&self, notice: Notice) {
        self.notices.tell(notice);
    }

    /// Changes with every new catalogue.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.registry.changes()
    }

    /// URIs of resources that changed, among those that someone watches.
    pub fn resource_updates(&self) -> broadcast::Receiver<Arc<str>> {
        self.registry.resource_updates()
    }

    /// Has the server tell of changes of this resource for as long as the watch is held.
    pub fn watch_resource(&self, turn: &Turn, uri: &str) -> Result<ResourceWatch, CallError> {
        let unknown = || Refusal::UnknownResource { uri: uri.chars().take(80).collect() };
        let server = turn.view.resource_route(uri).ok_or_else(unknown)?;
        self.watches.hold(server, uri).ok_or_else(|| {
            let message = format!(
                "{} resources of `{server}` are already subscribed to",
                resource_watches::MAX_WATCHED_RESOURCES
            );
            CallError::Unanswered { message }
        })
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.registry.current().catalog)
    }

    pub fn agents(&self) -> Vec<Agent> {
        self.registry.current().charter.agents.clone()
    }

    pub fn agent(&self, name: &str) -> Result<Agent, UnknownAgentError> {
        let charter = &self.registry.current().charter;
        Ok(charter.agents[charter.find(Some(name))?].clone())
    }

    /// The one that is meant where none is named.
    pub fn default_agent(&self) -> Result<Agent, UnknownAgentError> {
        let charter = &self.registry.current().charter;
        Ok(charter.agents[charter.find(None)?].clone())
    }

    pub fn servers(&self) -> Vec<ServerStatus> {
        self.servers.statuses()
    }

    /// Connects to the server afresh and says how that went; `None` if there is none of the name.
    pub async fn test(&self, server: &str) -> Option<TestReport> {
        self.servers.test(server).await
    }

    /// The states that a server was in lately, newest first; `None` if there is none of the name.
    pub fn history(&self, server: &str) -> Option<Vec<StateEpisode>> {
        self.servers.history(server)
    }

    /// The handle of a server that does not run in this process; `None` if there is none of the
    /// name.
    pub fn upstream(&self, server: &str) -> Option<Arc<Upstream>> {
        self.servers.find(server)
    }

    /// What there was for calls whose answers may be kept.
    pub fn cache_stats(&self) -> CacheStats {
        self.reuse.cache_stats()
    }

    /// What runs now and ran lately.
    pub fn calls(&self) -> &Arc<CallTracker> {
        &self.recorder.calls
    }

    /// What was called and decided.
    pub fn ledger(&self) -> &AuditLedger {
        &self.recorder.ledger
    }

    /// Whether calls are refused while the audit trail cannot be written.
    pub fn needs_audit(&self) -> bool {
        self.registry.current().charter.audit.on_failure == OnAuditFailure::Refuse
    }

    /// What agents remember; `None`: nothing.
    pub fn memory(&self) -> Option<&Arc<MemoryService>> {
        self.mind.as_ref()
    }

    pub fn is_ready(&self) -> Readiness {
        self.servers.readiness()
    }

    /// Waits until every server that starts eagerly has come up or failed, but not for ever.
    pub async fn settled(&self) {
        self.servers.settled(&self.registry).await;
    }

    /// Ends all servers in good order, and saves what was measured.
    pub async fn stop(&self) {
        self.sandbox.load().close();
        self.servers.stop().await;
        // Told in there; whoever tends the meters tries once more.
        let _ = self.meters.flush().await;
        let _ = self.recorder.ledger.flush().await;
        if let Some(mind) = &self.mind {
            mind.settle().await;
        }
    }
}

fn lost_task() -> CallError {
    CallError::Unanswered { message: "the server lost the task".to_owned() }
}

#[cfg(test)]
mod tests;
