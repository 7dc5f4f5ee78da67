//! Makes the record of each call, and sees to it that there is one: a place in the audit trail is
//! taken before the call runs, and a call that is dropped has its row too. Called by the gate only.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use tollgate_core::call::{Kind, Outcome, Request, Source, TaskVerb};
use tollgate_core::failpoint;
use tollgate_core::id::ServerId;
use tollgate_core::json;
use tollgate_core::lease::{Lease, Revoked};
use tollgate_core::mask::Masker;
use tollgate_core::policy::Permitted;
use tollgate_core::secret_values;
use tollgate_core::text::shortened;
use tollgate_core::tool::hidden::Removed;
use tollgate_core::tool::{Effect, Tool};
use tollgate_core::turn::Turn;
use tollgate_mcp::large::{aside, is_too_large_here};

use crate::audit::{Ledger, Place, Unwritten, Waiting, Weight};
use crate::caller::{CallError, Purpose, Reply};
use crate::calls::{Calls, Course, Made, Opening, Seat};
use crate::charter::Charter;
use crate::clock::Clock;
use crate::record::{CallId, CallRecord, End, Observer};
use crate::settings::{Audit, Capture, Durable, KeptArguments, OnFailure};
use crate::spans::{Span, Tracer};

mod told;

pub(crate) struct Recorder {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observers: Vec<Box<dyn Observer>>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) tracer: Tracer,
}

/// What is wanted of the rows of calls.
#[derive(Clone)]
pub(crate) struct Policy {
    durable: Durable,
    on_failure: OnFailure,
    arguments: KeptArguments,
    /// What spans are told of arguments and results.
    capture: Capture,
    purpose: Purpose,
    masker: Arc<Masker>,
}

impl Policy {
    pub(crate) fn of(charter: &Charter) -> Self {
        let Audit { durable, on_failure, arguments, .. } = charter.audit;
        let capture = charter.telemetry.capture;
        let (masker, purpose) = (Arc::clone(&charter.masker), Purpose::Serve);
        Self { durable, on_failure, arguments, capture, purpose, masker }
    }

    /// For a call that is made for this: nobody follows one that only measures.
    pub(crate) fn heard_of(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// A resource may have a password in its address.
    fn name(&self, request: &Request<'_>) -> Arc<str> {
        let (key, longest) = match request.kind {
            Kind::ReadResource => ("uri", LONGEST_NAME),
            Kind::Task(_) => ("taskId", LONGEST_TICKET),
            Kind::CallTool | Kind::GetPrompt | Kind::Complete => ("name", LONGEST_NAME),
        };
        let name = request.params.string(key).unwrap_or_default();
        let masked = match request.kind {
            Kind::ReadResource => self.masker.text(&name),
            _ => None,
        };
        beginning(&secret_values::mask(masked.as_deref().unwrap_or(&name)), longest).into()
    }

    /// The arguments without secrets, where they are to be kept.
    fn kept(&self, request: &Request<'_>) -> Option<Box<str>> {
        match self.arguments {
            KeptArguments::None => None,
            KeptArguments::Redacted => Some(self.shown(request.params.get("arguments")?.get())),
        }
    }

    /// JSON without secrets, if it is not too much.
    fn shown(&self, text: &str) -> Box<str> {
        if text.len() > LONGEST_ARGUMENTS {
            return format!("\"[{} bytes]\"", text.len()).into();
        }
        if json::is_deeper_than(DEEPEST_ARGUMENTS, text) {
            return "\"[too deep to be kept]\"".into();
        }
        let masked = self.masker.json(text);
        secret_values::mask(masked.as_deref().unwrap_or(text)).into()
    }

    /// How the row of such a request is written; an error if it cannot be and has to.
    pub(crate) fn admits(
        &self,
        ledger: &Ledger,
        request: &Permitted<'_>,
    ) -> Result<Weight, Unwritten> {
        let weight = self.weight(request);
        ledger.admits(weight, self.on_failure).map(|()| weight)
    }

    /// Waits for a row where that is wanted; an error says that the answer must not leave.
    pub(crate) async fn settled(&self, waiting: Waiting<'_>) -> Result<(), Unwritten> {
        match (waiting.written().await, self.on_failure) {
            (Err(unwritten), OnFailure::Refuse) => Err(unwritten),
            (Ok(()), _) | (Err(_), OnFailure::Continue) => Ok(()),
        }
    }

    fn weight(&self, request: &Permitted<'_>) -> Weight {
        let only_reads = match (request.tool(), request.kind()) {
            (Some(tool), _) => tool.terms.effect == Effect::ReadOnly,
            (None, Kind::Task(TaskVerb::Update | TaskVerb::Cancel)) => false,
            (None, _) => true,
        };
        match self.durable {
            Durable::All => Weight::Durable,
            Durable::Mutating if !only_reads => Weight::Durable,
            Durable::Mutating | Durable::None => Weight::Queued,
        }
    }
}

/// A call under way. One that is dropped before it is finished was cancelled.
pub(crate) struct Recording<'r> {
    recorder: &'r Recorder,
    /// `None` once it is told.
    open: Option<Open<'r>>,
    policy: Policy,
    /// Once it is sent; nobody has to wait for the row of a call that had no effect.
    weight: Weight,
    course: Arc<Course>,
    span: Span,
    /// Says why it is over, if it is dropped because of that.
    lease: Lease,
}

