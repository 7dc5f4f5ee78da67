//! The gate: every call, from every API, passes the stages of [`Gate::call`]. There is no other way to
//! a backend.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tollgate_core::agent::RequestedTier;
use tollgate_core::call::{CallStatus, GateRequest, Outcome};
use tollgate_core::filter::RequestFilter;
use tollgate_core::policy::Permitted;
use tollgate_core::shaping;
use tollgate_core::trace::Trace;
use tollgate_core::turn::{Actor, PrincipalGrant, Turn};
use tollgate_mcp::answer_budget::AnswerAccount;
use tollgate_mcp::tasks::TaskGroup;
use tollgate_sandbox::sandbox::ProgramSandbox;

use crate::answer;
use crate::approvals::{ApprovalParking as Held, ApprovalQueue};
use crate::builtin::file_links::FileLinks;
use crate::caller::{CallError, Caller, Reply};
use crate::clock::Clock;
use crate::conversations::Conversations;
use crate::executor::Executor;
use crate::limits::RateLimiter;
use crate::memory::MemoryService;
use crate::meters::ToolMeters;
use crate::model_usage::ModelUsageMeter;
use crate::notices::Notices;
pub use crate::policy_snapshot::UnknownAgentError;
use crate::probe_limiter::ProbeLimiter;
use crate::random::RandomSource;
use crate::recorder::{CallRecording, Recorder, RecordingPolicy};
pub use crate::registry::ToolVisibility;
use crate::registry::{CatalogRegistry, ViewQuery};
use crate::resource_watches::ResourceWatches;
use crate::results::ResultStore;
use crate::reuse::CallReuse;
use crate::revocations::{Revocations, until_revoked};
use crate::servers::ServerDirectory;
use crate::spans::Tracer;
use crate::upstream::TrialRunner;

mod ask_approval;
mod assembly;
mod code;
mod figures;
mod inspect;
mod late_approval;
mod late_results;
mod permit;
mod picture_links;
mod recheck;
mod reshape;
mod secret_screen;
mod slow_notice;
mod stages;
mod taint;
mod tainting_events;
mod task;
mod tier_choice;
mod trial;
mod trust;
mod turn_lease;
mod turn_links;

pub(crate) use assembly::GateParts;
pub(crate) use code::CodeBackend;
use code::LearnedTypes;
pub use code::ProgramNotRunError;
pub use picture_links::{PictureDelivery, PictureLink};
pub use reshape::{SpokenOutcome, render_speech, whole};
use stages::{CallContext, ClearedCall, StageExit, StageResult};
pub use task::TaskRequest;
use tier_choice::TierChoiceCounts;
pub use tier_choice::{TierChoiceCount, TierRequest};
pub use trial::TrialError;
pub use trust::{Answer, KnownTool, StoredPin, ToolExamination, TrustDecisionError};
use turn_links::SessionTaints;
pub use turn_links::{TAINT_HOLDS, TurnLink, TurnStart};

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
    links: Arc<FileLinks>,
    pub(crate) meters: Arc<ToolMeters>,
    pub(crate) probing: ProbeLimiter,
    pub(crate) conversations: Conversations,
    choices: TierChoiceCounts,
    pub(crate) taints: SessionTaints,
    /// Where the tools are measured.
    pub(crate) environment: String,
    /// Where programs run. Swapped when the config changes.
    pub(crate) sandbox: ArcSwap<ProgramSandbox>,
    pub(crate) learned_types: LearnedTypes,
    pub(crate) tracer: Tracer,
    memory_service: Option<Arc<MemoryService>>,
    pub(crate) model_usage: Arc<ModelUsageMeter>,
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

    fn view_query(&self) -> ViewQuery<'_> {
        ViewQuery {
            agent: self.agent,
            wish: self.budget,
            principal: self.grant.as_ref().and_then(|grant| grant.tools.as_deref()),
            request: self.narrow,
        }
    }
}

