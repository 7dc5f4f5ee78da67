//! Fallback chain with retries: the first of several models that succeeds answers.
//!
//! Failed attempts are retried after a backoff where that makes sense; then the next model is
//! queried. Called by the agent loop.

use std::sync::Arc;
use std::time::Instant;

use tollgate_core::trace::Trace;
use tollgate_engine::clock::Clock;
use tollgate_engine::spans::{TraceScope, TraceSpan};

use super::ask_error::{AskError, RetryTarget};
use super::delta_stream::DeltaStream;
use super::endpoint::AttemptAnswer;
use super::gen_ai_span;
use super::model::ModelHandle;
use super::retry_backoff::{RetryProgress, retry_delay};
use crate::conversation::{ChatRequest, ChatResponse, ResponseDelivery};
use crate::error::{LlmError, LlmErrorKind};
use crate::gateway_report::StreamNote;

/// The models to query, and the limits.
pub struct FallbackChain<'a> {
    /// In order of preference.
    pub models: &'a [Arc<ModelHandle>],
    pub clock: &'a dyn Clock,
    /// Deadline of the whole chain.
    pub until: Option<Instant>,
    /// Trace context of the query.
    pub follow: &'a TraceScope,
    /// Called when falling back to the next model ([`StreamNote::Fallback`]).
    pub on_fallback: &'a (dyn Fn(StreamNote) + Send + Sync),
}

/// An answer, or the start of a streamed one.
pub struct ChainAnswer<T> {
    /// The model that answered.
    pub model: Arc<ModelHandle>,
    pub answer: T,
    /// Parts of the request that the provider's dialect cannot express and that were omitted, as
    /// text for the client.
    pub lost: Vec<String>,
}

