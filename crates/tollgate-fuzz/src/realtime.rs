//! The dialects of live speech, driven line by line as a session drives them.
//!
//! `c{…}` and `p{…}` are messages of client and provider, `C` and `P` binary ones; `d`, `n`, `l`, `x` answer the oldest
//! call (done, pending, late, cancelled), `s` says that one is slow; `o`, `t`, `h`, `r`, `y`, `v`, `w` are an offer, time,
//! a hold, a route, no route, a slow turn and words.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_core::tool::{ResultDelivery, ToolEffect};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_llm::realtime::deepgram::DeepgramVoiceAgent;
use tollgate_llm::realtime::gemini::GeminiLive;
use tollgate_llm::realtime::gpt_live::GptLive;
use tollgate_llm::realtime::openai::OpenAiRealtime;
use tollgate_llm::realtime::{
    AnswerStage, CallAnswer, DeclaredTool, DeepTurnRouting, DialectAction, DialectEvent,
    DialectStep, MessageFate, RealtimeDialect, RealtimeFrame, RealtimeInit, RealtimeOffer,
    RealtimeProtocol, translation,
};

/// How long a realtime model is kept from answering.
const HOLD: Duration = Duration::from_millis(300);

pub(crate) fn openai(data: &[u8]) {
    converse(&mut OpenAiRealtime::new(opening()), data);
}

pub(crate) fn gemini(data: &[u8]) {
    converse(&mut GeminiLive::new(opening()), data);
}

pub(crate) fn deepgram(data: &[u8]) {
    converse(&mut DeepgramVoiceAgent::new(opening()), data);
}

pub(crate) fn gpt_live(data: &[u8]) {
    converse(&mut GptLive::new(opening()), data);
}

pub(crate) fn openai_to_gemini(data: &[u8]) {
    translate(RealtimeProtocol::OpenAi, RealtimeProtocol::Gemini, data);
}

pub(crate) fn gemini_to_openai(data: &[u8]) {
    translate(RealtimeProtocol::Gemini, RealtimeProtocol::OpenAi, data);
}

fn translate(client: RealtimeProtocol, provider: RealtimeProtocol, data: &[u8]) {
    let mut machine = translation::machine(client, provider, opening());
    machine.begin(SystemClock.now());
    converse(&mut *machine, data);
}

fn opening() -> RealtimeInit {
    RealtimeInit {
        offer: offer(),
        model: "real-model".to_owned(),
        routing: DeepTurnRouting::Cascaded,
        declared: None,
    }
}

fn offer() -> RealtimeOffer {
    let declared = |name: &str, effect| {
        let definition = Arc::new(json!({"type": "function", "name": name, "description": "it"}));
        DeclaredTool { name: name.to_owned(), definition, delivery: ResultDelivery::Wait, effect }
    };
    let tools =
        vec![declared("roll", ToolEffect::ReadOnly), declared("book", ToolEffect::Mutating)];
    RealtimeOffer { tools, prompt: Some(Arc::from("Be brief.")) }
}

/// What a session knows of its calls.
#[derive(Default)]
struct FuzzCalls<'d> {
    /// Lines that somebody sent: these may go on as they are, JSON or not.
    client_lines: BTreeSet<&'d str>,
    started: BTreeSet<String>,
    running: VecDeque<String>,
    pending: VecDeque<String>,
}

fn converse(machine: &mut dyn RealtimeDialect, data: &[u8]) {
    let mut calls = FuzzCalls::default();
    let mut now = SystemClock.now();
    for line in data.split(|byte| *byte == b'\n').take(200) {
        now += Duration::from_millis(50);
        let Some((kind, rest)) = line.split_first() else { continue };
        calls.client_lines.extend(crate::text(rest));
        let actions = match (kind, crate::text(rest)) {
            (b'c', Some(text)) => {
                check_step(machine.on_client_message(RealtimeFrame::Text(text), now), text)
            }
            (b'p', Some(text)) => {
                check_step(machine.on_provider_message(RealtimeFrame::Text(text), now), text)
            }
            (b'C', _) => machine.on_client_message(RealtimeFrame::Binary(rest), now).actions,
            (b'P', _) => machine.on_provider_message(RealtimeFrame::Binary(rest), now).actions,
            (kind, _) => match calls.news(*kind) {
                Some(news) => machine.on_event(news, now),
                None => continue,
            },
        };
        calls.note(&actions);
        check_wake(machine, now);
    }
    // A session that ends well answers all that runs.
    while let Some(id) = calls.running.pop_front() {
        let actions = machine.on_event(answer(id, AnswerStage::Done), now);
        calls.note(&actions);
        assert!(calls.started.len() < 10_000, "calls without end");
    }
}

/// A message that is changed stays JSON.
fn check_step(step: DialectStep, message: &str) -> Vec<DialectAction> {
    if let MessageFate::Replace(text) = &step.fate {
        let replaced: Result<Value, _> = serde_json::from_str(text);
        assert!(replaced.is_ok(), "{text} in place of {message}");
    }
    step.actions
}

fn check_wake(machine: &mut dyn RealtimeDialect, now: Instant) {
    if let Some(at) = machine.wakes() {
        assert!(at < now + Duration::from_secs(24 * 3_600), "nobody waits that long");
    }
}

impl FuzzCalls<'_> {
    fn note(&mut self, actions: &[DialectAction]) {
        assert!(actions.len() < 10_000, "{} actions", actions.len());
        for action in actions {
            match action {
                DialectAction::Run(call) => {
                    assert!(self.started.insert(call.id.clone()), "{} runs twice", call.id);
                    self.running.push_back(call.id.clone());
                }
                DialectAction::ToClient(text) | DialectAction::ToProvider(text) => {
                    let sent: Result<Value, _> = serde_json::from_str(text);
                    assert!(
                        sent.is_ok() || self.client_lines.contains(text.as_str()),
                        "sent {text}"
                    );
                }
                DialectAction::Confirm(ids) => {
                    assert!(ids.iter().all(|id| self.started.contains(id)), "{ids:?}");
                }
                DialectAction::Cancel(id) => assert!(self.started.contains(id), "{id} never ran"),
                _ => {}
            }
        }
    }

    fn news(&mut self, kind: u8) -> Option<DialectEvent> {
        Some(match kind {
            b'd' => answer(self.running.pop_front()?, AnswerStage::Done),
            b'x' => answer(self.running.pop_front()?, AnswerStage::Cancelled),
            b'n' => {
                let id = self.running.pop_front()?;
                self.pending.push_back(id.clone());
                answer(id, AnswerStage::Pending)
            }
            b'l' => answer(self.pending.pop_front()?, AnswerStage::Late),
            b's' => DialectEvent::Slow {
                id: self.running.front()?.clone(),
                message: Arc::from("Wait."),
            },
            b'o' => DialectEvent::Offer(offer()),
            b't' => DialectEvent::Time,
            b'h' => DialectEvent::Hold(Some(HOLD)),
            b'r' => DialectEvent::Route,
            b'y' => DialectEvent::Stay,
            b'v' => DialectEvent::SlowTurn(Arc::from("One moment.")),
            b'w' => DialectEvent::Speak(Ok("The words.".to_owned())),
            _ => return None,
        })
    }
}

fn answer(id: String, answered: AnswerStage) -> DialectEvent {
    let outcome = r#"{"status":"ok","message":"done"}"#.to_owned();
    DialectEvent::Answer(CallAnswer { id, answered, outcome, delivery: ResultDelivery::Wait })
}
