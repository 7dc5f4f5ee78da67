//! Delta stream: a model's answer as it arrives.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::timeout;
use tollgate_engine::spans::TraceSpan;
use tollgate_mcp::answer_budget::{AnswerAccount, AnswerPermit};

use super::ask_error::AskError;
use super::concurrency_limit::ProviderPermit;
use super::error_mapping;
use super::event_source::{EventSource, EventSourceError};
use super::gen_ai_span;
use super::label::ModelLabel;
use super::remote::RemoteProvider;
use super::target_health::TargetAttempt;
use crate::conversation::ModelOrigin;
use crate::delta::{PartOpening, ResponseDelta};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::{BrokenStreamError, StreamReader};
use crate::request_fitting::ToolNames;

/// Dropping it cancels the request: the provider's connection is closed.
pub struct DeltaStream {
    ready: VecDeque<ResponseDelta>,
    source: Option<Box<ProviderEventStream>>,
    span: TraceSpan,
}

/// Source of the remaining deltas.
pub(super) struct ProviderEventStream {
    pub(super) events: EventSource,
    pub(super) reader: Box<dyn StreamReader>,
    pub(super) dialect: Dialect,
    /// The model that answers.
    pub(super) origin: ModelOrigin,
    pub(super) label: Arc<ModelLabel>,
    pub(super) remote: Arc<RemoteProvider>,
    /// Held until the stream is dropped.
    pub(super) _slot: ProviderPermit,
    /// Bytes of events since memory was last reserved for them.
    pub(super) uncharged: usize,
    pub(super) held: AnswerPermit,
    /// Names of tools that the model knows by another name.
    pub(super) names: ToolNames,
    /// Time of the request.
    pub(super) wall: SystemTime,
    /// Records how the stream goes on.
    pub(super) attempt: Option<TargetAttempt>,
}

impl DeltaStream {
    /// A stream of deltas that are all present.
    pub(super) fn from_deltas(steps: Vec<ResponseDelta>) -> Self {
        Self { ready: steps.into(), source: None, span: TraceSpan::default() }
    }

    pub(super) fn from_events(streaming: ProviderEventStream) -> Self {
        let source = Some(Box::new(streaming));
        Self { ready: VecDeque::new(), source, span: TraceSpan::default() }
    }

    /// Records there how the stream goes on.
    pub(super) fn record_in(&mut self, attempt: TargetAttempt) {
        if let Some(source) = &mut self.source {
            source.attempt = Some(attempt);
        }
    }

    /// Attaches a span to the stream. The first delta has arrived by now.
    pub(super) fn with_span(mut self, mut span: TraceSpan) -> Self {
        let first = span.elapsed();
        span.tell(|attributes| {
            attributes.set_some("gen_ai.response.time_to_first_chunk", first);
            for delta in &self.ready {
                if let ResponseDelta::Start { id, model, .. } = delta {
                    gen_ai_span::record_identity(attributes, id, model);
                }
            }
        });
        self.span = span;
        self
    }

    /// The next delta; there is none after an error or [`ResponseDelta::End`]. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<ResponseDelta, LlmError>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                if let ResponseDelta::End { stop, usage, .. } = &delta {
                    self.span.tell(|attributes| gen_ai_span::record_end(attributes, stop, usage));
                    self.span.complete();
                    drop(std::mem::take(&mut self.span));
                    let source = self.source.as_mut();
                    if let Some(attempt) = source.and_then(|source| source.attempt.as_mut()) {
                        attempt.record_end(usage.output);
                    }
                    self.finish();
                }
                return Some(Ok(delta));
            }
            let streaming = self.source.as_mut()?;
            let limit = streaming.remote.settings.patience.silence;
            let read = match timeout(limit, streaming.read()).await {
                Ok(read) => read,
                Err(_) => Err(error_mapping::stall_error(&streaming.label, limit)),
            };
            match read {
                Ok(deltas) => self.ready.extend(deltas),
                Err(error) => {
                    if let Some(attempt) = &mut streaming.attempt {
                        attempt.record_interruption();
                    }
                    self.source = None;
                    gen_ai_span::record_failure(&mut self.span, &error.failure);
                    drop(std::mem::take(&mut self.span));
                    return Some(Err(error.failure));
                }
            }
        }
    }

    /// Waits for the first token: until then another provider can answer instead.
    pub(super) async fn begin(&mut self) -> Result<(), AskError> {
        while !self.ready.iter().any(has_token) {
            let Some(streaming) = self.source.as_mut() else { return Ok(()) };
            self.ready.extend(streaming.read().await?);
        }
        Ok(())
    }

    /// Called when nothing more is expected. Drains the stream in the background, so that its
    /// connection can be reused.
    fn finish(&mut self) {
        self.ready.clear();
        if let Some(streaming) = self.source.take() {
            let ProviderEventStream { events, remote, .. } = *streaming;
            events.finish(remote.drains());
        }
    }
}

