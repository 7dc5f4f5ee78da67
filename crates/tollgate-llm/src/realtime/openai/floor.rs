//! Who has the floor: the response that writes the conversation, those beside it, what was asked for
//! and not begun, whether the caller speaks. A response may be asked for only when all of them rest.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::realtime::events::TurnEvent;

/// A request that is neither begun nor refused by then is lost.
const UNANSWERED: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Floor {
    /// The one that writes the conversation.
    active: Option<Response>,
    /// Those that write nothing, by id.
    asides: HashMap<String, Whose>,
    /// Asked for, and neither begun nor refused; oldest first.
    asked: VecDeque<(Instant, Asked)>,
    caller: Caller,
    playback: Playback,
    turn: Turn,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) id: String,
    pub(super) sight: Sight,
    pub(super) ending: Ending,
    /// Our answers that it cannot have seen.
    pub(super) missed: HashSet<String>,
    /// What it began and the client does not see.
    pub(super) items: Vec<String>,
    /// Calls of the client's own that it began, and that nobody answered yet.
    pub(super) calls: Vec<String>,
    /// Answers to them that the provider would not take before its end.
    pub(super) early: Vec<Early>,
}

impl Response {
    pub(super) fn begun(id: String, sight: Sight, missed: HashSet<String>) -> Self {
        let (ending, items) = (Ending::Nobody, Vec::new());
        Self { id, sight, ending, missed, items, calls: Vec::new(), early: Vec::new() }
    }
}

/// What the client wrote as the answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Early {
    pub(super) call_id: String,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Ours,
    Others,
}

/// Whether the client sees a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    Shown,
    Hidden,
}

/// Who asked for the end of a response that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Nobody,
    Us,
    Client,
}

/// A response that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) event_id: String,
    pub(super) whose: Whose,
    pub(super) kind: Kind,
    /// What it stands for, to be wanted again if it is refused.
    pub(super) want: Want,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Conversation,
    Aside,
}

/// What the model still owes the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Want {
    #[default]
    Nothing,
    /// A word about our answers.
    Reply,
    /// The answer that another model gave.
    Words,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Caller {
    #[default]
    Silent,
    Speaking,
}

/// What the caller still hears, where the provider plays it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Playback {
    #[default]
    Silent,
    Playing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Turn {
    #[default]
    Over,
    /// The caller is done, and nothing was answered yet.
    Open,
    Answering,
}

impl Floor {
    pub(super) fn active(&self) -> Option<&Response> {
        self.active.as_ref()
    }

    pub(super) fn active_mut(&mut self) -> Option<&mut Response> {
        self.active.as_mut()
    }

    /// Whether the answer to a call comes while its response goes on; it is kept, once.
    pub(super) fn keep_early(&mut self, call_id: &str, text: &str) -> bool {
        let Some(active) = &mut self.active else { return false };
        let Some(at) = active.calls.iter().position(|known| known == call_id) else { return false };
        active.calls.swap_remove(at);
        active.early.push(Early { call_id: call_id.to_owned(), text: text.to_owned() });
        true
    }

    /// Gives the one before, if its end was not told.
    pub(super) fn begin(&mut self, response: Response) -> Option<Response> {
        self.active.replace(response)
    }

    /// Ends the response that writes the conversation, if this is it.
    pub(super) fn end(&mut self, id: &str) -> Option<Response> {
        self.active.take_if(|active| active.id == id)
    }

    pub(super) fn begin_aside(&mut self, id: &str, whose: Whose) {
        self.asides.insert(id.to_owned(), whose);
    }

    pub(super) fn end_aside(&mut self, id: &str) -> Option<Whose> {
        self.asides.remove(id)
    }

    pub(super) fn aside(&self, id: &str) -> Option<Whose> {
        self.asides.get(id).copied()
    }

    pub(super) fn our_aside(&self) -> Option<&str> {
        self.asides.iter().find(|(_, whose)| **whose == Whose::Ours).map(|(id, _)| id.as_str())
    }

