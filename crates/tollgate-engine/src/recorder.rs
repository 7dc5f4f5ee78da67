//! Makes the record of each call, and sees to it that there is one: a place in the audit trail is
//! taken before the call runs, and a call that is dropped has its row too. Called by the gate only.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use tollgate_core::call::{GateRequest, Outcome, RequestKind, ResultSource, TaskVerb};
use tollgate_core::call_policy::{
    ArgumentRecording, AuditDurability, AuditPolicy, CallPolicy, ContentCapture, OnAuditFailure,
};
use tollgate_core::failpoint;
use tollgate_core::id::ServerId;
use tollgate_core::json;
use tollgate_core::lease::{RevocableLease, RevokedError};
use tollgate_core::mask::SecretMasker;
use tollgate_core::policy::Permitted;
use tollgate_core::secret_values;
use tollgate_core::text::truncate_chars;
use tollgate_core::tool::hidden_text::RemovedCounts;
use tollgate_core::tool::{Tool, ToolEffect};
use tollgate_core::turn::Turn;
use tollgate_mcp::offload::{is_too_large_here, offload_if_large};

use crate::audit::{
    AuditLedger, AuditReservation, AuditWriteError, PendingAuditRow, RowDurability,
};
use crate::caller::{CallError, CallPurpose, Reply};
use crate::calls::{CallProgress, CallProgressStart, CallReason, CallTracker, RunningCallSlot};
use crate::clock::Clock;
use crate::random::RandomSource;
use crate::record::{CallEnding, CallId, CallRecord, Observer};
use crate::spans::{TraceSpan, Tracer};

mod call_span;

pub(crate) struct Recorder {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn RandomSource>,
    pub(crate) observers: Vec<Box<dyn Observer>>,
    pub(crate) ledger: Arc<AuditLedger>,
    pub(crate) calls: Arc<CallTracker>,
    pub(crate) tracer: Tracer,
}

/// What is wanted of the rows of calls.
#[derive(Clone)]
pub(crate) struct RecordingPolicy {
    durable: AuditDurability,
    on_failure: OnAuditFailure,
    arguments: ArgumentRecording,
    /// What spans are told of arguments and results.
    capture: ContentCapture,
    purpose: CallPurpose,
    masker: Arc<SecretMasker>,
}

impl RecordingPolicy {
    pub(crate) fn of(policy: &CallPolicy) -> Self {
        let AuditPolicy { durable, on_failure, arguments } = policy.audit;
        Self {
            durable,
            on_failure,
            arguments,
            capture: policy.capture,
            purpose: CallPurpose::Serve,
            masker: Arc::clone(&policy.masker),
        }
    }

    /// For a call that is made for this: nobody follows one that only measures.
    pub(crate) fn with_purpose(self, purpose: CallPurpose) -> Self {
        Self { purpose, ..self }
    }

    /// A resource may have a password in its address.
    fn name(&self, request: &GateRequest<'_>) -> Arc<str> {
        let (key, longest) = match request.kind {
            RequestKind::ReadResource => ("uri", MAX_NAME_CHARS),
            RequestKind::Task(_) => ("taskId", MAX_TICKET_CHARS),
            RequestKind::CallTool | RequestKind::GetPrompt | RequestKind::Complete => {
                ("name", MAX_NAME_CHARS)
            }
        };
        let name = request.params.string(key).unwrap_or_default();
        let masked = match request.kind {
            RequestKind::ReadResource => self.masker.text(&name),
            _ => None,
        };
        beginning(&secret_values::mask(masked.as_deref().unwrap_or(&name)), longest).into()
    }

    /// The arguments without secrets, where they are to be kept.
    fn recordable_arguments(&self, request: &GateRequest<'_>) -> Option<Box<str>> {
        match self.arguments {
            ArgumentRecording::None => None,
            ArgumentRecording::Redacted => {
                Some(self.redact(request.params.get("arguments")?.get()))
            }
        }
    }

    /// JSON without secrets, if it is not too much.
    fn redact(&self, text: &str) -> Box<str> {
        if text.len() > MAX_ARGUMENTS_BYTES {
            return format!("\"[{} bytes]\"", text.len()).into();
        }
        if json::is_deeper_than(DEEPEST_ARGUMENTS, text) {
            return "\"[nested too deeply]\"".into();
        }
        let masked = self.masker.json(text);
        secret_values::mask(masked.as_deref().unwrap_or(text)).into()
    }

    /// How the row of such a request is written; an error if it cannot be and has to.
    pub(crate) fn admits(
        &self,
        ledger: &AuditLedger,
        request: &Permitted<'_>,
    ) -> Result<RowDurability, AuditWriteError> {
        let weight = self.weight(request);
        ledger.admits(weight, self.on_failure).map(|()| weight)
    }