struct Open<'r> {
    record: CallRecord,
    seat: Seat,
    place: Option<Place<'r>>,
}

/// Characters of a name that nobody has checked yet.
const LONGEST_NAME: usize = 128;
/// Of a sealed ticket no more than it takes to know it again.
const LONGEST_TICKET: usize = 16;
const LONGEST_DETAIL: usize = 300;
/// Bytes of arguments that are kept.
const LONGEST_ARGUMENTS: usize = 16 << 10;
/// Rows are shown inside other JSON, and most readers of that give up at 128.
const DEEPEST_ARGUMENTS: usize = 64;

impl Recorder {
    /// Waits only while the queue of the audit trail is full, or for a large hash.
    pub(crate) async fn begin(
        &self,
        turn: &Turn,
        request: &Request<'_>,
        policy: Policy,
    ) -> Recording<'_> {
        failpoint::hit("record");
        let at = self.clock.wall();
        let span = told::begin(&self.tracer, turn, request, &policy);
        let record = CallRecord {
            call: CallId::new(at, rand::random()),
            within: turn.within,
            at,
            principal: turn.principal.clone(),
            agent: turn.view.agent.clone(),
            provider: None,
            method: request.kind.method(),
            name: policy.name(request),
            server: None,
            tool: None,
            arguments_hash: hashed(request).await,
            arguments: policy.kept(request),
            tier: turn.view.tier,
            catalog_version: turn.view.version,
            end: End::Cancelled,
            detail: None,
            source: Source::Fresh,
            duration: Duration::ZERO,
            result_bytes: 0,
            removed: Removed::default(),
            trace: told::place(&span),
        };
        let began = self.clock.now();
        let place = self.ledger.place().await;
        let made = match policy.purpose {
            Purpose::Serve => Made::Asked,
            Purpose::Probe | Purpose::BlindProbe => Made::ToMeasure,
        };
        let (course, seat) = self.calls.begin(Opening { record: &record, turn, made, began });
        let open = Some(Open { record, seat, place });
        let lease = turn.lease.clone();
        Recording { recorder: self, open, policy, weight: Weight::Queued, course, span, lease }
    }
}

/// Over the text as it came in. A large one is hashed where nobody waits for it.
async fn hashed(request: &Request<'_>) -> Option<[u8; 32]> {
    let text = request.params.get("arguments")?.get();
    let sum = |text: &str| digest(&SHA256, text.as_bytes()).as_ref().try_into();
    let sum = if is_too_large_here(text.len()) {
        let text = text.to_owned();
        aside(text.len(), move || sum(&text)).await
    } else {
        sum(text)
    };
    Some(sum.expect("SHA-256 has 32 bytes"))
}

