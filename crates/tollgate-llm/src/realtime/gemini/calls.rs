//! Calls of a Gemini session, with barge-in, cancellation and late results.
//!
//! Tracks the gateway's calls from their start until their last answer, and the client's as far as
//! a reconnection needs them. Called by the state machine; decides how each call is answered, sends
//! nothing.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tollgate_core::tool::ResultDelivery;

use super::family::ToolWaitBehavior;
use super::wire::{self, AnswerSchedule, AnswerTarget, MoreAnswers};
use crate::realtime::events::{AnswerStage, CallAnswer, DialectAction};
use crate::realtime::handover::{ClientToolCall, SessionHandover, UnansweredCall};

/// How long a call must stand uncancelled before its writes run, and how long a provider may still
/// cancel calls after an interruption: it sends interruption and cancellation in no particular
/// order.
pub(super) const CANCELLATION_WINDOW: Duration = Duration::from_millis(200);

/// Ids of finished calls that are remembered, so that none is answered or run again.
const MAX_REMEMBERED_CALLS: usize = 512;

/// After this time without an answer from the client, it is no longer awaited.
const CLIENT_ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct GeminiCalls {
    open: Vec<GeminiOpenCall>,
    over: VecDeque<String>,
    clients: Vec<GeminiClientCall>,
    unnamed: u64,
}

/// A call of one of the gateway's tools.
#[derive(Debug)]
struct GeminiOpenCall {
    id: String,
    /// Whether the provider assigned its id.
    named: HasProviderId,
    name: String,
    delivery: Option<ResultDelivery>,
    meanwhile: ToolWaitBehavior,
    /// When its writes may run; `None` once they may.
    unsure: Option<Instant>,
    stage: GeminiCallStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HasProviderId {
    Yes,
    No,
}

#[derive(Debug)]
enum GeminiCallStage {
    /// The provider has no answer yet.
    Running,
    /// The caller interrupted the turn; an answer is held back in case the provider cancels the
    /// call.
    Interrupted { until: Instant, answer: Option<CallAnswer> },
    /// The provider knows that it is pending, and accepts the result as an additional response.
    Continues,
    /// The provider has its answer; the result can only be sent as text.
    Acknowledged,
    /// Made on a connection that is gone: a result can only be sent as text.
    Lost,
}

/// An unanswered call of one of the client's tools.
#[derive(Debug)]
struct GeminiClientCall {
    id: String,
    name: String,
    made: Instant,
    connection: CallConnection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallConnection {
    This,
    Gone,
}

/// Reply to the provider for a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum GeminiCallReply {
    /// The response message.
    Response { message: String, answered: AnswerStage },
    /// Text, because no response message was possible.
    Words(GeminiNote),
}

/// A result that is sent as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GeminiNote {
    pub(super) delivery: ResultDelivery,
    pub(super) text: String,
    pub(super) answered: AnswerStage,
}

/// A call as the state machine has read it.
#[derive(Debug)]
pub(super) struct GeminiCallRequest<'a> {
    pub id: Option<&'a str>,
    pub name: &'a str,
    /// From the declaration of its tool.
    pub delivery: Option<ResultDelivery>,
    pub meanwhile: ToolWaitBehavior,
}

impl GeminiCalls {
    /// Starts a call of the gateway; returns the id to run it under. `None`: a duplicate.
    pub(super) fn begin_call(
        &mut self,
        made: &GeminiCallRequest<'_>,
        now: Instant,
    ) -> Option<String> {
        let (id, named) = match made.id.filter(|id| !id.is_empty()) {
            Some(id) if self.is_ours(id) => return None,
            Some(id) => (id.to_owned(), HasProviderId::Yes),
            None => {
                self.unnamed += 1;
                (format!("tollgate-{}", self.unnamed), HasProviderId::No)
            }
        };
        self.open.push(GeminiOpenCall {
            id: id.clone(),
            named,
            name: made.name.to_owned(),
            delivery: made.delivery,
            meanwhile: made.meanwhile,
            unsure: Some(now + CANCELLATION_WINDOW),
            stage: GeminiCallStage::Running,
        });
        Some(id)
    }

    pub(super) fn is_ours(&self, id: &str) -> bool {
        self.open.iter().any(|call| call.id == id) || self.over.iter().any(|over| over == id)
    }