    /// Waits for a row where that is wanted; an error says that the answer must not leave.
    pub(crate) async fn await_row(
        &self,
        waiting: PendingAuditRow<'_>,
    ) -> Result<(), AuditWriteError> {
        match (waiting.wait_until_written().await, self.on_failure) {
            (Err(unwritten), OnAuditFailure::Refuse) => Err(unwritten),
            (Ok(()), _) | (Err(_), OnAuditFailure::Continue) => Ok(()),
        }
    }

    fn weight(&self, request: &Permitted<'_>) -> RowDurability {
        let only_reads = match (request.tool(), request.kind()) {
            (Some(tool), _) => tool.terms.effect == ToolEffect::ReadOnly,
            (None, RequestKind::Task(TaskVerb::Update | TaskVerb::Cancel)) => false,
            (None, _) => true,
        };
        match self.durable {
            AuditDurability::All => RowDurability::Durable,
            AuditDurability::Mutating if !only_reads => RowDurability::Durable,
            AuditDurability::Mutating | AuditDurability::None => RowDurability::Queued,
        }
    }
}

/// A call under way. One that is dropped before it is finished was cancelled.
pub(crate) struct CallRecording<'r> {
    recorder: &'r Recorder,
    /// `None` once it is told.
    open: Option<OpenRecord<'r>>,
    policy: RecordingPolicy,
    /// Once it is sent; nobody has to wait for the row of a call that had no effect.
    weight: RowDurability,
    call_progress: Arc<CallProgress>,
    span: TraceSpan,
    /// Says why it is over, if it is dropped because of that.
    lease: RevocableLease,
}

struct OpenRecord<'r> {
    record: CallRecord,
    slot: RunningCallSlot,
    place: Option<AuditReservation<'r>>,
}

/// Characters of a name that nobody has checked yet.
const MAX_NAME_CHARS: usize = 128;
/// Of a sealed ticket no more than it takes to know it again.
const MAX_TICKET_CHARS: usize = 16;
const MAX_DETAIL_CHARS: usize = 300;
/// Bytes of arguments that are kept.
const MAX_ARGUMENTS_BYTES: usize = 16 << 10;
/// Rows are shown inside other JSON, and most readers of that give up at 128.
const DEEPEST_ARGUMENTS: usize = 64;

impl Recorder {
    /// Waits only while the queue of the audit trail is full, or for a large hash.
    pub(crate) async fn begin(
        &self,
        turn: &Turn,
        request: &GateRequest<'_>,
        policy: RecordingPolicy,
    ) -> CallRecording<'_> {
        failpoint::hit("record");
        let at = self.clock.wall();
        let span = call_span::begin(&self.tracer, turn, request, &policy);
        let record = CallRecord {
            call: CallId::new(at, self.random.bits()),
            within: turn.within,
            at,
            principal: turn.principal.clone(),
            agent: turn.view.agent.clone(),
            provider: None,
            method: request.kind.method(),
            name: policy.name(request),
            server: None,
            tool: None,
            arguments_hash: hash_arguments(request).await,
            arguments: policy.recordable_arguments(request),
            tier: turn.view.tier,
            catalog_version: turn.view.version,
            end: CallEnding::Cancelled,
            detail: None,
            source: ResultSource::Fresh,
            duration: Duration::ZERO,
            result_bytes: 0,
            removed: RemovedCounts::default(),
            trace: call_span::place(&span),
        };
        let began = self.clock.now();
        let place = self.ledger.place().await;
        let made = match policy.purpose {
            CallPurpose::Serve => CallReason::Caller,
            CallPurpose::Probe | CallPurpose::BlindProbe => CallReason::ToMeasure,
        };
        let (call_progress, slot) =
            self.calls.begin(CallProgressStart { record: &record, turn, made, began });
        let open = Some(OpenRecord { record, slot, place });
        let lease = turn.lease.clone();
        CallRecording {
            recorder: self,
            open,
            policy,
            weight: RowDurability::Queued,
            call_progress,
            span,
            lease,
        }
    }
}

/// Over the text as it came in. A large one is hashed where nobody waits for it.
async fn hash_arguments(request: &GateRequest<'_>) -> Option<[u8; 32]> {
    let text = request.params.get("arguments")?.get();
    let sum = |text: &str| digest(&SHA256, text.as_bytes()).as_ref().try_into();
    let sum = if is_too_large_here(text.len()) {
        let text = text.to_owned();
        offload_if_large(text.len(), move || sum(&text)).await
    } else {
        sum(text)
    };
    Some(sum.expect("SHA-256 has 32 bytes"))
}

