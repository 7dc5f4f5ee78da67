//! Running calls of a session: each is started when permitted, and answered exactly once.

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
use tollgate_mcp::tasks;

use super::super::call_table::{RealtimeCallStart, RealtimeCallStop};
use super::super::calls::{self, RealtimeCallRunner};
use super::super::events::{AnswerStage, CallAnswer, DialectEvent, RealtimeCall};
use super::super::outcome_json;
use super::{BackgroundResult, LateCallResult, RealtimeSession, RunningCall, SlowCallNotice};
use crate::tools::arguments;

impl RealtimeSession {
    pub(super) fn run(&mut self, call: RealtimeCall, now: Instant) {
        let turn = self.turn();
        let form = self.session_request.live.form();
        let tool = turn.as_ref().and_then(|turn| calls::resolve_tool(turn, &call, form));
        let terms = tool.as_ref().map(|tool| &tool.terms);
        let delivery = terms.map_or(ResultDelivery::Wait, |terms| terms.delivery);
        // A tool that does not exist can be refused at once.
        let effect = terms.map_or(ToolEffect::ReadOnly, |terms| terms.effect);
        let id = call.id.clone();
        let start = self.ledger.propose(&id, work(tool.as_ref(), &call), effect, now);
        if start == RealtimeCallStart::Twice {
            return;
        }
        self.call_progress.figures.calls += 1;
        let number = self.call_progress.number;
        let running = RunningCall { call, tool, delivery, abort: None, turn: number };
        self.running_calls.insert(id.clone(), running);
        match start {
            // With the same turn: a tool that appears meanwhile might be a write.
            RealtimeCallStart::Run => self.start(&id, turn, now),
            RealtimeCallStart::Known(outcome) => {
                let tool = self.running_calls.get(&id).and_then(|running| running.tool.clone());
                if let (Some(turn), Some(tool)) = (turn, tool) {
                    let turn = Turn { taint: self.call_progress.taint(), ..turn };
                    self.session_registry.gate.note_answered(&turn, tool.exposed.as_str());
                }
                self.answer(&id, AnswerStage::Done, outcome, now);
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
        self.call_progress.figures.cancelled += 1;
        if stop == RealtimeCallStop::Abort
            && let Some(RunningCall { abort: Some(abort), .. }) = self.running_calls.get(id)
        {
            abort.abort();
            self.settle(id, now);
        }
        if stop != RealtimeCallStop::Unstoppable {
            self.answer(
                id,
                AnswerStage::Cancelled,
                outcome_json::CANCELLED_OUTCOME.to_owned(),
                now,
            );
        }
    }

    fn start(&mut self, id: &str, turn: Option<Turn>, now: Instant) {
        let Some(turn) = turn else {
            let outcome = r#"{"status":"denied","message":"the agent no longer exists"}"#;
            self.ledger.finish(id, None, now);
            return self.answer(id, AnswerStage::Done, outcome.to_owned(), now);
        };
        let slow = self.slow_calls();
        let Some(running) = self.running_calls.get_mut(id) else { return };
        let ceiling = turn.deadline.map(|wall| wall.remaining(now));
        let deadline = match running.delivery {
            ResultDelivery::Wait => self.call_progress.time_budget.open(ceiling, now),
            // The result is not awaited: only the call's own limits apply.
            ResultDelivery::WhenIdle | ResultDelivery::Interrupt | ResultDelivery::Silent => None,
        };
        let runner = RealtimeCallRunner {
            gate: Arc::clone(&self.session_registry.gate),
            turn: self.call_progress.join_turn(Turn { deadline, ..turn }),
            form: self.session_request.live.form(),
            caps: self.session_request.live.caps(),
            provider: self.session_request.model.settings.provider.clone(),
        };
        let call = running.call.clone();
        let (run, abort) = abortable(async move {
            let render = |message: Arc<str>| {
                // If the queue is full, the announcement is dropped.
                let call = Some(call.id.clone());
                let _ = slow.try_send(SlowCallNotice { call, message });
            };
            let outcome = runner.run(&call, render).await;
            BackgroundResult::Ran { id: call.id.clone(), outcome }
        });
        (running.abort, running.turn) = (Some(abort), self.call_progress.number);
        let run = tasks::run_on(&self.calls, run);
        self.running.push(run.map(|ran| ran.unwrap_or(BackgroundResult::Nothing)).boxed());
    }

    pub(super) fn finish_call(&mut self, id: &str, outcome: &Outcome, now: Instant) {
        self.settle(id, now);
        let Some(running) = self.running_calls.get(id) else { return };
        let speech = calls::speech(running.tool.as_ref());
        let text =
            outcome_json::encode_outcome(outcome, &speech, &self.session_request.live.caps());
        let answered = match outcome.status {
            CallStatus::Pending => AnswerStage::Pending,
            _ => AnswerStage::Done,
        };
        if matches!(outcome.status, CallStatus::Pending | CallStatus::Timeout) {
            self.call_progress.figures.missed += 1;
        }
        let tool = running.tool.clone();
        let delivery = running.delivery;
        let stored = (answered == AnswerStage::Done).then_some(text.as_str());
        let ids = self.ledger.finish(id, stored, now);
        if let (AnswerStage::Pending, Some(handle)) = (answered, outcome.handle) {
            let gate = Arc::clone(&self.session_registry.gate);
            let principal = &self.session_request.party.principal;
            let completed = calls::await_late_result(gate, principal.clone(), handle);
            let ids = ids.clone();
            let late = completed.map(move |outcome| match outcome {
                Some(outcome) => {
                    BackgroundResult::Late(LateCallResult { ids, tool, delivery, outcome })
                }
                None => BackgroundResult::Nothing,
            });
            self.running.push(late.boxed());
        }
        for id in ids {
            self.answer(&id, answered, text.clone(), now);
        }
    }

    pub(super) fn deliver_late_result(&mut self, late: LateCallResult, now: Instant) {
        let LateCallResult { ids, tool, delivery, outcome } = late;
        self.call_progress.read(&outcome, now);
        let speech = calls::speech(tool.as_ref());
        let outcome =
            outcome_json::encode_outcome(&outcome, &speech, &self.session_request.live.caps());
        for id in ids {
            let outcome = outcome.clone();
            let answer = CallAnswer { id, answered: AnswerStage::Late, outcome, delivery };
            self.send_event(DialectEvent::Answer(answer), now);
        }
    }

    /// Stops the turn's time budget for this call.
    fn settle(&mut self, id: &str, now: Instant) {
        if let Some(RunningCall { delivery: ResultDelivery::Wait, abort: Some(_), turn, .. }) =
            self.running_calls.get(id)
            && *turn == self.call_progress.number
        {
            self.call_progress.time_budget.close(now);
        }
    }

    fn answer(&mut self, id: &str, answered: AnswerStage, outcome: String, now: Instant) {
        let Some(RunningCall { delivery, .. }) = self.running_calls.remove(id) else { return };
        self.silence.note_answer();
        let answer = CallAnswer { id: id.to_owned(), answered, outcome, delivery };
        self.send_event(DialectEvent::Answer(answer), now);
    }

    /// The current turn with its view. `None`: the agent was removed.
    fn turn(&self) -> Option<Turn> {
        let turn_request = self
            .session_request
            .party
            .turn_request(self.call_progress.wish(&self.session_request.party));
        let turn_request = TurnRequest { trace: self.spans.trace().cloned(), ..turn_request };
        self.session_registry.gate.turn(turn_request).ok()
    }
}

/// Normalized form of a tool and its arguments.
fn work(tool: Option<&Arc<Tool>>, call: &RealtimeCall) -> String {
    let name = tool.map_or(call.name.as_str(), |tool| tool.exposed.as_str());
    let arguments = match arguments::parse(&call.arguments) {
        Ok(arguments) => json::canonical(&Value::Object(arguments)),
        Err(_) => call.arguments.clone(),
    };
    format!("{name} {arguments}")
}
