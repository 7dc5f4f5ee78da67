//! What of ours is sent, and when: answers at once, a request for a response only when nobody speaks
//! and nothing else is under way, one for all answers that wait.

use std::time::Instant;

use serde_json::{Value, json};
use tollgate_core::json::Object;

use super::calls::{Due, Made, Means};
use super::config::Seat;
use super::floor::{Asked, Ending, Kind, Want, Whose};
use super::owed::{Deep, Held, Urgency};
use super::wire::{self, Purpose};
use super::{OpenAi, Question};
use crate::realtime::events::{Action, Answer};
use tollgate_core::tool::Delivery;

/// The call by which another model's answer comes to the one that speaks.
const ANSWER: &str = "answer";

impl OpenAi {
    /// When the provider has spoken first.
    pub(super) fn declare_first(&mut self, kind: &str, now: Instant) -> Option<Action> {
        if self.config.is_declared() {
            return None;
        }
        let text = match (self.config.seat(), kind) {
            (Seat::Holder, _) | (Seat::Sideband, "session.created" | "session.updated") => {
                self.config.declare(&mut self.post, now)?
            }
            (Seat::Sideband, _) => self.config.inquire(&mut self.post),
        };
        Some(Action::ToProvider(text))
    }

    pub(super) fn declare_due(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.config.due().is_some_and(|due| due <= now) {
            let text = self.config.declare(&mut self.post, now);
            out.extend(text.map(Action::ToProvider));
        }
    }

    pub(super) fn answer(&mut self, answer: Answer, now: Instant, out: &mut Vec<Action>) {
        if let Some(due) = self.calls.answer(answer) {
            self.post_due(due, now, out);
        }
        self.settle(now, out);
    }

    pub(super) fn post_due(&mut self, due: Due, now: Instant, out: &mut Vec<Action>) {
        let call_id = match due.means {
            Means::Output => due.call_id,
            Means::Pair { name, arguments } => self.post_call(&name, &arguments, out),
        };
        out.push(Action::ToProvider(self.post.output(&call_id, &due.outcome)));
        self.owed.posted(&call_id, due.then, now);
    }

    /// A call that only we made; its id.
    fn post_call(&mut self, name: &str, arguments: &str, out: &mut Vec<Action>) -> String {
        let call_id = self.post.call_id();
        let made = Made { response: "", name, arguments: "", delivery: Delivery::Silent };
        self.calls.settled(&call_id, &made);
        out.push(Action::ToProvider(self.post.call(&call_id, name, arguments)));
        call_id
    }

    /// The caller took the turn.
    pub(super) fn interrupted(&mut self, out: &mut Vec<Action>) {
        out.extend(self.floor.turn_interrupted().map(Action::Turn));
        out.extend(self.calls.abandon().into_iter().map(Action::Cancel));
        self.owed.drop_all();
    }

    /// Asks for whatever can be asked for now.
    pub(super) fn settle(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.break_off(out);
        if !self.floor.is_free() || self.calls.any_waiting() || self.owed.deep == Deep::Awaited {
            return;
        }
        if self.owed.is_nothing() {
            out.extend(self.floor.turn_ended().map(Action::Turn));
            self.config.give_back();
            return;
        }
        if self.owed.must_wait(now) {
            return;
        }
        if let Some(held) = self.owed.held.take() {
            self.ask_for_client(held, now, out);
        } else if self.owed.want != Want::Nothing {
            let want = self.owed.take();
            let wanted = match want {
                Want::Words => wire::speaking(self.config.manner().as_deref()),
                Want::Reply | Want::Nothing => json!({}),
            };
            let (text, event_id) = self.post.create(wanted);
            out.push(Action::ToProvider(text));
            let (whose, kind) = (Whose::Ours, Kind::Conversation);
            self.floor.ask(Asked { event_id, whose, kind, want }, now);
        }
    }

    /// What waited for our answers serves them too.
    fn ask_for_client(&mut self, held: Held, now: Instant, out: &mut Vec<Action>) {
        let want = self.owed.take();
        let mut response = held.response;
        if want == Want::Words
            && let Value::Object(speaking) = wire::speaking(self.config.manner().as_deref())
        {
            response.extend(speaking);
        }
        let event_id = held.event_id.unwrap_or_else(|| self.post.id(Purpose::ClientUnnamed));
        let mut message = json!({ "type": "response.create", "event_id": event_id });
        if !response.is_empty() {
            message["response"] = response.into();
        }
        out.push(Action::ToProvider(message.to_string()));
        let (whose, kind) = (Whose::Others, Kind::Conversation);
        self.floor.ask(Asked { event_id, whose, kind, want }, now);
    }