    /// The provider cancels calls: these are never answered. Returns the ids that are not the
    /// gateway's.
    pub(super) fn withdraw<'i>(&mut self, ids: &[&'i str]) -> (Vec<DialectAction>, Vec<&'i str>) {
        let (ours, others): (Vec<&str>, Vec<&str>) = ids.iter().partition(|id| self.is_ours(id));
        self.clients.retain(|call| !others.contains(&call.id.as_str()));
        let mut actions = Vec::new();
        for id in ours {
            let Some(call) = self.close(id) else { continue };
            // An interrupted call is already being stopped.
            if !matches!(call.stage, GeminiCallStage::Interrupted { .. }) {
                actions.push(DialectAction::Cancel(call.id));
            }
        }
        (actions, others)
    }

    /// The caller interrupted the turn. Calls that the model waits for are stopped, and so are
    /// unconfirmed ones; a call beside which the model keeps talking is not part of the interrupted
    /// turn.
    pub(super) fn barge_in(&mut self, now: Instant) -> Vec<DialectAction> {
        let running = self.open.iter_mut().filter(|call| {
            let in_turn = call.meanwhile == ToolWaitBehavior::Waits || call.unsure.is_some();
            matches!(call.stage, GeminiCallStage::Running) && in_turn
        });
        let stopped = running.map(|call| {
            call.unsure = None;
            call.stage =
                GeminiCallStage::Interrupted { until: now + CANCELLATION_WINDOW, answer: None };
            DialectAction::Cancel(call.id.clone())
        });
        stopped.collect()
    }

    /// The reply to send for a call now. Events of finished calls have none.
    pub(super) fn answer(&mut self, answer: CallAnswer) -> Option<GeminiCallReply> {
        let call = self.open.iter_mut().find(|call| call.id == answer.id)?;
        match &mut call.stage {
            GeminiCallStage::Interrupted { answer: kept, .. } => {
                *kept = Some(answer);
                None
            }
            GeminiCallStage::Running if answer.answered == AnswerStage::Pending => {
                Some(call.pending(&answer))
            }
            GeminiCallStage::Running => self.close(&answer.id).map(|call| call.result(&answer)),
            GeminiCallStage::Continues => self.close(&answer.id).map(|call| call.result(&answer)),
            GeminiCallStage::Acknowledged => self.close(&answer.id).map(|call| call.words(&answer)),
            GeminiCallStage::Lost => match answer.answered {
                AnswerStage::Pending => {
                    call.stage = GeminiCallStage::Acknowledged;
                    None
                }
                AnswerStage::Cancelled => {
                    self.close(&answer.id);
                    None
                }
                AnswerStage::Done | AnswerStage::Late => {
                    self.close(&answer.id).map(|call| call.words(&answer))
                }
            },
        }
    }

    /// An intermediate response, if the provider accepts several.
    pub(super) fn progress(&self, id: &str, outcome: &str) -> Option<String> {
        let call = self.open.iter().find(|call| call.id == id)?;
        let can = matches!(call.stage, GeminiCallStage::Running | GeminiCallStage::Continues)
            && call.meanwhile == ToolWaitBehavior::TalksOn
            && call.delivery != Some(ResultDelivery::Silent);
        let scheduled =
            AnswerSchedule { delivery: ResultDelivery::WhenIdle, more: MoreAnswers::Follow };
        can.then(|| wire::response(&call.addressee(), outcome, Some(scheduled)))
    }

    /// Handles expired timers: calls that are now confirmed, and answers that were held back.
    pub(super) fn due(&mut self, now: Instant) -> (Vec<String>, Vec<GeminiCallReply>) {
        let mut confirmed = Vec::new();
        let mut waited = Vec::new();
        for call in &mut self.open {
            if call.unsure.take_if(|until| *until <= now).is_some() {
                confirmed.push(call.id.clone());
            }
            if let GeminiCallStage::Interrupted { until, answer } = &mut call.stage
                && *until <= now
            {
                waited.extend(answer.take());
                call.stage = GeminiCallStage::Running;
            }
        }
        let replies = waited.into_iter().filter_map(|answer| self.answer(answer)).collect();
        (confirmed, replies)
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        let times = self.open.iter().flat_map(|call| {
            let interrupted = match call.stage {
                GeminiCallStage::Interrupted { until, .. } => Some(until),
                _ => None,
            };
            [call.unsure, interrupted]
        });
        times.flatten().min()
    }

    /// Whether the model is blocked on a call of the gateway.
    pub(super) fn hold_the_model(&self) -> bool {
        self.open.iter().any(|call| {
            call.meanwhile == ToolWaitBehavior::Waits
                && matches!(
                    call.stage,
                    GeminiCallStage::Running | GeminiCallStage::Interrupted { .. }
                )
        })
    }

    /// Whether an answer is due on this connection.
    pub(super) fn are_open(&self, now: Instant) -> bool {
        let ours = |call: &GeminiOpenCall| {
            matches!(call.stage, GeminiCallStage::Running | GeminiCallStage::Interrupted { .. })
        };
        let theirs = |call: &GeminiClientCall| {
            call.connection == CallConnection::This && now < call.made + CLIENT_ANSWER_TIMEOUT
        };
        self.open.iter().any(ours) || self.clients.iter().any(theirs)
    }

    /// The connection is gone, and with it every call that was made on it.
    pub(super) fn lose(&mut self) {
        let stopped: Vec<String> = self
            .open
            .iter()
            .filter(|call| matches!(call.stage, GeminiCallStage::Interrupted { .. }))
            .map(|call| call.id.clone())
            .collect();
        for id in stopped {
            self.close(&id);
        }
        for call in &mut self.open {
            match call.stage {
                GeminiCallStage::Running => call.stage = GeminiCallStage::Lost,
                GeminiCallStage::Continues => call.stage = GeminiCallStage::Acknowledged,
                GeminiCallStage::Interrupted { .. }
                | GeminiCallStage::Acknowledged
                | GeminiCallStage::Lost => (),
            }
        }
        for call in &mut self.clients {
            call.connection = CallConnection::Gone;
        }
    }

    /// The calls without a final answer, for a connection of another protocol, and those among them
    /// that nobody can cancel any more.
    pub(super) fn hand_over(&mut self) -> (Vec<UnansweredCall>, Vec<String>) {
        self.lose();
        let unsure = self.open.iter_mut().filter_map(|call| {
            call.unsure.take()?;
            Some(call.id.clone())
        });
        let confirmed = unsure.collect();
        let calls = self.open.drain(..).map(|call| UnansweredCall {
            is_pending: matches!(call.stage, GeminiCallStage::Acknowledged),
            delivery: call.delivery.unwrap_or_default(),
            id: call.id,
            name: call.name,
            arguments: "{}".to_owned(),
        });
        (calls.collect(), confirmed)
    }

    /// Calls of the client's tools that it may still answer.
    pub(super) fn unanswered_client_calls(&self, now: Instant) -> Vec<ClientToolCall> {
        let awaited = self.clients.iter().filter(|it| now < it.made + CLIENT_ANSWER_TIMEOUT);
        let call = |call: &GeminiClientCall| ClientToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: "{}".to_owned(),
        };
        awaited.map(call).collect()
    }

    /// Calls that were made on a connection of another protocol.
    pub(super) fn take_over(&mut self, handover: &SessionHandover, now: Instant) {
        // Ids of ours must differ from those of earlier connections.
        self.unnamed = u64::from(rand::random::<u32>()) << 16;
        for call in &handover.calls {
            self.open.push(GeminiOpenCall {
                id: call.id.clone(),
                named: HasProviderId::No,
                name: call.name.clone(),
                delivery: Some(call.delivery),
                meanwhile: ToolWaitBehavior::TalksOn,
                unsure: None,
                stage: if call.is_pending {
                    GeminiCallStage::Acknowledged
                } else {
                    GeminiCallStage::Lost
                },
            });
        }
        for call in &handover.client_calls {
            self.note_client_call(&call.id, &call.name, now);
        }
        self.lose();
    }

    pub(super) fn note_client_call(&mut self, id: &str, name: &str, made: Instant) {
        if self.clients.len() == MAX_REMEMBERED_CALLS {
            self.clients.remove(0);
        }
        let id = id.to_owned();
        let name = name.to_owned();
        self.clients.push(GeminiClientCall { id, name, made, connection: CallConnection::This });
    }

    /// The client answers one of its calls. Returns the name if the call was lost with its
    /// connection.
    pub(super) fn take_client_answer(&mut self, id: &str) -> Option<String> {
        let at = self.clients.iter().position(|call| call.id == id)?;
        let call = self.clients.remove(at);
        (call.connection == CallConnection::Gone).then_some(call.name)
    }

    fn close(&mut self, id: &str) -> Option<GeminiOpenCall> {
        let at = self.open.iter().position(|call| call.id == id)?;
        let call = self.open.remove(at);
        if self.over.len() == MAX_REMEMBERED_CALLS {
            self.over.pop_front();
        }
        self.over.push_back(call.id.clone());
        Some(call)
    }
}