    pub(super) fn is_hidden(&self, response_id: &str) -> bool {
        self.hidden().is_some_and(|hidden| hidden.id == response_id)
    }

    pub(super) fn hidden(&self) -> Option<&Response> {
        self.active.as_ref().filter(|active| active.sight == Sight::Hidden)
    }

    pub(super) fn ask(&mut self, asked: Asked, now: Instant) {
        self.asked.push_back((now + UNANSWERED, asked));
    }

    /// Nobody waits for ever for what was never answered.
    pub(super) fn time_passes(&mut self, now: Instant) {
        self.asked.retain(|(until, _)| now < *until);
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        self.asked.front().map(|(until, _)| *until)
    }

    pub(super) fn has_asked(&self, whose: Whose, kind: Kind) -> bool {
        self.asked.iter().any(|(_, asked)| asked.whose == whose && asked.kind == kind)
    }

    pub(super) fn oldest_asked(&self) -> Option<Kind> {
        self.asked.front().map(|(_, asked)| asked.kind)
    }

    /// The request of that id: it was refused, or has begun.
    pub(super) fn take_asked(&mut self, event_id: &str) -> Option<Asked> {
        let at = self.asked.iter().position(|(_, asked)| asked.event_id == event_id)?;
        self.asked.remove(at).map(|(_, asked)| asked)
    }

    /// The oldest such request: it has begun.
    pub(super) fn begun(&mut self, whose: Whose, kind: Kind) -> Option<Asked> {
        let fits = |asked: &Asked| asked.whose == whose && asked.kind == kind;
        let at = self.asked.iter().position(|(_, asked)| fits(asked))?;
        self.asked.remove(at).map(|(_, asked)| asked)
    }

    /// Whatever of this kind was asked for before a response ended was answered by then.
    pub(super) fn forget_asked(&mut self, kind: Kind) {
        self.asked.retain(|(_, asked)| asked.kind != kind);
    }

    pub(super) fn set_caller(&mut self, caller: Caller) {
        self.caller = caller;
    }

    pub(super) fn set_playback(&mut self, playback: Playback) {
        self.playback = playback;
    }

    pub(super) fn caller_speaks(&self) -> bool {
        self.caller == Caller::Speaking
    }

    /// Nobody speaks, and nobody is about to.
    pub(super) fn is_free(&self) -> bool {
        self.active.is_none()
            && self.caller == Caller::Silent
            && self.our_aside().is_none()
            && self
                .asked
                .iter()
                .all(|(_, asked)| asked.kind == Kind::Aside && asked.whose == Whose::Others)
    }

    /// Free, and what was said has also been heard.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_free() && self.playback == Playback::Silent
    }

    /// The caller has said something new.
    pub(super) fn turn_taken(&mut self) -> Vec<TurnEvent> {
        let before = std::mem::replace(&mut self.turn, Turn::Open);
        match before {
            Turn::Over => vec![TurnEvent::Began],
            Turn::Open | Turn::Answering => vec![TurnEvent::Ended, TurnEvent::Began],
        }
    }

    /// The model begins to answer.
    pub(super) fn turn_answered(&mut self) -> Option<TurnEvent> {
        let before = std::mem::replace(&mut self.turn, Turn::Answering);
        (before == Turn::Over).then_some(TurnEvent::Began)
    }

    pub(super) fn turn_interrupted(&mut self) -> Option<TurnEvent> {
        let before = std::mem::replace(&mut self.turn, Turn::Over);
        (before != Turn::Over).then_some(TurnEvent::Interrupted)
    }

    /// Nothing more is to be said. A turn that nobody answered yet stays open.
    pub(super) fn turn_ended(&mut self) -> Option<TurnEvent> {
        if self.turn != Turn::Answering {
            return None;
        }
        self.turn = Turn::Over;
        Some(TurnEvent::Ended)
    }
}
