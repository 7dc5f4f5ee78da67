//! Model handle: one model that can be queried, in process or at a provider.

use std::sync::Arc;
use std::time::Instant;

use http::{Response as HttpResponse, Uri};
use tollgate_core::trace::Trace;
use tollgate_engine::clock::Clock;
use tollgate_engine::spans::{TraceScope, TraceSpan};

use super::ask_error::AskError;
use super::delta_stream::DeltaStream;
use super::endpoint::{AttemptAnswer, EmbeddingVectors, ForwardedRequest};
use super::gen_ai_span::{self, QueriedModel};
use super::pass_through::{PassThroughBody, PassThroughRequest};
use super::pool::{
    LiveTarget, LiveTargets, PassQuery, QueryTime, StreamQuery, TargetPool, WholeQuery,
};
use super::remote::RemoteProvider;
use super::retry_backoff::{RetryProgress, retry_delay};
use super::side_endpoint::SideEndpoint;
use super::target_health::TargetReport;
use crate::conversation::{ChatRequest, ChatResponse, ResponseDelivery};
use crate::dialect::Dialect;
use crate::embedding::EmbeddingTexts;
use crate::error::{LlmError, LlmErrorKind};
use crate::model_capabilities::{Feature, ModelCapabilities};
use crate::offline;
use crate::settings::{self, CloudSettings, ProviderKind};

pub struct ModelHandle {
    pub settings: settings::ModelSettings,
    place: ModelBackend,
    clock: Arc<dyn Clock>,
}

enum ModelBackend {
    InProcess,
    Remote(Box<TargetPool>),
    /// For realtime sessions only.
    Live(Box<LiveTargets>),
}

impl ModelHandle {
    pub(super) fn in_process(settings: settings::ModelSettings, clock: Arc<dyn Clock>) -> Self {
        Self { settings, place: ModelBackend::InProcess, clock }
    }

    pub(super) fn live(
        settings: settings::ModelSettings,
        targets: LiveTargets,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { settings, place: ModelBackend::Live(Box::new(targets)), clock }
    }

    pub(super) fn with_pool(
        settings: settings::ModelSettings,
        pool: TargetPool,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { settings, place: ModelBackend::Remote(Box::new(pool)), clock }
    }

    /// The first provider of the model. `None`: in process.
    pub(super) fn provider(&self) -> Option<&RemoteProvider> {
        match &self.place {
            ModelBackend::InProcess => None,
            ModelBackend::Remote(pool) => Some(pool.first().remote()),
            ModelBackend::Live(targets) => Some(&targets.first().remote),
        }
    }

    /// Origin of the provider's URL.
    pub(super) fn origin(&self) -> Option<&Uri> {
        self.provider().map(|remote| remote.base.origin())
    }

    /// Kind of the provider. `None`: in process.
    pub fn provider_kind(&self) -> Option<ProviderKind> {
        self.provider().map(|remote| remote.settings.kind)
    }

    /// Whether the model only supports realtime sessions.
    pub fn is_live(&self) -> bool {
        matches!(self.place, ModelBackend::Live(_))
    }

    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Where live sessions are served. `None`: the model is not only for them.
    pub(super) fn live_targets(&self) -> Option<&LiveTargets> {
        match &self.place {
            ModelBackend::InProcess | ModelBackend::Remote(_) => None,
            ModelBackend::Live(targets) => Some(targets),
        }
    }

    /// The first provider of a model for chats, for a client that insists on a live session with
    /// it.
    pub(super) fn first_as_live_target(&self) -> Option<LiveTarget> {
        let ModelBackend::Remote(pool) = &self.place else { return None };
        let remote = pool.first().shared_remote();
        let id = pool.first().id().to_owned();
        let health = remote.health(Some(&id));
        let clock = Arc::clone(&self.clock);
        let weight = remote.weight();
        Some(LiveTarget { remote, id, weight, price: None, health, clock })
    }

    /// Whether a client of this dialect may send its requests through unchanged.
    pub fn may_pass(&self, dialect: Dialect) -> bool {
        match &self.place {
            ModelBackend::InProcess | ModelBackend::Live(_) => false,
            ModelBackend::Remote(pool) => pool.may_pass(dialect),
        }
    }

    /// Where the model is served, and how well. Empty: in process.
    pub fn targets(&self) -> Vec<TargetReport> {
        match &self.place {
            ModelBackend::InProcess => Vec::new(),
            ModelBackend::Live(targets) => targets.reports(self.clock.now()),
            ModelBackend::Remote(pool) => pool.reports(self.clock.now()),
        }
    }

    /// Chat dialect of the model, at its first provider. `None`: in process, or realtime only.
    pub fn dialect(&self) -> Option<Dialect> {
        match &self.place {
            ModelBackend::InProcess | ModelBackend::Live(_) => None,
            ModelBackend::Remote(pool) => Some(pool.first().dialect()),
        }
    }

    /// One attempt. Dropping the future cancels it.
    pub async fn ask(&self, request: &ChatRequest) -> Result<ChatResponse, AskError> {
        Ok(self.answer(request, None, None).await?.answer)
    }

    /// One attempt. Returns when the first content has arrived: from then on there is no retry, and
    /// an error is the last item of the stream.
    pub async fn stream(&self, request: &ChatRequest) -> Result<DeltaStream, AskError> {
        Ok(self.answer_in_steps(request, None, None).await?.answer)
    }

