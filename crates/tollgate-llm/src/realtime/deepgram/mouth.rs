//! Words that are put into a Deepgram agent's mouth, ours and the client's: what waits until nobody
//! speaks, and whose it is that the provider refuses.

use std::collections::VecDeque;

use serde_json::json;

use crate::realtime::events::Action;
use crate::realtime::pieces::pieces;

/// Results that wait to be said; the oldest gives way.
const WAITING: usize = 16;
/// Injections of which the fate is not known yet.
const OUT: usize = 64;
/// After so many refusals nobody wants to hear it any more.
const ATTEMPTS: u8 = 5;
/// What is read aloud at once, in bytes; what Deepgram's voices take is twice as many characters.
const PIECE: usize = 1_000;

/// How words get on with whoever is speaking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behavior {
    /// Only when nobody speaks, else they are refused.
    Default,
    /// After what is being said.
    Queue,
    /// Now.
    Interrupt,
}

impl Behavior {
    fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Queue => "queue",
            Self::Interrupt => "interrupt",
        }
    }

    pub(super) fn parse(text: &str) -> Self {
        match text {
            "queue" => Self::Queue,
            "interrupt" => Self::Interrupt,
            _ => Self::Default,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Client,
    Ours,
}

#[derive(Debug)]
struct Words {
    text: String,
    attempts: u8,
}

#[derive(Debug)]
struct Injected {
    whose: Whose,
    behavior: Behavior,
    words: Words,
}

#[derive(Debug, Default)]
pub(super) struct Mouth {
    waiting: VecDeque<Words>,
    out: VecDeque<Injected>,
}

impl Mouth {
    /// Says a text at once, in pieces if it is long.
    pub(super) fn say(&mut self, text: &str, behavior: Behavior) -> Vec<Action> {
        let said = pieces(text, PIECE).into_iter().enumerate().map(|(at, piece)| {
            let behavior = if at == 0 { behavior } else { Behavior::Queue };
            self.inject(Words { text: piece.to_owned(), attempts: 0 }, behavior)
        });
        said.collect()
    }

    /// For when nobody speaks.
    pub(super) fn say_later(&mut self, text: String) {
        self.waiting.push_back(Words { text, attempts: 0 });
        if self.waiting.len() > WAITING {
            self.waiting.pop_front();
        }
    }

    /// Nobody speaks now.
    pub(super) fn idle(&mut self) -> Option<Action> {
        let is_out = |it: &Injected| it.whose == Whose::Ours && it.behavior == Behavior::Default;
        if self.out.iter().any(is_out) {
            return None;
        }
        let words = self.waiting.pop_front()?;
        Some(self.inject(words, Behavior::Default))
    }

    pub(super) fn note_clients(&mut self, text: &str, behavior: Behavior) {
        let words = Words { text: text.to_owned(), attempts: 0 };
        self.note(Injected { whose: Whose::Client, behavior, words });
    }

    /// The agent says something: who put it into its mouth, if anybody did.
    pub(super) fn heard(&mut self, said: &str) -> Option<Whose> {
        let is_it = |injected: &Injected| injected.words.text.starts_with(said.trim());
        let at = self.out.iter().position(is_it)?;
        self.out.remove(at).map(|injected| injected.whose)
    }

    /// Whose words were refused. Ours wait for another occasion if they were to be said in a pause.
    pub(super) fn refused(&mut self) -> Whose {
        let in_pause = |injected: &Injected| injected.behavior == Behavior::Default;
        let at = self.out.iter().position(in_pause).unwrap_or(0);
        let Some(mut injected) = self.out.remove(at) else { return Whose::Client };
        if injected.whose == Whose::Ours && injected.behavior == Behavior::Default {
            injected.words.attempts += 1;
            if injected.words.attempts < ATTEMPTS {
                self.waiting.push_front(injected.words);
            }
        }
        injected.whose
    }

    /// The floor has changed hands: what was to be said by force was said or dropped by now.
    pub(super) fn settle(&mut self) {
        self.out.retain(|injected| injected.behavior == Behavior::Default);
    }

    fn inject(&mut self, words: Words, behavior: Behavior) -> Action {
        let message = json!({
            "type": "InjectAgentMessage",
            "message": words.text,
            "behavior": behavior.as_str(),
        });
        self.note(Injected { whose: Whose::Ours, behavior, words });
        Action::ToProvider(message.to_string())
    }

    fn note(&mut self, injected: Injected) {
        self.out.push_back(injected);
        if self.out.len() > OUT {
            self.out.pop_front();
        }
    }
}