impl GeminiOpenCall {
    fn addressee(&self) -> AnswerTarget<'_> {
        let id = (self.named == HasProviderId::Yes).then_some(self.id.as_str());
        AnswerTarget { id, name: &self.name }
    }

    fn schedule(&self, answer: &CallAnswer, more: MoreAnswers) -> Option<AnswerSchedule> {
        match self.meanwhile {
            ToolWaitBehavior::Waits => None,
            ToolWaitBehavior::TalksOn => Some(AnswerSchedule { delivery: answer.delivery, more }),
        }
    }

    fn result(&self, answer: &CallAnswer) -> GeminiCallReply {
        let scheduled = self.schedule(answer, MoreAnswers::End);
        self.response(answer, scheduled)
    }

    fn pending(&mut self, answer: &CallAnswer) -> GeminiCallReply {
        let scheduled = self.schedule(answer, MoreAnswers::Follow);
        self.stage = if scheduled.is_some() {
            GeminiCallStage::Continues
        } else {
            GeminiCallStage::Acknowledged
        };
        self.response(answer, scheduled)
    }

    fn words(&self, answer: &CallAnswer) -> GeminiCallReply {
        let CallAnswer { delivery, answered, .. } = *answer;
        let text = wire::words(&self.name, &answer.outcome);
        GeminiCallReply::Words(GeminiNote { delivery, text, answered })
    }

    fn response(&self, answer: &CallAnswer, scheduled: Option<AnswerSchedule>) -> GeminiCallReply {
        let message = wire::response(&self.addressee(), &answer.outcome, scheduled);
        GeminiCallReply::Response { message, answered: answer.answered }
    }
}