impl FallbackChain<'_> {
    /// `write` builds the request for a model. If it is too long for one model, or beyond a limit of
    /// it, the next is queried; any other error of it is final.
    pub async fn ask(
        &self,
        write: impl Fn(&ModelHandle) -> Result<ChatRequest, LlmError>,
    ) -> Result<ChainAnswer<ChatResponse>, LlmError> {
        self.ask_in_order(write).await
    }

    /// The same, streamed. There is no further attempt once part of an answer has arrived.
    pub async fn stream(
        &self,
        write: impl Fn(&ModelHandle) -> Result<ChatRequest, LlmError>,
    ) -> Result<ChainAnswer<DeltaStream>, LlmError> {
        self.ask_in_order(write).await
    }

    async fn ask_in_order<T: ChainAnswerForm>(
        &self,
        write: impl Fn(&ModelHandle) -> Result<ChatRequest, LlmError>,
    ) -> Result<ChainAnswer<T>, LlmError> {
        let mut last_error: Option<LlmError> = None;
        let mut before: Option<(&Arc<ModelHandle>, String)> = None;
        for model in self.models {
            if let Some((before, why)) = before.take() {
                (self.on_fallback)(StreamNote::Fallback {
                    from: before.settings.name.clone(),
                    to: model.settings.name.clone(),
                    why,
                });
            }
            let request = match write(model) {
                Ok(request) => request,
                Err(failure) if has_another_chance(failure.kind) => {
                    before = Some((model, failure.message.clone()));
                    last_error = Some(preferred_error(last_error, failure));
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            match self.ask_with_retries(model, &request).await {
                Ok(AttemptAnswer { answer, lost, .. }) => {
                    return Ok(ChainAnswer { model: Arc::clone(model), answer, lost });
                }
                Err(AskError { failure, again: RetryTarget::Never }) => return Err(failure),
                Err(AskError { failure, .. }) => {
                    before = Some((model, failure.message.clone()));
                    last_error = Some(preferred_error(last_error, failure));
                }
            }
        }
        let nobody = || LlmError::new(LlmErrorKind::UnknownModel, "there is no model to ask");
        Err(last_error.unwrap_or_else(nobody))
    }

    /// Queries one model, with retries.
    async fn ask_with_retries<T: ChainAnswerForm>(
        &self,
        model: &ModelHandle,
        request: &ChatRequest,
    ) -> Result<AttemptAnswer<T>, AskError> {
        let mut failed = 0;
        loop {
            let mut span = model.begin_span(self.follow, T::DELIVERY);
            let trace = span.trace().cloned();
            let attempt = T::attempt(model, request, trace.as_deref(), self.until);
            let error = match self.in_time(model, attempt).await {
                Ok(AttemptAnswer { answer, lost, from }) => {
                    if let Some(url) = &from {
                        gen_ai_span::record_server(&mut span, url);
                    }
                    return Ok(AttemptAnswer { answer: answer.attach_span(span), lost, from });
                }
                Err(error) => error,
            };
            gen_ai_span::record_failure(&mut span, &error.failure);
            drop(span);
            failed += 1;
            let failure = &error.failure;
            tracing::warn!(model = model.settings.name, code = failure.kind.code(), %failure,
                "a model did not answer");
            let left = self.until.map(|until| until.saturating_duration_since(self.clock.now()));
            let tried = RetryProgress { failed, retries: model.retries(), left };
            match retry_delay(error.again, tried, rand::random()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    async fn in_time<T>(
        &self,
        model: &ModelHandle,
        attempt: impl Future<Output = Result<T, AskError>>,
    ) -> Result<T, AskError> {
        let Some(until) = self.until else { return attempt.await };
        match tokio::time::timeout_at(until.into(), attempt).await {
            Ok(result) => result,
            Err(_) => {
                let name = &model.settings.name;
                let message = format!("model `{name}` did not answer in the remaining time");
                Err(AskError::never(LlmError::new(LlmErrorKind::Timeout, message)))
            }
        }
    }
}

/// Whether another model may take a request that could not be written for one.
fn has_another_chance(kind: LlmErrorKind) -> bool {
    matches!(kind, LlmErrorKind::TooLong | LlmErrorKind::ModelLimit)
}

/// Selects which of two errors to report: the later one, unless it only says that a fallback model
/// is too small.
fn preferred_error(earlier: Option<LlmError>, later: LlmError) -> LlmError {
    match earlier {
        Some(earlier)
            if later.kind == LlmErrorKind::TooLong && earlier.kind != LlmErrorKind::TooLong =>
        {
            earlier
        }
        _ => later,
    }
}

/// The two forms of an answer: complete or streamed.
trait ChainAnswerForm: Sized {
    const DELIVERY: ResponseDelivery;

    fn attempt(
        model: &ModelHandle,
        request: &ChatRequest,
        trace: Option<&Trace>,
        until: Option<Instant>,
    ) -> impl Future<Output = Result<AttemptAnswer<Self>, AskError>> + Send;

    /// Attaches the span that records the answer.
    fn attach_span(self, span: TraceSpan) -> Self;
}

impl ChainAnswerForm for ChatResponse {
    const DELIVERY: ResponseDelivery = ResponseDelivery::Whole;

    fn attach_span(self, mut span: TraceSpan) -> Self {
        gen_ai_span::record_response(&mut span, &self);
        self
    }

    async fn attempt(
        model: &ModelHandle,
        request: &ChatRequest,
        trace: Option<&Trace>,
        until: Option<Instant>,
    ) -> Result<AttemptAnswer<Self>, AskError> {
        model.answer(request, trace, until).await
    }
}

impl ChainAnswerForm for DeltaStream {
    const DELIVERY: ResponseDelivery = ResponseDelivery::Streamed;

    fn attach_span(self, span: TraceSpan) -> Self {
        self.with_span(span)
    }

    async fn attempt(
        model: &ModelHandle,
        request: &ChatRequest,
        trace: Option<&Trace>,
        until: Option<Instant>,
    ) -> Result<AttemptAnswer<Self>, AskError> {
        model.answer_in_steps(request, trace, until).await
    }
}
