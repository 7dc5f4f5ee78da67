//! The calls of a session: run when they may, answered exactly once.

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::abortable;
use serde_json::Value;
use tollgate_core::call::{CallStatus, Outcome};
use tollgate_core::json;
use tollgate_core::tool::{ResultDelivery, Tool, ToolEffect};
use tollgate_core::turn::Turn;
use tollgate_engine::gate::TurnRequest;

use super::super::call_table::{RealtimeCallStart, RealtimeCallStop};
use super::super::calls::{self, RealtimeCallRunner};
use super::super::events::{AnswerStage, CallAnswer, DialectEvent, RealtimeCall};
use super::super::outcome_json;
use super::{BackgroundResult, LateCallResult, RealtimeSession, RunningCall, SlowCallNotice};
use crate::tools::arguments;

impl RealtimeSession {
    pub(super) fn run(&mut self, call: RealtimeCall, now: Instant) {
        let turn = self.turn();
        let form = self.visit.live.form();
        let tool = turn.as_ref().and_then(|turn| calls::resolve_tool(turn, &call, form));
        let terms = tool.as_ref().map(|tool| &tool.terms);
        let delivery = terms.map_or(ResultDelivery::Wait, |terms| terms.delivery);
        // What nobody has can be refused at once.
        let effect = terms.map_or(ToolEffect::ReadOnly, |terms| terms.effect);
        let id = call.id.clone();
        let start = self.ledger.propose(&id, (work(tool.as_ref(), &call), effect), now);
        if start == RealtimeCallStart::Twice {
            return;
        }
        self.course.figures.calls += 1;
        let number = self.course.number;
        let running = RunningCall { call, tool, delivery, abort: None, turn: number };
        self.errands.insert(id.clone(), running);
        match start {
            // In the same turn: what comes into view meanwhile may be more than a read.
            RealtimeCallStart::Run => self.start(&id, turn, now),
            RealtimeCallStart::Known(outcome) => {
                let tool = self.errands.get(&id).and_then(|running| running.tool.clone());
                if let (Some(turn), Some(tool)) = (turn, tool) {
                    let turn = Turn { taint: self.course.taint(now), ..turn };
                    self.hall.gate.note_answered(&turn, tool.exposed.as_str());
                }
                self.answer(&id, (AnswerStage::Done, outcome), now);
            }
            RealtimeCallStart::Wait | RealtimeCallStart::Twice => {}
        }
    }

    pub(super) fn confirm(&mut self, ids: &[String], now: Instant) {
        for id in ids {
            if self.ledger.confirm(id) == RealtimeCallStart::Run {
                self.start(id, self.turn(), now);
            }
        }
    }

    pub(super) fn cancel(&mut self, id: &str, now: Instant) {
        let stop = self.ledger.cancel(id);
        if stop == RealtimeCallStop::Nothing {
            return;
        }
        self.course.figures.cancelled += 1;
        if stop == RealtimeCallStop::Abort
            && let Some(RunningCall { abort: Some(abort), .. }) = self.errands.get(id)
        {
            abort.abort();
            self.settle(id, now);
        }
        if stop != RealtimeCallStop::Unstoppable {
            self.answer(
                id,
                (AnswerStage::Cancelled, outcome_json::CANCELLED_OUTCOME.to_owned()),
                now,
            );
        }
    }

    fn start(&mut self, id: &str, turn: Option<Turn>, now: Instant) {
        let Some(turn) = turn else {
            let outcome = r#"{"status":"denied","message":"the agent no longer exists"}"#;
            self.ledger.finish(id, None, now);
            return self.answer(id, (AnswerStage::Done, outcome.to_owned()), now);
        };
        let Some(running) = self.errands.get_mut(id) else { return };
        let ceiling = turn.deadline.map(|wall| wall.remaining(now));
        let deadline = match running.delivery {
            ResultDelivery::Wait => self.course.purse.open(ceiling, now),
            // Nobody waits for it: only its own limits hold.
            ResultDelivery::WhenIdle | ResultDelivery::Interrupt | ResultDelivery::Silent => None,
        };
        let errand = RealtimeCallRunner {
            gate: Arc::clone(&self.hall.gate),
            turn: self.course.join_turn(Turn { deadline, ..turn }),
            form: self.visit.live.form(),
            caps: self.visit.live.caps(),
            provider: self.visit.model.settings.provider.clone(),
        };
        let (call, slow) = (running.call.clone(), self.slow.0.clone());
        let (run, abort) = abortable(async move {
            let told = |message: Arc<str>| {
                // Nobody is there to hear it if there are so many.
                let _ = slow.try_send(SlowCallNotice { id: call.id.clone(), message });
            };
            let outcome = errand.run(&call, told).await;
            BackgroundResult::Ran { id: call.id.clone(), outcome }
        });
        (running.abort, running.turn) = (Some(abort), self.course.number);
        self.running.push(run.map(|ran| ran.unwrap_or(BackgroundResult::Nothing)).boxed());
    }

