//! The door. Every call, from every front, passes `view → permit → admit → clear → plan → run →
//! shape` here; there is no other way to a backend.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tollgate_core::agent::{Agent, Wish};
use tollgate_core::call::{Handle, Kind, Outcome, Request, Status, TaskVerb};
use tollgate_core::catalog::Catalog;
use tollgate_core::filter::{Explained, Narrow};
use tollgate_core::id::ToolId;
use tollgate_core::json::Object;
use tollgate_core::policy::{self, Permitted, Refusal};
use tollgate_core::shaping::{self, Wording};
use tollgate_core::trace::Trace;
use tollgate_core::turn::{Actor, Grant, Principal, Turn};
use tollgate_mcp::tasks::Group;
use tollgate_sandbox::sandbox::Sandbox;

use crate::answer;
use crate::approvals::{Approvals, Parking as Held};
use crate::audit::Ledger;
use crate::caller::{CallError, Caller, Dialogue, Reply};
use crate::calls::Calls;
pub use crate::charter::UnknownAgent;
use crate::clock::Clock;
use crate::conversations::Conversations;
use crate::executor::Executor;
use crate::limits::Limits;
use crate::memory::Mind;
use crate::meters::{Meters, Reading};
use crate::notices::{Notice, Notices};
use crate::probing::Probing;
use crate::recorder::{Policy, Recorder, Recording};
pub use crate::registry::Sight;
use crate::registry::{Registry, Seen};
use crate::results::{Read, Results};
use crate::reuse::{LookedUp, Reuse};
use crate::revocations::{Revocations, until_revoked};
use crate::servers::{Readiness, ServerStatus, Servers};
use crate::settings::OnFailure;
use crate::spans::Tracer;
use crate::tickets::Tickets;
use crate::upstream::{Episode, TestReport, Trials, Upstream};
use crate::watches::{self, ResourceWatch, Watches};

mod afterwards;
mod again;
mod ask;
mod choose;
mod code;
mod figures;
mod late;
mod leased;
mod made;
mod origin;
mod permit;
mod reshaped;
mod run;
mod screen;
mod slow;
mod trial;
mod trust;

use choose::Choices;
pub use choose::Spoke;
pub(crate) use code::CodeBackend;
use code::Lessons;
pub use code::NotRun;
pub(crate) use made::Made;
use origin::Taints;
pub use origin::{TAINT_HOLDS, TurnLink};
pub use reshaped::whole;
use run::Way;
use screen::{Screen, Secretive};
pub use trial::NotTried;
pub use trust::{Answer, Examined, Kept, Known, Undecided};

pub struct Gate {
    pub(crate) registry: Arc<Registry>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) revocations: Revocations,
    pub(crate) approvals: Arc<Approvals>,
    /// Calls whose callers come back with leave.
    pub(crate) held: Held,
    pub(crate) executor: Arc<Executor>,
    pub(crate) reuse: Reuse,
    /// Those that wait for calls whose turn is over.
    pub(crate) late: Group,
    pub(crate) servers: Servers,
    pub(crate) trials: Trials,
    pub(crate) watches: Arc<Watches>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) recorder: Recorder,
    pub(crate) notices: Notices,
    pub(crate) results: Arc<Results>,
    pub(crate) meters: Arc<Meters>,
    pub(crate) probing: Probing,
    pub(crate) conversations: Conversations,
    choices: Choices,
    pub(crate) taints: Taints,
    /// Where the tools are measured.
    pub(crate) environment: String,
    /// Where programs run. Swapped when the config changes.
    pub(crate) sandbox: ArcSwap<Sandbox>,
    pub(crate) lessons: Lessons,
    pub(crate) tracer: Tracer,
    mind: Option<Arc<Mind>>,
}

/// Who asks for a turn, and with what wishes.
#[derive(Debug, Clone)]
pub struct Asked<'a> {
    pub actor: Actor,
    /// `None`: nothing of its own limits the principal.
    pub grant: Option<Arc<Grant>>,
    /// `None`: the default agent.
    pub agent: Option<&'a str>,
    pub budget: Wish,
    /// What the request itself takes away.
    pub narrow: Option<&'a Narrow>,
    /// What the request is part of.
    pub trace: Option<Arc<Trace>>,
    /// Which other requests belong to the same turn; `None`: the turn is this request.
    pub link: Option<TurnLink<'a>>,
}

