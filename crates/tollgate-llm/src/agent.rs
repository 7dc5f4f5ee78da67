//! The agent loop: queries a model, runs its tool calls through the gate, and queries it again.
//!
//! A slow client applies back-pressure to the loop. Called by the fronts. [`crate::turn`] decides
//! the next step. The loop is a caller of the gate, never a part of it.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::mpsc;
use tollgate_core::agent::Agent;
use tollgate_core::lease::RevocableLease;
use tollgate_core::trace::Trace;
use tollgate_core::turn::Turn;
use tollgate_engine::clock::Clock;
use tollgate_engine::gate::Gate;
use tollgate_engine::model_usage::ModelCaller;

use crate::conversation::{ChatRequest, ChatResponse};
use crate::delta::ResponseDelta;
use crate::error::LlmError;
use crate::gateway_report::{GatewayReport, StreamNote};
use crate::provider::{ModelConfigError, ModelHandle, ModelRegistry};
use crate::settings::LlmSettings;

mod agent_span;
mod answer_times;
mod calls;
mod inline_results;
mod model_query;
mod offer;
mod opener;
mod own_results;
mod prepare;
mod relay;
mod repeated_calls;
mod response_stream;
mod run;
mod start;
mod usage_metrics;

use answer_times::AnswerTimes;

pub use prepare::{CompletionFacts, PreparedCompletion};
pub use usage_metrics::{ChatUsageMetrics, ModelTokenTotals, ROUND_BUCKETS, RoundHistogram};

/// The chat service: gate, clock, model registry and usage metrics.
pub struct ChatService {
    gate: Arc<Gate>,
    clock: Arc<dyn Clock>,
    models: ArcSwap<ModelRegistry>,
    figures: ChatUsageMetrics,
    answer_times: AnswerTimes,
}

/// A chat completion to run.
pub struct CompletionRequest {
    /// As the client sent it.
    pub request: ChatRequest,
    /// `None`: a completion without prompt, tools or loop.
    pub acting: Option<AgentTurn>,
    /// In order of preference; at least one.
    pub chain: Vec<Arc<ModelHandle>>,
    /// Revocation of the caller's credentials ends the completion.
    pub lease: RevocableLease,
    /// Trace that the completion belongs to.
    pub trace: Option<Arc<Trace>>,
    /// Whose use of models it is.
    pub caller: ModelCaller,
}

/// The agent of a completion, and its turn.
pub struct AgentTurn {
    pub agent: Agent,
    pub turn: Turn,
    /// The agent's prompt, with its variables filled in.
    pub prompt: Option<String>,
}

/// Result of a completion.
#[derive(Debug)]
pub struct CompletionOutcome {
    pub response: ChatResponse,
    /// `None`: no agent was involved.
    pub report: Option<GatewayReport>,
    pub times: CompletionTimes,
    /// Parts of the request that the provider's dialect cannot express, as text for the client. A
    /// streamed answer has already reported them as notes.
    pub lost: Vec<String>,
}

/// Time spent waiting for models and tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompletionTimes {
    pub models: Duration,
    pub tools: Duration,
}

/// An event of a completion in progress.
#[derive(Debug)]
pub enum CompletionEvent {
    Delta(ResponseDelta),
    Note(StreamNote),
}

/// Event channel to a client that wants the answer as a stream. Events are boxed: a channel has room
/// for 32 of them from the beginning, and thousands of streams wait at once.
#[derive(Debug, Clone)]
pub struct CompletionSink(mpsc::Sender<Box<CompletionEvent>>);

impl CompletionSink {
    /// Queues at most `room` events for a client that does not read; then the answer waits for it
    /// (back-pressure).
    pub fn new(room: usize) -> (Self, mpsc::Receiver<Box<CompletionEvent>>) {
        let (sender, events) = mpsc::channel(room);
        (Self(sender), events)
    }

    /// Drops the event if the queue is full.
    fn try_say(&self, event: CompletionEvent) {
        let _ = self.0.try_send(Box::new(event));
    }

    /// A send error is ignored: a client that no longer reads drops the whole answer.
    async fn say(&self, event: CompletionEvent) {
        let _ = self.0.send(Box::new(event)).await;
    }
}

impl ChatService {
    /// With the built-in model only.
    pub fn offline(gate: Arc<Gate>, clock: Arc<dyn Clock>) -> Self {
        let models = ModelRegistry::new(&LlmSettings::default(), Arc::clone(&clock), None);
        let models = models.expect("what is built in needs no provider");
        let figures = ChatUsageMetrics::default();
        let models = ArcSwap::from_pointee(models);
        Self { gate, clock, models, figures, answer_times: AnswerTimes::default() }
    }

    /// Hot reload: replaces the models. Fails and changes nothing if a provider is unusable. Answers in progress keep the models they started with.
    pub fn reconfigure(&self, settings: &LlmSettings) -> Result<(), ModelConfigError> {
        let models =
            ModelRegistry::new(settings, Arc::clone(&self.clock), Some(&self.models.load()))?;
        self.models.store(Arc::new(models));
        Ok(())
    }

    /// Usage counters since the start.
    pub fn figures(&self) -> &ChatUsageMetrics {
        &self.figures
    }

    pub fn models(&self) -> Arc<ModelRegistry> {
        self.models.load_full()
    }

    /// Selects the offered tools and the model. Sends nothing yet.
    pub fn prepare(
        self: &Arc<Self>,
        order: CompletionRequest,
    ) -> Result<PreparedCompletion, LlmError> {
        prepare::prepare(Arc::clone(self), order)
    }
}