/// Whether a client gets something of the answer: that a part opened does not count, unless it is a
/// call or comes in one piece.
fn has_token(delta: &ResponseDelta) -> bool {
    match delta {
        ResponseDelta::Start { .. } | ResponseDelta::Extra { .. } => false,
        ResponseDelta::Open { opening, .. } => match opening {
            PartOpening::Text | PartOpening::Refusal | PartOpening::Thinking => false,
            PartOpening::Call { .. } | PartOpening::Whole(_) => true,
        },
        ResponseDelta::Grow { text, .. } => !text.is_empty(),
        ResponseDelta::Sign { .. } | ResponseDelta::Close { .. } | ResponseDelta::End { .. } => {
            true
        }
    }
}

impl ProviderEventStream {
    /// The deltas of the next event, possibly none. Cancel-safe.
    async fn read(&mut self) -> Result<Vec<ResponseDelta>, AskError> {
        if self.held.cover(self.uncharged).await.is_err() {
            return Err(error_mapping::no_room_error(&self.label));
        }
        if !self.held.is_empty() {
            // The answer is collected, and its deltas wait for the client.
            self.held.shrink_to(2 * std::mem::take(&mut self.uncharged));
            if let Some(account) = AnswerAccount::current() {
                account.keep(std::mem::take(&mut self.held));
            }
        }
        let read = match self.events.next().await {
            Some(Ok(event)) => {
                self.uncharged += event.data.len();
                self.reader.read(event.name.as_deref(), &event.data)
            }
            Some(Err(EventSourceError::NoRoom)) => {
                return Err(error_mapping::no_room_error(&self.label));
            }
            Some(Err(EventSourceError::Broken(broken))) => Err(broken),
            None => self.finish_reader(),
        };
        let read = read.map(|deltas| {
            let mut deltas = self.name_origin(deltas);
            for delta in &mut deltas {
                if let ResponseDelta::Start { created, .. } = delta {
                    set_created(created, self.wall);
                }
                self.names.restore_in(delta);
            }
            deltas
        });
        read.map_err(|broken| {
            error_mapping::broken_stream_error(&self.label, &broken, self.events.break_reason())
        })
    }

    /// Records in signatures which model made them.
    fn name_origin(&self, mut deltas: Vec<ResponseDelta>) -> Vec<ResponseDelta> {
        for delta in &mut deltas {
            if let ResponseDelta::Sign { signature, .. } = delta {
                *signature = signature.clone().with_origin(self.dialect, self.origin);
            }
        }
        deltas
    }

    /// End of the stream; the reader decides whether it was complete.
    fn finish_reader(&mut self) -> Result<Vec<ResponseDelta>, BrokenStreamError> {
        let last = self.reader.end()?;
        if last.iter().any(|delta| matches!(delta, ResponseDelta::End { .. })) {
            Ok(last)
        } else {
            Err(BrokenStreamError::Short)
        }
    }
}

/// Some dialects do not tell the time, which others require.
pub(super) fn set_created(created: &mut u64, wall: SystemTime) {
    if *created == 0 {
        *created = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    }
}
