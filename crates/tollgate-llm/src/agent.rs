//! The loop in which a model uses tools: asks it, has its calls run through the gate, asks again.
//! Called by the fronts. What to do is decided by [`crate::turn`]; a caller of the gate, never a
//! part of it.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::mpsc;
use tollgate_core::agent::Agent;
use tollgate_core::lease::Lease;
use tollgate_core::trace::Trace;
use tollgate_core::turn::Turn;
use tollgate_engine::clock::Clock;
use tollgate_engine::gate::Gate;

use crate::conversation::{Request, Response};
use crate::delta::Delta;
use crate::failure::Failure;
use crate::provider::{Model, Models};
use crate::settings::Settings;
use crate::told::{Note, Told};

mod asking;
mod calls;
mod figures;
mod inlined;
mod mouth;
mod offer;
mod opener;
mod prepare;
mod relay;
mod run;

pub use figures::{Figures, ROUNDS, Rounds, Spent};
pub use prepare::{Facts, Prepared};

/// Everything that answers a conversation.
pub struct Chat {
    gate: Arc<Gate>,
    clock: Arc<dyn Clock>,
    models: ArcSwap<Models>,
    figures: Figures,
}

/// A conversation to answer.
pub struct Order {
    /// As the client sent it.
    pub request: Request,
    /// `None`: a completion without prompt, tools or loop.
    pub acting: Option<Acting>,
    /// In order of preference; at least one.
    pub chain: Vec<Arc<Model>>,
    /// Until when whoever asks may go on.
    pub lease: Lease,
    /// What the conversation is part of.
    pub trace: Option<Arc<Trace>>,
}

/// On whose behalf, and with what.
pub struct Acting {
    pub agent: Agent,
    pub turn: Turn,
    /// The agent's, filled in.
    pub prompt: Option<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct Answer {
    pub response: Response,
    /// `None`: no agent had a part in it.
    pub told: Option<Told>,
    pub times: Times,
    /// What the provider's dialect has no words for, in words for the client. Of an answer that
    /// was told as it came, a note has said it.
    pub lost: Vec<String>,
}

/// Where the time went, waiting for others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    pub models: Duration,
    pub tools: Duration,
}

/// What is said while an answer is made.
#[derive(Debug)]
pub enum Said {
    Delta(Delta),
    Note(Note),
}

/// Where it goes, to a client that wants it as it comes.
#[derive(Debug, Clone)]
pub struct Voice(mpsc::Sender<Said>);

impl Voice {
    /// No more than `room` waits for a client that does not read; then the answer waits for it.
    pub fn new(room: usize) -> (Self, mpsc::Receiver<Said>) {
        let (sender, said) = mpsc::channel(room);
        (Self(sender), said)
    }

    /// Only if there is room.
    fn try_say(&self, said: Said) {
        let _ = self.0.try_send(said);
    }

    /// Whoever does not listen any more drops the whole answer; nothing is done about it here.
    async fn say(&self, said: Said) {
        let _ = self.0.send(said).await;
    }
}

impl Chat {
    /// With the model that is built in, and no other yet.
    pub fn offline(gate: Arc<Gate>, clock: Arc<dyn Clock>) -> Self {
        let models = Models::new(&Settings::default(), Arc::clone(&clock), None);
        let models = models.expect("what is built in needs no provider");
        let figures = Figures::default();
        Self { gate, clock, models: ArcSwap::from_pointee(models), figures }
    }

    /// From now on with these models. Fails, in words, if a provider cannot be used at all, and
    /// changes nothing then. Answers that are being made go on with what they have.
    pub fn reconfigure(&self, settings: &Settings) -> Result<(), String> {
        let models = Models::new(settings, Arc::clone(&self.clock), Some(&self.models.load()))?;
        self.models.store(Arc::new(models));
        Ok(())
    }

    /// What was spent since the start.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    pub fn models(&self) -> Arc<Models> {
        self.models.load_full()
    }

    /// Decides what is offered, to which model. Nothing is sent yet.
    pub fn prepare(self: &Arc<Self>, order: Order) -> Result<Prepared, Failure> {
        prepare::prepare(Arc::clone(self), order)
    }
}