impl Asked<'_> {
    /// All that the default agent has.
    pub fn by(actor: Actor) -> Self {
        Self {
            actor,
            grant: None,
            agent: None,
            budget: Wish::Ceiling,
            narrow: None,
            trace: None,
            link: None,
        }
    }

    fn seen(&self) -> Seen<'_> {
        Seen {
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
    pub fn explain(&self, asked: &Asked<'_>) -> Result<Vec<Explained>, UnknownAgent> {
        self.registry.current().explain(asked.seen())
    }

    /// Runs one request. Dropping the future cancels it at the server.
    pub async fn call(
        &self,
        turn: &Turn,
        request: Request<'_>,
        mut caller: Caller<'_>,
    ) -> Result<Reply, CallError> {
        let kind = request.kind;
        let policy = self.policy().heard_of(caller.purpose);
        let mut recording = self.recorder.begin(turn, &request, policy).await;
        recording.made_by(caller.provider);
        let turn = &*recording.within(turn);
        let reply = match self.screened(request, &mut caller).await {
            Ok(request) => self.permitted(turn, request, (&mut recording, &caller)).await,
            Err(Secretive) if kind == Kind::CallTool => {
                recording.because("secrets in its arguments");
                Ok(answer::secretive())
            }
            Err(Secretive) => Err(Refusal::Secretive.into()),
        };
        match recording.finish(&reply).await {
            Ok(()) => reply,
            Err(unwritten) => answer::unrecorded(reply, &unwritten),
        }
    }

    /// Refuses a call before it comes to anything: the trail knows of it all the same, and why.
    pub async fn decline(
        &self,
        turn: &Turn,
        request: Request<'_>,
        (message, because): (&str, impl Into<Cow<'static, str>>),
    ) -> Outcome {
        let mut recording = self.recorder.begin(turn, &request, self.policy()).await;
        recording.because_of(because.into());
        let outcome = shaping::failure(Status::Denied, message, Duration::ZERO);
        // A refusal that could not be written down is none the less one.
        let _ = recording.finish(&Ok(Reply::Tool(outcome.clone()))).await;
        outcome
    }

    async fn permitted(
        &self,
        turn: &Turn,
        request: Request<'_>,
        (recording, caller): (&mut Recording<'_>, &Caller<'_>),
    ) -> Result<Reply, CallError> {
        match self.permit(turn, request).await {
            Ok(permitted) => self.let_through(turn, permitted, (recording, caller)).await,
            Err(Refusal::InvalidArguments { tool, violations }) => {
                recording.target(&tool.id.server, Some(&tool));
                let refusal = Refusal::InvalidArguments { tool, violations };
                Ok(answer::failed(Status::InvalidArguments, &refusal.to_string()))
            }
            Err(Refusal::Away { name, server }) => {
                recording.target(&server, None);
                let how = self.servers.word(&server);
                let message = format!("`{name}` is away: its server `{server}` is {how}");
                Ok(answer::failed(Status::Offline, &message))
            }
            Err(Refusal::Withheld { name, server }) => {
                recording.target(&server, None);
                let refusal = Refusal::Withheld { name, server };
                Ok(answer::failed(Status::Denied, &refusal.to_string()))
            }
            Err(refusal @ Refusal::OnlyInCode { .. }) => {
                Ok(answer::failed(Status::Denied, &refusal.to_string()))
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Runs what may run, if that can be written down.
    async fn let_through(
        &self,
        turn: &Turn,
        permitted: Permitted<'_>,
        (recording, caller): (&mut Recording<'_>, &Caller<'_>),
    ) -> Result<Reply, CallError> {
        if let Some(refused) = self.refuse_tainted(turn, &permitted, (recording, caller)) {
            return Ok(refused);
        }
        match recording.permitted(&permitted) {
            Ok(course) => {
                let of_call = self.leased(turn, &permitted);
                recording.under(&of_call.lease);
                let way = Way { turn: &of_call, caller, course: &course };
                // Pinned here: passed by value, it would be in the future of each call twice.
                let running = std::pin::pin!(self.run(way, permitted));
                let ran = until_revoked(&of_call.lease, running).await;
                ran.unwrap_or_else(|why| {
                    recording.revoked(&why);
                    answer::revoked(turn, why)
                })
            }
            Err(unwritten) => answer::unwritten(&permitted, &unwritten),
        }
    }

    /// Runs independent calls side by side. The outcomes come in the order of the calls.
    pub async fn call_all(
        &self,
        turn: &Turn,
        requests: Vec<Request<'_>>,
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
        let tickets = Tickets { seal: &self.executor.seal, principal: &turn.principal };
        let shown = params.string("taskId").unwrap_or_default().into_owned();
        let request = Request { kind: Kind::Task(verb), params };
        let mut recording = self.recorder.begin(turn, &request, self.policy()).await;
        let screened = self.screened(request, &mut caller).await;
        let permitted = match (tickets.open(&shown), screened) {
            (Some(ticket), Ok(it)) => policy::permit_task(turn, verb, ticket, it.params),
            (Some(_), Err(Secretive)) => Err(Refusal::Secretive),
            (None, _) => Err(Refusal::UnknownTask),
        };
        let reply = match permitted {
            Ok(permitted) => self.let_through(turn, permitted, (&mut recording, &caller)).await,
            Err(refusal) => Err(refusal.into()),
        };
        let reply = match reply {
            Ok(Reply::Result(result)) => Ok(Reply::Result(Tickets::shown_as(&result, &shown))),
            Ok(Reply::Tool(_) | Reply::InputRequired(_) | Reply::Task(_)) => Err(lost_task()),
            Err(error) => Err(error),
        };
        let reply = match recording.finish(&reply).await {
            Ok(()) => reply,
            Err(unwritten) => answer::unrecorded(reply, &unwritten),
        };
        match reply? {
            Reply::Result(result) => Ok(result),
            Reply::Tool(_) | Reply::InputRequired(_) | Reply::Task(_) => Err(lost_task()),
        }
    }

    /// All that goes on to the server: the request, and what its caller answered to questions.
    async fn screened<'a>(
        &self,
        request: Request<'a>,
        caller: &mut Caller<'_>,
    ) -> Result<Request<'a>, Secretive> {
        let screen = Screen::of(&self.registry.current().charter);
        let Some(screen) = screen else { return Ok(request) };
        if let Dialogue::Rounds(retry) = &mut caller.dialogue {
            screen.pass_answers(retry).await?;
        }
        screen.pass(request).await
    }

    fn policy(&self) -> Policy {
        Policy::of(&self.registry.current().charter)
    }

    /// What was too much for an answer, or came too late for it. Says the same of what is not
    /// there and of what is another's.
    pub fn result(&self, principal: &Principal, handle: &str) -> Read {
        Handle::parse(handle).map_or(Read::Unknown, |handle| self.results.read(principal, handle))
    }

    /// How fast the tool is, and which tier it is in because of that; `None` if there is no such
    /// tool.
    pub fn reading(&self, tool: &ToolId) -> Option<Reading> {
        self.meters.reading(tool)
    }

    /// Makes spans of what is done for requests, where somebody follows them.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Calls that wait for a person's leave.
    pub fn approvals(&self) -> &Approvals {
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
            let message = format!("{} resources of `{server}` are watched already", watches::MOST);
            CallError::Unanswered { message }
        })
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.registry.current().catalog)
    }

    pub fn agents(&self) -> Vec<Agent> {
        self.registry.current().charter.agents.clone()
    }

    pub fn agent(&self, name: &str) -> Result<Agent, UnknownAgent> {
        let charter = &self.registry.current().charter;
        Ok(charter.agents[charter.find(Some(name))?].clone())
    }

    /// The one that is meant where none is named.
    pub fn default_agent(&self) -> Result<Agent, UnknownAgent> {
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
    pub fn history(&self, server: &str) -> Option<Vec<Episode>> {
        self.servers.history(server)
    }

    /// The handle of a server that does not run in this process; `None` if there is none of the
    /// name.
    pub fn upstream(&self, server: &str) -> Option<Arc<Upstream>> {
        self.servers.find(server)
    }

    /// What there was for calls whose answers may be kept.
    pub fn looked_up(&self) -> LookedUp {
        self.reuse.looked_up()
    }

    /// What runs now and ran lately.
    pub fn calls(&self) -> &Arc<Calls> {
        &self.recorder.calls
    }

    /// What was called and decided.
    pub fn ledger(&self) -> &Ledger {
        &self.recorder.ledger
    }

    /// Whether calls are refused while the audit trail cannot be written.
    pub fn needs_audit(&self) -> bool {
        self.registry.current().charter.audit.on_failure == OnFailure::Refuse
    }

    /// What agents remember; `None`: nothing.
    pub fn mind(&self) -> Option<&Arc<Mind>> {
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

/// The speakable form and the data of an outcome, by the tool's own rules of speech.
pub fn spoken(turn: &Turn, name: &str, outcome: &Outcome, wording: Wording) -> Spoken {
    let data = shaping::data(outcome);
    let speech = turn.view.tool(name).map(|tool| tool.terms.speech.clone()).unwrap_or_default();
    Spoken { message: shaping::message(&speech, outcome, &data, wording), data }
}

#[derive(Debug)]
pub struct Spoken {
    pub message: String,
    pub data: serde_json::Value,
}

#[cfg(test)]
mod tests;