impl CallRecording<'_> {
    pub(crate) fn target(&mut self, server: &ServerId, tool: Option<&Tool>) {
        if let Some(OpenRecord { record, .. }) = &mut self.open {
            record.server = Some(server.clone());
            record.tool = tool.map(|tool| tool.id.tool.clone());
            self.call_progress.set_target(server, record.tool.as_ref());
        }
    }

    /// Whose model made the call, if one did.
    pub(crate) fn set_provider(&mut self, provider: Option<&str>) {
        if let (Some(OpenRecord { record, .. }), Some(provider)) = (&mut self.open, provider) {
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
        self.call_progress.id
    }

    /// The same in words of its own.
    pub(crate) fn set_owned_detail(&mut self, why: Cow<'static, str>) {
        if let Some(OpenRecord { record, .. }) = &mut self.open {
            record.detail = Some(why);
        }
    }

    /// Why it went no further.
    pub(crate) fn set_detail(&mut self, why: &'static str) {
        if let Some(OpenRecord { record, .. }) = &mut self.open {
            record.detail = Some(Cow::Borrowed(why));
        }
    }

    /// It runs under this lease from now on.
    pub(crate) fn set_lease(&mut self, lease: &RevocableLease) {
        self.lease = lease.clone();
    }

    /// It was stopped.
    pub(crate) fn mark_revoked(&mut self, why: &RevokedError) {
        let is_sent = self.call_progress.is_sent();
        if let Some(OpenRecord { record, .. }) = &mut self.open {
            record.end = CallEnding::Revoked;
            record.detail = Some(Cow::Owned(if is_sent {
                format!("{why}; the server had received it and may have carried it out")
            } else {
                why.to_string()
            }));
        }
    }

    /// What is about to run; refused if it may change something and could not be written down.
    pub(crate) fn mark_permitted(
        &mut self,
        request: &Permitted<'_>,
    ) -> Result<Arc<CallProgress>, AuditWriteError> {
        self.target(request.server(), request.tool().map(Arc::as_ref));
        let admitted = self.policy.admits(&self.recorder.ledger, request);
        self.weight = admitted.inspect_err(|unwritten| {
            if let Some(OpenRecord { record, .. }) = &mut self.open {
                record.detail = Some(Cow::Owned(unwritten.to_string()));
            }
        })?;
        self.recorder.calls.announce_start(&self.call_progress);
        Ok(Arc::clone(&self.call_progress))
    }

    /// The call is over. Where that matters, this returns when the row is on the disk; an error
    /// says that it is not, and that the answer must not leave as if it were.
    pub(crate) async fn finish(
        mut self,
        reply: &Result<Reply, CallError>,
    ) -> Result<(), AuditWriteError> {
        if let Some(OpenRecord { record, .. }) =
            self.open.as_mut().filter(|it| it.record.end != CallEnding::Revoked)
        {
            close(record, reply);
            call_span::result(&mut self.span, reply, &self.policy);
        }
        let policy = self.policy.clone();
        let Some(waiting) = self.tell() else { return Ok(()) };
        policy.await_row(waiting).await
    }

    fn tell(&mut self) -> Option<PendingAuditRow<'_>> {
        let OpenRecord { mut record, slot, place } = self.open.take()?;
        if let Some(Cow::Owned(detail)) = record.detail {
            record.detail = Some(Cow::Owned(secret_values::mask_owned(detail)));
        }
        let now = self.recorder.clock.now();
        record.duration = now.saturating_duration_since(self.call_progress.began);
        call_span::end(&mut self.span, &record);
        for observer in &self.recorder.observers {
            observer.observe(&record);
        }
        let weight = if self.call_progress.is_sent() { self.weight } else { RowDurability::Queued };
        self.recorder.calls.end(&self.call_progress, slot, &record, now);
        Some(place?.keep(record, weight))
    }
}

impl Drop for CallRecording<'_> {
    fn drop(&mut self) {
        let revoked = self.lease.revocation().cloned();
        match (&mut self.open, revoked) {
            (Some(_), Some(why)) => self.mark_revoked(&why),
            (Some(OpenRecord { record, .. }), None) if std::thread::panicking() => {
                record.end = CallEnding::Failed;
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
            record.removed = origin.as_ref().map_or_else(RemovedCounts::default, |it| it.removed);
            (CallEnding::Tool(*status), Some(result))
        }
        Ok(Reply::Result(result)) => (CallEnding::Answered, Some(result)),
        Ok(Reply::InputRequired(result)) => (CallEnding::InputRequired, Some(result)),
        Ok(Reply::Task(result)) => (CallEnding::Task, Some(result)),
        Err(CallError::Refused(refusal)) => {
            record.detail = Some(truncate_chars(&refusal.to_string(), MAX_DETAIL_CHARS).into());
            (CallEnding::Refused, None)
        }
        Err(CallError::Revoked(why)) => {
            record.detail = Some(why.to_string().into());
            (CallEnding::Revoked, None)
        }
        Err(_) => (CallEnding::Failed, None),
    };
    record.end = end;
    if record.detail.is_none() && !record.removed.is_nothing() {
        record.detail = Some(format!("cleaned: {}", record.removed).into());
    }
    record.result_bytes = result.map_or(0, |result| result.get().len());
}
