//! One model that can be asked, in process or at a provider.

use std::sync::Arc;

use http::{Response as HttpResponse, Uri};
use tollgate_core::trace::Trace;
use tollgate_engine::clock::Clock;

use super::ask_error::AskError;
use super::delta_stream::DeltaStream;
use super::endpoint::ModelEndpoint;
use super::gen_ai_span;
use super::pass_through::{PassThroughBody, PassThroughRequest};
use super::remote::RemoteProvider;
use crate::conversation::{ChatRequest, ChatResponse};
use crate::dialect::Dialect;
use crate::error::{LlmError, LlmErrorKind};
use crate::offline;
use crate::settings::{self, ProviderKind};

pub struct ModelHandle {
    pub settings: settings::ModelSettings,
    place: ModelBackend,
    clock: Arc<dyn Clock>,
}

enum ModelBackend {
    InProcess,
    Remote(Box<ModelEndpoint>),
    /// For live sessions only.
    Live(Arc<RemoteProvider>),
}

/// What came of one attempt, and what the provider's dialect had no words for.
pub(super) struct AttemptAnswer<T> {
    pub(super) answer: T,
    pub(super) lost: Vec<String>,
}

impl ModelHandle {
    pub(super) fn in_process(settings: settings::ModelSettings, clock: Arc<dyn Clock>) -> Self {
        Self { settings, place: ModelBackend::InProcess, clock }
    }

    pub(super) fn remote(
        settings: settings::ModelSettings,
        remote: Arc<RemoteProvider>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let place = match settings.is_live_at(remote.settings.kind) {
            true => ModelBackend::Live(remote),
            false => ModelBackend::Remote(Box::new(ModelEndpoint::new(&settings, remote)?)),
        };
        Ok(Self { settings, place, clock })
    }

    /// The provider that serves it. `None`: it is in process.
    pub(super) fn provider(&self) -> Option<&RemoteProvider> {
        match &self.place {
            ModelBackend::InProcess => None,
            ModelBackend::Remote(endpoint) => Some(endpoint.remote()),
            ModelBackend::Live(remote) => Some(remote),
        }
    }

    /// Where its provider is.
    pub(super) fn origin(&self) -> Option<&Uri> {
        self.provider().map(|remote| remote.base.origin())
    }

    /// Of which kind its provider is. `None`: it is in process.
    pub fn provider_kind(&self) -> Option<ProviderKind> {
        self.provider().map(|remote| remote.settings.kind)
    }

    /// Whether it can be asked nothing but live sessions.
    pub fn is_live(&self) -> bool {
        matches!(self.place, ModelBackend::Live(_))
    }

    /// In which it is chatted with. `None`: it is in process, or for live sessions.
    pub fn dialect(&self) -> Option<Dialect> {
        match &self.place {
            ModelBackend::InProcess | ModelBackend::Live(_) => None,
            ModelBackend::Remote(endpoint) => Some(endpoint.dialect()),
        }
    }

    /// One attempt. Dropping the future gives it up.
    pub async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, AskError> {
        Ok(self.answer(request, None).await?.answer)
    }

    /// One attempt. Returns once something of the answer has come: from then on there is no other
    /// attempt, and a failure is the stream's last item.
    pub async fn stream(&self, request: &ChatRequest) -> Result<DeltaStream, AskError> {
        Ok(self.answer_in_steps(request, None).await?.answer)
    }

    /// Hands a client's request on as it is, with this model's name in it, and the answer back as
    /// it is. The client must speak this model's dialect. Attempts are repeated like those of a
    /// chain; what fails in the end fails in the provider's own words, where a client may read them.
    pub async fn pass(
        &self,
        mut passed: PassThroughRequest,
    ) -> Result<HttpResponse<PassThroughBody>, AskError> {
        match &self.place {
            ModelBackend::Remote(endpoint) => {
                let mut span = gen_ai_span::begin(&passed.follow, self, passed.delivery);
                passed.follow = passed.follow.within(&span);
                let answer = endpoint.pass(passed, &*self.clock).await;
                match &answer {
                    Ok(response) if response.status().is_success() => span.done(),
                    Ok(response) => {
                        span.fail(response.status().as_str().to_owned(), String::new);
                    }
                    Err(error) => gen_ai_span::record_failure(&mut span, &error.failure),
                }
                answer.map(|answer| answer.map(|body| body.with_span(span)))
            }
            ModelBackend::InProcess => {
                let message = format!("model `{}` is in process", self.settings.name);
                Err(AskError::never(LlmError::new(LlmErrorKind::Internal, message)))
            }
            ModelBackend::Live(_) => Err(self.only_live()),
        }
    }

    /// Further attempts after one that failed.
    pub(super) fn retries(&self) -> u32 {
        match &self.place {
            ModelBackend::InProcess | ModelBackend::Live(_) => 0,
            ModelBackend::Remote(endpoint) => endpoint.retries(),
        }
    }

    pub(super) async fn answer(
        &self,
        request: &ChatRequest,
        trace: Option<&Trace>,
    ) -> Result<AttemptAnswer<ChatResponse>, AskError> {
        match &self.place {
            ModelBackend::InProcess => {
                let answer = offline::answer(request, self.clock.wall());
                Ok(AttemptAnswer { answer, lost: Vec::new() })
            }
            ModelBackend::Remote(endpoint) => {
                endpoint.ask(request, (trace, self.clock.wall())).await
            }
            ModelBackend::Live(_) => Err(self.only_live()),
        }
    }

    pub(super) async fn answer_in_steps(
        &self,
        request: &ChatRequest,
        trace: Option<&Trace>,
    ) -> Result<AttemptAnswer<DeltaStream>, AskError> {
        match &self.place {
            ModelBackend::InProcess => {
                let response = offline::answer(request, self.clock.wall());
                let answer = DeltaStream::from_deltas(offline::steps(&response));
                Ok(AttemptAnswer { answer, lost: Vec::new() })
            }
            ModelBackend::Remote(endpoint) => {
                endpoint.stream(request, (trace, self.clock.wall())).await
            }
            ModelBackend::Live(_) => Err(self.only_live()),
        }
    }

    fn only_live(&self) -> AskError {
        let message = format!(
            "model `{}` is for live sessions (`GET /v1/realtime`); chats need another",
            self.settings.name
        );
        AskError::never(LlmError::invalid("model", message))
    }
}
