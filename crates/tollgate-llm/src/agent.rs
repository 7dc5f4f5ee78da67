//! The agent loop, in which a model uses tools: asks it, has its calls run through the gate, asks
//! again.
//!
//! A client that reads slowly holds the loop back (back-pressure). Called by the fronts. What to do
//! is decided by [`crate::turn`]; a caller of the gate, never a part of it.

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

use crate::conversation::{ChatRequest, ChatResponse};
use crate::delta::ResponseDelta;
use crate::error::LlmError;
use crate::gateway_report::{GatewayReport, StreamNote};
use crate::provider::{ModelHandle, ModelRegistry};
use crate::settings::LlmSettings;

mod calls;
mod inline_results;
mod model_query;
mod offer;
mod opener;
mod prepare;
mod relay;
mod response_stream;
mod run;
mod usage_metrics;

pub use prepare::{CompletionFacts, PreparedCompletion};
pub use usage_metrics::{ChatUsageMetrics, ModelTokenTotals, ROUND_BUCKETS, RoundHistogram};

/// Everything that answers a conversation.
pub struct ChatService {
    gate: Arc<Gate>,
    clock: Arc<dyn Clock>,
    models: ArcSwap<ModelRegistry>,
    figures: ChatUsageMetrics,
}

/// A conversation to answer.
pub struct CompletionRequest {
    /// As the client sent it.
    pub request: ChatRequest,
    /// `None`: a completion without prompt, tools or loop.
    pub acting: Option<AgentTurn>,
    /// In order of preference; at least one.
    pub chain: Vec<Arc<ModelHandle>>,
    /// Until when whoever asks may go on.
    pub lease: RevocableLease,
    /// What the conversation is part of.
    pub trace: Option<Arc<Trace>>,
}

/// On whose behalf, and with what.
pub struct AgentTurn {
    pub agent: Agent,
    pub turn: Turn,
    /// The agent's, filled in.
    pub prompt: Option<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct CompletionOutcome {
    pub response: ChatResponse,
    /// `None`: no agent had a part in it.
    pub told: Option<GatewayReport>,
    pub times: CompletionTimes,
    /// What the provider's dialect has no words for, in words for the client. Of an answer that
    /// was told as it came, a note has said it.
    pub lost: Vec<String>,
}

/// Where the time went, waiting for others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompletionTimes {
    pub models: Duration,
    pub tools: Duration,
}

/// What is said while an answer is made.
#[derive(Debug)]
pub enum CompletionEvent {
    Delta(ResponseDelta),
    Note(StreamNote),
}

/// Where it goes, to a client that wants it as it comes.
#[derive(Debug, Clone)]
pub struct CompletionSink(mpsc::Sender<CompletionEvent>);

impl CompletionSink {
    /// No more than `room` waits for a client that does not read; then the answer waits for it.
    pub fn new(room: usize) -> (Self, mpsc::Receiver<CompletionEvent>) {
        let (sender, said) = mpsc::channel(room);
        (Self(sender), said)
    }

    /// Only if there is room.
    fn try_say(&self, said: CompletionEvent) {
        let _ = self.0.try_send(said);
    }

    /// Whoever does not listen any more drops the whole answer; nothing is done about it here.
    async fn say(&self, said: CompletionEvent) {
        let _ = self.0.send(said).await;
    }
}

impl ChatService {
    /// With the model that is built in, and no other yet.
    pub fn offline(gate: Arc<Gate>, clock: Arc<dyn Clock>) -> Self {
        let models = ModelRegistry::new(&LlmSettings::default(), Arc::clone(&clock), None);
        let models = models.expect("what is built in needs no provider");
        let figures = ChatUsageMetrics::default();
        Self { gate, clock, models: ArcSwap::from_pointee(models), figures }
    }

    /// From now on with these models. Fails, in words, if a provider cannot be used at all, and
    /// changes nothing then. Answers that are being made go on with what they have.
    pub fn reconfigure(&self, settings: &LlmSettings) -> Result<(), String> {
        let models =
            ModelRegistry::new(settings, Arc::clone(&self.clock), Some(&self.models.load()))?;
        self.models.store(Arc::new(models));
        Ok(())
    }

    /// What was spent since the start.
    pub fn figures(&self) -> &ChatUsageMetrics {
        &self.figures
    }

    pub fn models(&self) -> Arc<ModelRegistry> {
        self.models.load_full()
    }

    /// Decides what is offered, to which model. Nothing is sent yet.
    pub fn prepare(
        self: &Arc<Self>,
        order: CompletionRequest,
    ) -> Result<PreparedCompletion, LlmError> {
        prepare::prepare(Arc::clone(self), order)
    }
}