    pub(super) fn finish_call(&mut self, id: &str, outcome: &Outcome, now: Instant) {
        self.settle(id, now);
        let Some(running) = self.errands.get(id) else { return };
        let speech = calls::speech(running.tool.as_ref());
        let text = outcome_json::encode_outcome(outcome, &speech, &self.visit.live.caps());
        let answered = match outcome.status {
            CallStatus::Pending => AnswerStage::Pending,
            _ => AnswerStage::Done,
        };
        if matches!(outcome.status, CallStatus::Pending | CallStatus::Timeout) {
            self.course.figures.missed += 1;
        }
        let (tool, delivery) = (running.tool.clone(), running.delivery);
        let kept = (answered == AnswerStage::Done).then_some(text.as_str());
        let ids = self.ledger.finish(id, kept, now);
        if let (AnswerStage::Pending, Some(handle)) = (answered, outcome.handle) {
            let (gate, principal) = (Arc::clone(&self.hall.gate), &self.visit.party.principal);
            let (landed, ids) =
                (calls::await_late_result(gate, principal.clone(), handle), ids.clone());
            let late = landed.map(move |outcome| match outcome {
                Some(outcome) => {
                    BackgroundResult::Late(LateCallResult { ids, tool, delivery, outcome })
                }
                None => BackgroundResult::Nothing,
            });
            self.running.push(late.boxed());
        }
        for id in ids {
            self.answer(&id, (answered, text.clone()), now);
        }
    }

    pub(super) fn deliver_late_result(&mut self, late: LateCallResult, now: Instant) {
        let LateCallResult { ids, tool, delivery, outcome } = late;
        self.course.figures.late += 1;
        self.course.read(&outcome, now);
        let speech = calls::speech(tool.as_ref());
        let outcome = outcome_json::encode_outcome(&outcome, &speech, &self.visit.live.caps());
        for id in ids {
            let outcome = outcome.clone();
            let answer = CallAnswer { id, answered: AnswerStage::Late, outcome, delivery };
            self.send_event(DialectEvent::Answer(answer), now);
        }
    }

    /// The turn's time runs no more for this call.
    fn settle(&mut self, id: &str, now: Instant) {
        if let Some(RunningCall { delivery: ResultDelivery::Wait, abort: Some(_), turn, .. }) =
            self.errands.get(id)
            && *turn == self.course.number
        {
            self.course.purse.close(now);
        }
    }

    fn answer(&mut self, id: &str, (answered, outcome): (AnswerStage, String), now: Instant) {
        let Some(RunningCall { delivery, .. }) = self.errands.remove(id) else { return };
        let answer = CallAnswer { id: id.to_owned(), answered, outcome, delivery };
        self.send_event(DialectEvent::Answer(answer), now);
    }

    /// What can be called just now. `None`: the agent is gone.
    fn turn(&self) -> Option<Turn> {
        let asked = self.visit.party.turn_request(self.course.wish(&self.visit.party));
        let asked = TurnRequest { trace: self.told.trace().cloned(), ..asked };
        self.hall.gate.turn(asked).ok()
    }
}

/// One spelling for the same tool with the same arguments.
fn work(tool: Option<&Arc<Tool>>, call: &RealtimeCall) -> String {
    let name = tool.map_or(call.name.as_str(), |tool| tool.exposed.as_str());
    let arguments = match arguments::parse(&call.arguments) {
        Ok(arguments) => json::canonical(&Value::Object(arguments)),
        Err(_) => call.arguments.clone(),
    };
    format!("{name} {arguments}")
}