impl Gate {
    /// Runs one request through all stages: its secrets are screened, it is permitted, and then the
    /// stages of `Gate::run`. Dropping the future cancels it at the server.
    pub async fn call(
        &self,
        turn: &Turn,
        request: GateRequest<'_>,
        mut caller: Caller<'_>,
    ) -> Result<Reply, CallError> {
        let policy = RecordingPolicy::of(&turn.policy).with_purpose(caller.purpose);
        let mut recording = self.recorder.begin(turn, &request, policy).await;
        recording.set_provider(caller.provider);
        let turn = &*recording.within(turn);
        let stages = async {
            let request = self.screen_secrets(turn, request, &mut caller, &mut recording).await?;
            let permitted = self.permit(turn, request, &mut recording).await?;
            self.run(turn, permitted, &caller, &mut recording).await
        };
        let reply = stages.await.or_else(StageExit::into_reply);
        Self::finish_recording(recording, reply).await
    }

    /// The stages of a permitted request, in sequence. Each takes what the one before it returned, or
    /// ends the call with a [`StageExit`].
    async fn run(
        &self,
        turn: &Turn,
        permitted: Permitted<'_>,
        caller: &Caller<'_>,
        recording: &mut CallRecording<'_>,
    ) -> StageResult<Reply> {
        self.refuse_tainted(turn, &permitted, caller.decided_by, recording)?;
        let progress = recording.mark_permitted(&permitted);
        let progress = progress.map_err(|why| answer::refuse_unaudited(&permitted, &why))?;
        let leased = self.lease_for_tool(turn, &permitted);
        let call = CallContext { turn: &leased, caller, progress: &progress };
        let stages = async {
            let approved = match self.returning_approval(call.turn, &permitted, caller) {
                // It was admitted when it came first.
                Some(id) => Box::pin(self.resume_approved(call, id)).await?,
                None => {
                    let (admitted, permit) = self.admit(call, permitted)?;
                    self.clear(call, admitted, permit).await?
                }
            };
            // The permit is held until the call is over.
            let ClearedCall { cleared, permit: _permit, resumed } = approved;
            let call = CallContext { caller: resumed.as_ref().unwrap_or(caller), ..call };
            let planned = self.plan(call, cleared)?;
            let completion = self.execute(call, &planned).await?;
            Ok::<Reply, StageExit>(self.shape(call, &planned, completion).await?)
        };
        // Pinned here: passed by value, it would be in the future of each call twice.
        self.until_call_revoked(turn, call, std::pin::pin!(stages), recording).await
    }

    /// Losing a right ends a call at any stage. `turn` has no lease for the tool: who loses only that
    /// gets a result.
    async fn until_call_revoked(
        &self,
        turn: &Turn,
        call: CallContext<'_>,
        stages: impl Future<Output = StageResult<Reply>>,
        recording: &mut CallRecording<'_>,
    ) -> StageResult<Reply> {
        recording.set_lease(&call.turn.lease);
        let account = AnswerAccount::for_part();
        let reply = until_revoked(&call.turn.lease, account.scope(stages)).await;
        let reply = reply.unwrap_or_else(|why| {
            recording.mark_revoked(&why);
            let took = self.clock.now().saturating_duration_since(call.progress.began);
            Err(answer::revocation_reply(turn, why, took).into())
        });
        account.settle(reply.as_ref().map_or(0, Reply::result_bytes));
        reply
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

    /// Refuses a call before any stage, with an audit row that says why.
    pub async fn decline(
        &self,
        turn: &Turn,
        request: GateRequest<'_>,
        message: &str,
        reason: impl Into<Cow<'static, str>>,
    ) -> Outcome {
        let mut recording = self.begin_recording(turn, &request).await;
        recording.set_owned_detail(reason.into());
        let outcome = shaping::failure(CallStatus::Denied, message, Duration::ZERO);
        // Still refuse when the audit row cannot be written.
        let _ = recording.finish(&Ok(Reply::Tool(outcome.clone()))).await;
        outcome
    }

    async fn begin_recording(&self, turn: &Turn, request: &GateRequest<'_>) -> CallRecording<'_> {
        self.recorder.begin(turn, request, RecordingPolicy::of(&turn.policy)).await
    }

    /// Writes the audit row. The answer does not leave if the row must be on disk and is not.
    async fn finish_recording(
        recording: CallRecording<'_>,
        reply: Result<Reply, CallError>,
    ) -> Result<Reply, CallError> {
        match recording.finish(&reply).await {
            Ok(()) => reply,
            Err(unwritten) => answer::withhold_unrecorded(reply, &unwritten),
        }
    }
}

#[cfg(test)]
mod tests;
