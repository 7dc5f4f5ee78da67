//! The calls of a session: run when they may, answered exactly once.

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::abortable;
use serde_json::Value;
use tollgate_core::call::{Outcome, Status};
use tollgate_core::json;
use tollgate_core::tool::{Delivery, Effect, Tool};
use tollgate_core::turn::Turn;
use tollgate_engine::gate::Asked;

use super::super::answers;
use super::super::calls::{self, Errand};
use super::super::events::{Answer, Answered, Call, News};
use super::super::ledger::{Start, Stop};
use super::{Came, Landed, Running, Session, Slow};
use crate::tools::arguments;

impl Session {
    pub(super) fn run(&mut self, call: Call, now: Instant) {
        let turn = self.turn();
        let form = self.visit.live.form();
        let tool = turn.as_ref().and_then(|turn| calls::meant(turn, &call, form));
        let terms = tool.as_ref().map(|tool| &tool.terms);
        let delivery = terms.map_or(Delivery::Wait, |terms| terms.delivery);
        // What nobody has can be refused at once.
        let effect = terms.map_or(Effect::ReadOnly, |terms| terms.effect);
        let id = call.id.clone();
        let start = self.ledger.propose(&id, (work(tool.as_ref(), &call), effect), now);
        if start == Start::Twice {
            return;
        }
        self.course.figures.calls += 1;
        let number = self.course.number;
        let running = Running { call, tool, delivery, abort: None, turn: number };
        self.errands.insert(id.clone(), running);
        match start {
            // In the same turn: what comes into view meanwhile may be more than a read.
            Start::Run => self.start(&id, turn, now),
            Start::Known(outcome) => {
                let tool = self.errands.get(&id).and_then(|running| running.tool.clone());
                if let (Some(turn), Some(tool)) = (turn, tool) {
                    let turn = Turn { taint: self.course.taint(now), ..turn };
                    self.hall.gate.note_answered(&turn, tool.exposed.as_str());
                }
                self.answer(&id, (Answered::Done, outcome), now);
            }
            Start::Wait | Start::Twice => {}
        }
    }

    pub(super) fn confirm(&mut self, ids: &[String], now: Instant) {
        for id in ids {
            if self.ledger.confirm(id) == Start::Run {
                self.start(id, self.turn(), now);
            }
        }
    }

    pub(super) fn cancel(&mut self, id: &str, now: Instant) {
        let stop = self.ledger.cancel(id);
        if stop == Stop::Nothing {
            return;
        }
        self.course.figures.cancelled += 1;
        if stop == Stop::Abort
            && let Some(Running { abort: Some(abort), .. }) = self.errands.get(id)
        {
            abort.abort();
            self.settle(id, now);
        }
        if stop != Stop::Unstoppable {
            self.answer(id, (Answered::Cancelled, answers::CANCELLED.to_owned()), now);
        }
    }

    fn start(&mut self, id: &str, turn: Option<Turn>, now: Instant) {
        let Some(turn) = turn else {
            let outcome = r#"{"status":"denied","message":"the agent is not there any more"}"#;
            self.ledger.finished(id, None, now);
            return self.answer(id, (Answered::Done, outcome.to_owned()), now);
        };
        let Some(running) = self.errands.get_mut(id) else { return };
        let ceiling = turn.deadline.map(|wall| wall.left(now));
        let deadline = match running.delivery {
            Delivery::Wait => self.course.purse.open(ceiling, now),
            // Nobody waits for it: only its own limits hold.
            Delivery::WhenIdle | Delivery::Interrupt | Delivery::Silent => None,
        };
        let errand = Errand {
            gate: Arc::clone(&self.hall.gate),
            turn: self.course.joined(Turn { deadline, ..turn }),
            form: self.visit.live.form(),
            caps: self.visit.live.caps(),
            provider: self.visit.model.settings.provider.clone(),
        };
        let (call, slow) = (running.call.clone(), self.slow.0.clone());
        let (run, abort) = abortable(async move {
            let told = |message: Arc<str>| {
                // Nobody is there to hear it if there are so many.
                let _ = slow.try_send(Slow { id: call.id.clone(), message });
            };
            let outcome = errand.run(&call, told).await;
            Came::Ran { id: call.id.clone(), outcome }
        });
        (running.abort, running.turn) = (Some(abort), self.course.number);
        self.running.push(run.map(|ran| ran.unwrap_or(Came::Nothing)).boxed());
    }

    pub(super) fn ran(&mut self, id: &str, outcome: &Outcome, now: Instant) {
        self.settle(id, now);
        let Some(running) = self.errands.get(id) else { return };
        let speech = calls::speech(running.tool.as_ref());
        let text = answers::written(outcome, &speech, &self.visit.live.caps());
        let answered = match outcome.status {
            Status::Pending => Answered::Pending,
            _ => Answered::Done,
        };
        if matches!(outcome.status, Status::Pending | Status::Timeout) {
            self.course.figures.missed += 1;
        }
        let (tool, delivery) = (running.tool.clone(), running.delivery);
        let kept = (answered == Answered::Done).then_some(text.as_str());
        let ids = self.ledger.finished(id, kept, now);
        if let (Answered::Pending, Some(handle)) = (answered, outcome.handle) {
            let (gate, principal) = (Arc::clone(&self.hall.gate), &self.visit.party.principal);
            let (landed, ids) = (calls::landed(gate, principal.clone(), handle), ids.clone());
            let late = landed.map(move |outcome| match outcome {
                Some(outcome) => Came::Late(Landed { ids, tool, delivery, outcome }),
                None => Came::Nothing,
            });
            self.running.push(late.boxed());
        }
        for id in ids {
            self.answer(&id, (answered, text.clone()), now);
        }
    }

    pub(super) fn landed(&mut self, late: Landed, now: Instant) {
        let Landed { ids, tool, delivery, outcome } = late;
        self.course.figures.late += 1;
        self.course.read(&outcome, now);
        let speech = calls::speech(tool.as_ref());
        let outcome = answers::written(&outcome, &speech, &self.visit.live.caps());
        for id in ids {
            let outcome = outcome.clone();
            let answer = Answer { id, answered: Answered::Late, outcome, delivery };
            self.news(News::Answer(answer), now);
        }
    }

    /// The turn's time runs no more for this call.
    fn settle(&mut self, id: &str, now: Instant) {
        if let Some(Running { delivery: Delivery::Wait, abort: Some(_), turn, .. }) =
            self.errands.get(id)
            && *turn == self.course.number
        {
            self.course.purse.close(now);
        }
    }

    fn answer(&mut self, id: &str, (answered, outcome): (Answered, String), now: Instant) {
        let Some(Running { delivery, .. }) = self.errands.remove(id) else { return };
        let answer = Answer { id: id.to_owned(), answered, outcome, delivery };
        self.news(News::Answer(answer), now);
    }

    /// What can be called just now. `None`: the agent is gone.
    fn turn(&self) -> Option<Turn> {
        let asked = self.visit.party.asked(self.course.wish(&self.visit.party));
        let asked = Asked { trace: self.told.trace().cloned(), ..asked };
        self.hall.gate.turn(asked).ok()
    }
}

/// One spelling for the same tool with the same arguments.
fn work(tool: Option<&Arc<Tool>>, call: &Call) -> String {
    let name = tool.map_or(call.name.as_str(), |tool| tool.exposed.as_str());
    let arguments = match arguments::parse(&call.arguments) {
        Ok(arguments) => json::canonical(&Value::Object(arguments)),
        Err(_) => call.arguments.clone(),
    };
    format!("{name} {arguments}")
}