    /// Passes a client's request through unchanged except for the model name, and returns the
    /// response unchanged. The client must speak this model's dialect. Attempts are retried like
    /// those of a chain; the final error is the provider's own response, where a client may see it.
    pub async fn pass(
        &self,
        mut passed: PassThroughRequest,
    ) -> Result<HttpResponse<PassThroughBody>, AskError> {
        match &self.place {
            ModelBackend::Remote(pool) => {
                let mut span = self.begin_span(&passed.follow, passed.delivery);
                passed.follow = passed.follow.within(&span);
                let answer = self.pass_with_retries(pool, passed).await;
                match &answer {
                    Ok(response) if response.status().is_success() => span.complete(),
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

    /// The span of one query.
    pub(super) fn begin_span(&self, follow: &TraceScope, delivery: ResponseDelivery) -> TraceSpan {
        let queried = QueriedModel {
            id: &self.settings.id,
            provider: self.provider_kind(),
            origin: self.origin(),
        };
        gen_ai_span::begin(follow, &queried, delivery)
    }

    /// Whether the provider of the model has this endpoint.
    pub fn has_endpoint(&self, endpoint: SideEndpoint) -> bool {
        let has_vendor_endpoints = |remote: &RemoteProvider| {
            matches!(remote.settings.cloud, None | Some(CloudSettings::Azure(_)))
        };
        matches!(self.place, ModelBackend::Remote(_))
            && self.provider_kind() == Some(endpoint.provider_kind())
            && self.provider().is_some_and(has_vendor_endpoints)
    }

    /// Passes a request for an endpoint beside chat through. The provider must have the endpoint.
    pub async fn forward(
        &self,
        request: ForwardedRequest,
    ) -> Result<HttpResponse<PassThroughBody>, AskError> {
        match &self.place {
            ModelBackend::Remote(pool) => pool.first().forward(request, &*self.clock).await,
            ModelBackend::InProcess | ModelBackend::Live(_) => Err(self.only_chats()),
        }
    }

    /// Embeds texts at a provider that has embeddings, of whichever API.
    pub async fn embed(&self, wanted: &EmbeddingTexts) -> Result<EmbeddingVectors, AskError> {
        match &self.place {
            ModelBackend::Remote(pool) => pool.first().embed(wanted, &*self.clock).await,
            ModelBackend::InProcess | ModelBackend::Live(_) => Err(self.only_chats()),
        }
    }

    fn only_chats(&self) -> AskError {
        let message = format!("model `{}` has no such endpoint", self.settings.name);
        AskError::never(LlmError::invalid("model", message))
    }

    /// Retries as the provider's settings say, as long as nothing was returned to the client.
    async fn pass_with_retries(
        &self,
        pool: &TargetPool,
        passed: PassThroughRequest,
    ) -> Result<HttpResponse<PassThroughBody>, AskError> {
        let mut query = PassQuery { passed, wall: self.clock.wall() };
        let time = QueryTime { clock: &self.clock, until: None };
        let mut failed = 0;
        loop {
            let declined = match pool.ask(&query, time).await {
                Ok(answer) => return Ok(answer),
                Err(declined) => declined,
            };
            failed += 1;
            let tried = RetryProgress { failed, retries: pool.retries(), left: None };
            match retry_delay(declined.error.again, tried, rand::random()) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return declined.words.map(|words| *words).ok_or(declined.error),
            }
            query.wall = self.clock.wall();
        }
    }

    /// Whether the model takes something that some models refuse.
    pub(crate) fn takes(&self, feature: Feature) -> bool {
        let name = self.settings.behaves_like.as_ref().unwrap_or(&self.settings.id);
        self.dialect().is_none_or(|it| ModelCapabilities::of(it, name).takes(feature))
    }

    /// Number of retries after a failed attempt.
    pub(super) fn retries(&self) -> u32 {
        match &self.place {
            ModelBackend::InProcess | ModelBackend::Live(_) => 0,
            ModelBackend::Remote(pool) => pool.retries(),
        }
    }

    /// One attempt, at several targets if need be, until the deadline.
    pub(super) async fn answer(
        &self,
        request: &ChatRequest,
        trace: Option<&Trace>,
        until: Option<Instant>,
    ) -> Result<AttemptAnswer<ChatResponse>, AskError> {
        match &self.place {
            ModelBackend::InProcess => {
                let answer = offline::answer(request, self.clock.wall());
                Ok(AttemptAnswer { answer, lost: Vec::new(), from: None })
            }
            ModelBackend::Remote(pool) => {
                let query = WholeQuery { request, trace, wall: self.clock.wall() };
                let time = QueryTime { clock: &self.clock, until };
                pool.ask(&query, time).await.map_err(|declined| declined.error)
            }
            ModelBackend::Live(_) => Err(self.only_live()),
        }
    }

    pub(super) async fn answer_in_steps(
        &self,
        request: &ChatRequest,
        trace: Option<&Trace>,
        until: Option<Instant>,
    ) -> Result<AttemptAnswer<DeltaStream>, AskError> {
        match &self.place {
            ModelBackend::InProcess => {
                let response = offline::answer(request, self.clock.wall());
                let answer = DeltaStream::from_deltas(offline::steps(&response));
                Ok(AttemptAnswer { answer, lost: Vec::new(), from: None })
            }
            ModelBackend::Remote(pool) => {
                let query = StreamQuery { request, trace, wall: self.clock.wall() };
                let time = QueryTime { clock: &self.clock, until };
                pool.ask(&query, time).await.map_err(|declined| declined.error)
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