    /// For an answer that must not wait, while the caller is silent.
    fn break_off(&mut self, out: &mut Vec<Action>) {
        if self.owed.urgency != Urgency::BreakOff || self.floor.caller_speaks() {
            return;
        }
        self.owed.urgency = Urgency::WhenIdle;
        self.stop_active(out);
    }

    pub(super) fn stop_active(&mut self, out: &mut Vec<Action>) {
        if let Some(active) = self.floor.active_mut()
            && active.ending == Ending::Nobody
        {
            active.ending = Ending::Us;
            out.push(Action::ToProvider(self.post.cancel(&active.id)));
        }
    }

    /// Words for a slow call, only if nobody would talk over them.
    pub(super) fn announce(
        &mut self,
        (id, words): (&str, &str),
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if !self.calls.is_wanted(id) || !self.floor.is_quiet() || self.owed.want != Want::Nothing {
            return;
        }
        let (text, event_id) = self.post.announce(words);
        out.push(Action::ToProvider(text));
        let (whose, kind, want) = (Whose::Ours, Kind::Aside, Want::Nothing);
        self.floor.ask(Asked { event_id, whose, kind, want }, now);
    }

    /// This model does not answer this turn: what it has begun ends, what it begins is not shown. Not
    /// if it has: words that are understood late change nothing any more.
    pub(super) fn route(&mut self, out: &mut Vec<Action>) {
        if self.asked == Question::Answered {
            return;
        }
        out.push(Action::Delegate);
        self.owed.deep = Deep::Awaited;
        self.stop_active(out);
        out.extend(self.calls.abandon().into_iter().map(Action::Cancel));
    }

    pub(super) fn speak(
        &mut self,
        words: Result<String, String>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if self.owed.deep != Deep::Awaited {
            return;
        }
        match words {
            Ok(text) => {
                let call_id = self.post_call(ANSWER, "{}", out);
                let output = json!({ "status": "ok", "answer": text }).to_string();
                out.push(Action::ToProvider(self.post.output(&call_id, &output)));
                self.owed.deep = Deep::Given;
                self.owed.want = Want::Words;
            }
            Err(_) => {
                self.owed.deep = Deep::No;
                self.owed.wants_reply();
            }
        }
        self.settle(now, out);
    }

    /// The provider's word on something that was asked for, and whether the client hears it.
    pub(super) fn refused(
        &mut self,
        error: &Object<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Heed {
        let event_id = error.string("event_id").unwrap_or_default();
        let code = error.string("code").unwrap_or_default();
        let purpose = self.post.refused(&event_id);
        self.config.refused(&event_id, purpose);
        let asked = self.floor.take_asked(&event_id);
        let is_race = code == "conversation_already_has_active_response";
        // Another response may have ended meanwhile, and with it what was known of this request.
        let wanted = asked.map(|asked| asked.want).or(match (self.owed.deep, purpose) {
            (Deep::Given, _) => Some(Want::Words),
            (_, Some(Purpose::Create)) => Some(Want::Reply),
            _ => None,
        });
        if let Some(wanted) = wanted.filter(|_| is_race) {
            let knows = self.floor.active().is_some_and(|active| active.missed.is_empty());
            match wanted {
                Want::Words => self.owed.want = Want::Words,
                Want::Reply if !knows => self.owed.wants_reply(),
                Want::Reply | Want::Nothing => {}
            }
            if self.floor.active().is_none() {
                self.owed.give_way(now);
            }
        }
        let heed = match purpose {
            None => Heed::AsItIs,
            Some(Purpose::ClientUnnamed) => Heed::Unnamed,
            Some(Purpose::Create) if !is_race => {
                self.owed.deep = Deep::No;
                Heed::Unnamed
            }
            Some(Purpose::Update) => {
                let message = error.string("message").unwrap_or_default();
                tracing::warn!(%code, %message, "the provider refused the declaration of tools");
                Heed::Not
            }
            Some(Purpose::Create | Purpose::Announce | Purpose::Other) => Heed::Not,
        };
        self.settle(now, out);
        heed
    }
}

/// What the client hears of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heed {
    Not,
    AsItIs,
    /// Without the id, which is not the client's.
    Unnamed,
}