impl Recording<'_> {
    pub(crate) fn target(&mut self, server: &ServerId, tool: Option<&Tool>) {
        if let Some(Open { record, .. }) = &mut self.open {
            record.server = Some(server.clone());
            record.tool = tool.map(|tool| tool.id.tool.clone());
            self.course.aim(server, record.tool.as_ref());
        }
    }

    /// Whose model made the call, if one did.
    pub(crate) fn made_by(&mut self, provider: Option<&str>) {
        if let (Some(Open { record, .. }), Some(provider)) = (&mut self.open, provider) {
            record.provider = Some(provider.into());
        }
    }

    /// The turn, as what is done for this call sees it: part of the call's own span.
    pub(crate) fn within<'t>(&self, turn: &'t Turn) -> Cow<'t, Turn> {
        match (self.span.trace(), &turn.trace) {
            (None, None) => Cow::Borrowed(turn),
            (Some(own), Some(outer)) if Arc::ptr_eq(own, outer) => Cow::Borrowed(turn),
            (own, _) => Cow::Owned(Turn { trace: own.cloned(), ..turn.clone() }),
        }
    }

    pub(crate) fn id(&self) -> CallId {
        self.course.id
    }

    /// The same in words of its own.
    pub(crate) fn because_of(&mut self, why: Cow<'static, str>) {
        if let Some(Open { record, .. }) = &mut self.open {
            record.detail = Some(why);
        }
    }

    /// Why it went no further.
    pub(crate) fn because(&mut self, why: &'static str) {
        if let Some(Open { record, .. }) = &mut self.open {
            record.detail = Some(Cow::Borrowed(why));
        }
    }

    /// It runs under this lease from now on.
    pub(crate) fn under(&mut self, lease: &Lease) {
        self.lease = lease.clone();
    }

    /// It was stopped.
    pub(crate) fn revoked(&mut self, why: &Revoked) {
        let is_sent = self.course.is_sent();
        if let Some(Open { record, .. }) = &mut self.open {
            record.end = End::Revoked;
            record.detail = Some(Cow::Owned(match is_sent {
                true => format!("{why}; its server had it, and may have carried it out"),
                false => why.to_string(),
            }));
        }
    }

    /// What is about to run; refused if it may change something and could not be written down.
    pub(crate) fn permitted(&mut self, request: &Permitted<'_>) -> Result<Arc<Course>, Unwritten> {
        self.target(request.server(), request.tool().map(Arc::as_ref));
        let admitted = self.policy.admits(&self.recorder.ledger, request);
        self.weight = admitted.inspect_err(|unwritten| {
            if let Some(Open { record, .. }) = &mut self.open {
                record.detail = Some(Cow::Owned(unwritten.to_string()));
            }
        })?;
        self.recorder.calls.started(&self.course);
        Ok(Arc::clone(&self.course))
    }

    /// The call is over. Where that matters, this returns when the row is on the disk; an error
    /// says that it is not, and that the answer must not leave as if it were.
    pub(crate) async fn finish(
        mut self,
        reply: &Result<Reply, CallError>,
    ) -> Result<(), Unwritten> {
        if let Some(Open { record, .. }) =
            self.open.as_mut().filter(|it| it.record.end != End::Revoked)
        {
            close(record, reply);
            told::result(&mut self.span, reply, &self.policy);
        }
        let policy = self.policy.clone();
        let Some(waiting) = self.tell() else { return Ok(()) };
        policy.settled(waiting).await
    }

    fn tell(&mut self) -> Option<Waiting<'_>> {
        let Open { mut record, seat, place } = self.open.take()?;
        if let Some(Cow::Owned(detail)) = record.detail {
            record.detail = Some(Cow::Owned(secret_values::masked(detail)));
        }
        let now = self.recorder.clock.now();
        record.duration = now.saturating_duration_since(self.course.began);
        told::end(&mut self.span, &record);
        for observer in &self.recorder.observers {
            observer.observe(&record);
        }
        let weight = if self.course.is_sent() { self.weight } else { Weight::Queued };
        self.recorder.calls.end((&self.course, seat), &record, now);
        Some(place?.keep(record, weight))
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        let revoked = self.lease.ended().cloned();
        match (&mut self.open, revoked) {
            (Some(_), Some(why)) => self.revoked(&why),
            (Some(Open { record, .. }), None) if std::thread::panicking() => {
                record.end = End::Failed;
                record.detail = Some(Cow::Borrowed("a fault of the gateway (panic)"));
            }
            (Some(_) | None, _) => {}
        }
        self.tell();
    }
}

/// So many characters of it.
fn beginning(text: &str, longest: usize) -> &str {
    text.char_indices().nth(longest).map_or(text, |(end, _)| &text[..end])
}

fn close(record: &mut CallRecord, reply: &Result<Reply, CallError>) {
    let (end, result) = match reply {
        Ok(Reply::Tool(Outcome { status, result, source, origin, .. })) => {
            record.source = *source;
            record.removed = origin.as_ref().map_or_else(Removed::default, |it| it.removed);
            (End::Tool(*status), Some(result))
        }
        Ok(Reply::Result(result)) => (End::Answered, Some(result)),
        Ok(Reply::InputRequired(result)) => (End::InputRequired, Some(result)),
        Ok(Reply::Task(result)) => (End::Task, Some(result)),
        Err(CallError::Refused(refusal)) => {
            record.detail = Some(shortened(&refusal.to_string(), LONGEST_DETAIL).into());
            (End::Refused, None)
        }
        Err(CallError::Revoked(why)) => {
            record.detail = Some(why.to_string().into());
            (End::Revoked, None)
        }
        Err(_) => (End::Failed, None),
    };
    record.end = end;
    if record.detail.is_none() && !record.removed.is_nothing() {
        record.detail = Some(format!("cleaned: {}", record.removed).into());
    }
    record.result_bytes = result.map_or(0, |result| result.get().len());
}
