//! A chain of models: the first that answers does. Attempts are repeated after a pause where that
//! makes sense, then the next model is asked. Called by the loop.

use std::sync::Arc;
use std::time::Instant;

use tollgate_core::trace::Trace;
use tollgate_engine::clock::Clock;
use tollgate_engine::spans::{Follow, Span};

use super::answering::Answering;
use super::ask_error::{Again, AskError};
use super::model::{Answered, Model};
use super::pause::{Tried, pause};
use super::question;
use crate::conversation::{Delivery, Request, Response};
use crate::failure::{Failure, Kind};
use crate::told::Note;

/// Whom to ask, and within which limits.
pub struct Chain<'a> {
    /// In order of preference.
    pub models: &'a [Arc<Model>],
    pub clock: &'a dyn Clock,
    /// Nothing is waited for beyond this.
    pub until: Option<Instant>,
    /// What the question is part of.
    pub follow: &'a Follow,
    /// Is told when the next model is asked ([`Note::Fallback`]).
    pub on_fallback: &'a (dyn Fn(Note) + Send + Sync),
}

/// An answer, or the beginning of one.
pub struct Reached<T> {
    /// Who gave it.
    pub model: Arc<Model>,
    pub answer: T,
    /// What the provider's dialect had no words for and was left out, in words for the client.
    pub lost: Vec<String>,
}

impl Chain<'_> {
    /// `write` makes the request for a model. If it says that the request is too long for one, the
    /// next is asked; any other failure of it is final.
    pub async fn ask(
        &self,
        write: impl Fn(&Model) -> Result<Request, Failure>,
    ) -> Result<Reached<Response>, Failure> {
        self.go(write).await
    }

    /// The same, step by step. Once something of an answer has come there is no other attempt.
    pub async fn stream(
        &self,
        write: impl Fn(&Model) -> Result<Request, Failure>,
    ) -> Result<Reached<Answering>, Failure> {
        self.go(write).await
    }

    async fn go<T: Wanted>(
        &self,
        write: impl Fn(&Model) -> Result<Request, Failure>,
    ) -> Result<Reached<T>, Failure> {
        let mut told: Option<Failure> = None;
        let mut before: Option<(&Arc<Model>, String)> = None;
        for model in self.models {
            if let Some((before, why)) = before.take() {
                (self.on_fallback)(Note::Fallback {
                    from: before.settings.name.clone(),
                    to: model.settings.name.clone(),
                    why,
                });
            }
            let request = match write(model) {
                Ok(request) => request,
                Err(failure) if failure.kind == Kind::TooLong => {
                    before = Some((model, failure.message.clone()));
                    told = Some(worse(told, failure));
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            match self.persist(model, &request).await {
                Ok(Answered { answer, lost }) => {
                    return Ok(Reached { model: Arc::clone(model), answer, lost });
                }
                Err(AskError { failure, again: Again::Never }) => return Err(failure),
                Err(AskError { failure, .. }) => {
                    before = Some((model, failure.message.clone()));
                    told = Some(worse(told, failure));
                }
            }
        }
        let nobody = || Failure::new(Kind::UnknownModel, "there is no model to ask");
        Err(told.unwrap_or_else(nobody))
    }

    /// Asks one model, more than once if need be.
    async fn persist<T: Wanted>(
        &self,
        model: &Model,
        request: &Request,
    ) -> Result<Answered<T>, AskError> {
        let mut failed = 0;
        loop {
            let mut span = question::begin(self.follow, model, T::DELIVERY);
            let trace = span.trace().cloned();
            let attempt = T::attempt(model, request, trace.as_deref());
            let error = match self.in_time(model, attempt).await {
                Ok(Answered { answer, lost }) => {
                    return Ok(Answered { answer: answer.followed(span), lost });
                }
                Err(error) => error,
            };
            question::failed(&mut span, &error.failure);
            drop(span);
            failed += 1;
            let failure = &error.failure;
            tracing::warn!(model = model.settings.name, code = failure.kind.code(), %failure,
                "a model did not answer");
            let left = self.until.map(|until| until.saturating_duration_since(self.clock.now()));
            let tried = Tried { failed, retries: model.retries(), left };
            match pause(error.again, tried, rand::random()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(error),
            }
        }
    }

    async fn in_time<T>(
        &self,
        model: &Model,
        attempt: impl Future<Output = Result<T, AskError>>,
    ) -> Result<T, AskError> {
        let Some(until) = self.until else { return attempt.await };
        match tokio::time::timeout_at(until.into(), attempt).await {
            Ok(result) => result,
            Err(_) => {
                let name = &model.settings.name;
                let message = format!("model `{name}` did not answer in the time that was left");
                Err(AskError::never(Failure::new(Kind::Timeout, message)))
            }
        }
    }
}

/// What is told of two failures: the later one, unless it says only that another model, which was
/// asked in need, is too small.
fn worse(earlier: Option<Failure>, later: Failure) -> Failure {
    match earlier {
        Some(earlier) if later.kind == Kind::TooLong && earlier.kind != Kind::TooLong => earlier,
        _ => later,
    }
}

/// The two forms in which an answer is wanted.
trait Wanted: Sized {
    const DELIVERY: Delivery;

    fn attempt(
        model: &Model,
        request: &Request,
        trace: Option<&Trace>,
    ) -> impl Future<Output = Result<Answered<Self>, AskError>> + Send;

    /// The answer, which is told of by the span.
    fn followed(self, span: Span) -> Self;
}

impl Wanted for Response {
    const DELIVERY: Delivery = Delivery::Whole;

    fn followed(self, mut span: Span) -> Self {
        question::answered(&mut span, &self);
        self
    }

    async fn attempt(
        model: &Model,
        request: &Request,
        trace: Option<&Trace>,
    ) -> Result<Answered<Self>, AskError> {
        model.answer(request, trace).await
    }
}

impl Wanted for Answering {
    const DELIVERY: Delivery = Delivery::Streamed;

    fn followed(self, span: Span) -> Self {
        self.told_by(span)
    }

    async fn attempt(
        model: &Model,
        request: &Request,
        trace: Option<&Trace>,
    ) -> Result<Answered<Self>, AskError> {
        model.answer_in_steps(request, trace).await
    }
}
