//! One outcome for several consumers: the call ran once, and its caller took all that came.

use tollgate_core::call::Outcome;
use tollgate_core::shaping::{self, MessageWording, ResultCaps, ResultConsumer, ShapedResult};
use tollgate_core::turn::Turn;

use super::Gate;
use super::late_results::WHOLE;
use crate::results::{ResultLookup, StoredResult};

/// Takes everything, so that [`Gate::reshape`] can give each consumer its part. What comes too late
/// is read in the pages of `first`.
pub fn whole(first: ResultCaps) -> ResultCaps {
    ResultCaps { page_bytes: first.page_bytes, ..WHOLE }
}

/// The speakable form and the data of an outcome, by the tool's own rules of speech.
pub fn render_speech(
    turn: &Turn,
    name: &str,
    outcome: &Outcome,
    wording: MessageWording,
) -> SpokenOutcome {
    let data = shaping::data(outcome);
    let speech = turn.view.tool(name).map(|tool| tool.terms.speech.clone()).unwrap_or_default();
    SpokenOutcome { message: shaping::message(&speech, outcome, &data, wording), data }
}

#[derive(Debug)]
pub struct SpokenOutcome {
    pub message: String,
    pub data: serde_json::Value,
}

impl Gate {
    /// A result that its consumer has already, shortened: the whole stays behind the handle that it
    /// had, or behind a new one.
    pub fn shorten(&self, turn: &Turn, name: &str, had: &Outcome, caps: ResultCaps) -> Outcome {
        let stored = had.handle.map(|handle| self.results.read(&turn.principal, handle));
        let whole = match stored {
            Some(ResultLookup::Ready(stored)) => stored.outcome.clone(),
            // The answer of a call that is still running is to come.
            Some(ResultLookup::Pending { .. }) => return had.clone(),
            Some(ResultLookup::Unknown) | None => Outcome { handle: None, ..had.clone() },
        };
        let mut shortened = self.reshape(turn, name, &whole, &[caps]);
        shortened.pop().unwrap_or(whole)
    }

    /// What each consumer gets of an outcome that was taken whole, in their order. What is too much
    /// for some of them is kept once, behind one handle, in pages that the least of those can take.
    pub fn reshape(
        &self,
        turn: &Turn,
        name: &str,
        whole: &Outcome,
        consumers: &[ResultCaps],
    ) -> Vec<Outcome> {
        let Some(tool) = turn.view.tool(name) else {
            return consumers.iter().map(|_| whole.clone()).collect();
        };
        let spare = self.results.spare(whole.result.get().len());
        let mut stored: Option<StoredResult> = None;
        let shaped = |caps: &ResultCaps| {
            let consumer = ResultConsumer { caps, spare };
            let ShapedResult { outcome, rest } = shaping::reshape(tool, whole.clone(), consumer);
            if let Some(outcome) = rest {
                let least = stored.as_ref().map_or(caps.page_bytes, |stored| stored.page_bytes);
                let tool = name.to_owned();
                let page_bytes = least.min(caps.page_bytes);
                stored = Some(StoredResult { tool, outcome, page_bytes, raw: None });
            }
            outcome
        };
        let outcomes = consumers.iter().map(shaped).collect();
        if let Some(stored) = stored {
            self.results.keep(&turn.actor(), stored);
        }
        outcomes
    }
}
