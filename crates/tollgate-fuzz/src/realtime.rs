//! The dialects of live speech, driven line by line as a session drives them.
//!
//! `c{…}` and `p{…}` are messages of client and provider, `C` and `P` binary ones; `d`, `n`, `l`, `x` answer the oldest
//! call (done, pending, late, cancelled), `s` says that one is slow; `o`, `t`, `r`, `w` are an offer, time, a route
//! and words.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_core::tool::{Delivery, Effect};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_llm::realtime::deepgram::Deepgram;
use tollgate_llm::realtime::gemini::Gemini;
use tollgate_llm::realtime::gpt_live::GptLive;
use tollgate_llm::realtime::openai::OpenAi;
use tollgate_llm::realtime::{
    Action, Answer, Answered, Declared, Fate, Frame, News, Offer, Opening, RealtimeDialect,
    Routing, Step,
};

pub(crate) fn openai(data: &[u8]) {
    converse(&mut OpenAi::new(opening()), data);
}

pub(crate) fn gemini(data: &[u8]) {
    converse(&mut Gemini::new(opening()), data);
}

pub(crate) fn deepgram(data: &[u8]) {
    converse(&mut Deepgram::new(opening()), data);
}

pub(crate) fn gpt_live(data: &[u8]) {
    converse(&mut GptLive::new(opening()), data);
}

fn opening() -> Opening {
    Opening { offer: offer(), model: "real-model".to_owned(), routing: Routing::Cascaded }
}

fn offer() -> Offer {
    let declared = |name: &str, effect| {
        let definition = Arc::new(json!({"type": "function", "name": name, "description": "it"}));
        Declared { name: name.to_owned(), definition, delivery: Delivery::Wait, effect }
    };
    let tools = vec![declared("roll", Effect::ReadOnly), declared("book", Effect::Mutating)];
    Offer { tools, prompt: Some(Arc::from("Be brief.")) }
}

/// What a session knows of its calls.
#[derive(Default)]
struct Calls<'d> {
    /// Lines that somebody sent: these may go on as they are, JSON or not.
    said: BTreeSet<&'d str>,
    started: BTreeSet<String>,
    running: VecDeque<String>,
    pending: VecDeque<String>,
}

fn converse(machine: &mut dyn RealtimeDialect, data: &[u8]) {
    let mut calls = Calls::default();
    let mut now = SystemClock.now();
    for line in data.split(|byte| *byte == b'\n').take(200) {
        now += Duration::from_millis(50);
        let Some((kind, rest)) = line.split_first() else { continue };
        calls.said.extend(crate::text(rest));
        let actions = match (kind, crate::text(rest)) {
            (b'c', Some(text)) => stepped(machine.client_said(Frame::Text(text), now), text),
            (b'p', Some(text)) => stepped(machine.provider_said(Frame::Text(text), now), text),
            (b'C', _) => machine.client_said(Frame::Binary(rest), now).actions,
            (b'P', _) => machine.provider_said(Frame::Binary(rest), now).actions,
            (kind, _) => match calls.news(*kind) {
                Some(news) => machine.news(news, now),
                None => continue,
            },
        };
        calls.note(&actions);
        check_wake(machine, now);
    }
    // A session that ends well answers all that runs.
    while let Some(id) = calls.running.pop_front() {
        let actions = machine.news(answer(id, Answered::Done), now);
        calls.note(&actions);
        assert!(calls.started.len() < 10_000, "calls without end");
    }
}

/// A message that is changed stays JSON.
fn stepped(step: Step, said: &str) -> Vec<Action> {
    if let Fate::Replace(text) = &step.fate {
        let replaced: Result<Value, _> = serde_json::from_str(text);
        assert!(replaced.is_ok(), "{text} in place of {said}");
    }
    step.actions
}

fn check_wake(machine: &mut dyn RealtimeDialect, now: Instant) {
    if let Some(at) = machine.wakes() {
        assert!(at < now + Duration::from_secs(24 * 3_600), "nobody waits that long");
    }
}

impl Calls<'_> {
    fn note(&mut self, actions: &[Action]) {
        assert!(actions.len() < 10_000, "{} actions", actions.len());
        for action in actions {
            match action {
                Action::Run(call) => {
                    assert!(self.started.insert(call.id.clone()), "{} runs twice", call.id);
                    self.running.push_back(call.id.clone());
                }
                Action::ToClient(text) | Action::ToProvider(text) => {
                    let sent: Result<Value, _> = serde_json::from_str(text);
                    assert!(sent.is_ok() || self.said.contains(text.as_str()), "sent {text}");
                }
                Action::Confirm(ids) => {
                    assert!(ids.iter().all(|id| self.started.contains(id)), "{ids:?}");
                }
                Action::Cancel(id) => assert!(self.started.contains(id), "{id} never ran"),
                _ => {}
            }
        }
    }

    fn news(&mut self, kind: u8) -> Option<News> {
        Some(match kind {
            b'd' => answer(self.running.pop_front()?, Answered::Done),
            b'x' => answer(self.running.pop_front()?, Answered::Cancelled),
            b'n' => {
                let id = self.running.pop_front()?;
                self.pending.push_back(id.clone());
                answer(id, Answered::Pending)
            }
            b'l' => answer(self.pending.pop_front()?, Answered::Late),
            b's' => News::Slow { id: self.running.front()?.clone(), message: Arc::from("Wait.") },
            b'o' => News::Offer(offer()),
            b't' => News::Time,
            b'r' => News::Route,
            b'w' => News::Speak(Ok("The words.".to_owned())),
            _ => return None,
        })
    }
}

fn answer(id: String, answered: Answered) -> News {
    let outcome = r#"{"status":"ok","message":"done"}"#.to_owned();
    News::Answer(Answer { id, answered, outcome, delivery: Delivery::Wait })
}
