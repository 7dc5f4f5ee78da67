//! Transcripts: what goes in, and every line that comes out. Only [`Script`] knows the machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_core::tool::{Delivery, Effect};

use super::Gemini;
use crate::realtime::events::{
    Action, Answer, Answered, Declared, Fate, Form, Frame, News, Offer, Opening, RealtimeDialect,
    Routing, Step,
};

mod calls;
mod client;
mod late;
mod random;
mod renewal;
mod talk;

/// One session, with a clock of its own.
struct Script {
    machine: Gemini,
    now: Instant,
}

impl Script {
    /// With the tools `roll` (which is waited for), `search` (when idle) and `note` (silent).
    fn new(model: &str) -> Self {
        Self::with(model, offer())
    }

    fn with(model: &str, offer: Offer) -> Self {
        let opening = Opening { offer, model: model.to_owned(), routing: Routing::Native };
        #[expect(clippy::disallowed_methods, reason = "any moment will do")]
        let now = Instant::now();
        Self { machine: Gemini::new(opening), now }
    }

    /// After the setup of a client with the function `lights`.
    fn ready(model: &str) -> Self {
        let mut script = Self::new(model);
        script.client(r#"{"setup":{"model":"models/x","tools":[{"functionDeclarations":[{"name":"lights"}]}]}}"#);
        assert_eq!(script.provider(r#"{"setupComplete":{}}"#), ["client: as it is"]);
        script
    }

    /// The same, resumable by `h1`.
    fn resumable(model: &str) -> Self {
        let mut script = Self::ready(model);
        let update = r#"{"sessionResumptionUpdate":{"newHandle":"h1","resumable":true}}"#;
        assert_eq!(script.provider(update), [""; 0]);
        script
    }

    fn client(&mut self, text: &str) -> Vec<String> {
        let step = self.machine.client_said(Frame::Text(text), self.now);
        shown("provider", step)
    }

    fn provider(&mut self, text: &str) -> Vec<String> {
        let step = self.machine.provider_said(Frame::Text(text), self.now);
        shown("client", step)
    }

    /// A batch of calls, each `id name`.
    fn calls(&mut self, calls: &[&str]) -> Vec<String> {
        let calls: Vec<Value> = calls
            .iter()
            .map(|call| {
                let (id, name) = call.split_once(' ').expect("`id name`");
                json!({"id": id, "name": name, "args": {"x": 1}})
            })
            .collect();
        self.provider(&json!({"toolCall": {"functionCalls": calls}}).to_string())
    }

    fn answer(&mut self, id: &str, answered: Answered, delivery: Delivery) -> Vec<String> {
        let status = match answered {
            Answered::Done | Answered::Late => "ok",
            Answered::Pending => "pending",
            Answered::Cancelled => "cancelled",
        };
        let outcome = json!({"status": status, "message": "a word"}).to_string();
        self.answer_as(id, (answered, delivery), &outcome)
    }

    fn done(&mut self, id: &str) -> Vec<String> {
        self.answer(id, Answered::Done, Delivery::Wait)
    }

    fn outcome(&mut self, id: &str, answered: Answered, outcome: &str) -> Vec<String> {
        self.answer_as(id, (answered, Delivery::Wait), outcome)
    }

    fn answer_as(
        &mut self,
        id: &str,
        (answered, delivery): (Answered, Delivery),
        outcome: &str,
    ) -> Vec<String> {
        let (id, outcome) = (id.to_owned(), outcome.to_owned());
        self.news(News::Answer(Answer { id, answered, outcome, delivery }))
    }

    fn news(&mut self, news: News) -> Vec<String> {
        lines(self.machine.news(news, self.now))
    }

    /// Time passes, and the machine is woken whenever it asked for that.
    fn wait(&mut self, ms: u64) -> Vec<String> {
        let until = self.now + Duration::from_millis(ms);
        let mut said = Vec::new();
        for _ in 0..100 {
            match self.machine.wakes().filter(|wake| *wake <= until) {
                Some(wake) => self.now = self.now.max(wake),
                None => {
                    self.now = until;
                    return said;
                }
            }
            said.extend(self.news(News::Time));
        }
        panic!("it never sleeps");
    }
}

fn tool(name: &str, delivery: Delivery) -> Declared {
    let definition = Arc::new(json!({"name": name}));
    Declared { name: name.to_owned(), definition, delivery, effect: Effect::ReadOnly }
}

fn offer() -> Offer {
    let tools = vec![
        tool("roll", Delivery::Wait),
        tool("search", Delivery::WhenIdle),
        tool("note", Delivery::Silent),
    ];
    Offer { tools, prompt: None }
}

fn offer_of(name: &str, prompt: &str) -> Offer {
    Offer { tools: vec![tool(name, Delivery::Wait)], prompt: Some(Arc::from(prompt)) }
}

fn shown(to: &str, step: Step) -> Vec<String> {
    let fate = match step.fate {
        Fate::Forward => Some(format!("{to}: as it is")),
        Fate::Swallow => None,
        Fate::Replace(text) => Some(format!("{to}: {text}")),
    };
    fate.into_iter().chain(lines(step.actions)).collect()
}

fn lines(actions: Vec<Action>) -> Vec<String> {
    let line = |action| match action {
        Action::ToClient(text) => format!("client: {text}"),
        Action::ToProvider(text) => format!("provider: {text}"),
        Action::Run(call) => format!("run {} {} {}", call.id, call.name, call.arguments),
        Action::Confirm(ids) => format!("confirm {}", ids.join(" ")),
        Action::Cancel(id) => format!("cancel {id}"),
        Action::Heard { text, form: Form::Partial } => format!("hears {text}…"),
        Action::Heard { text, form: Form::Final } => format!("heard {text}"),
        Action::Said(text) => format!("said {text}"),
        Action::Turn(event) => format!("{event:?}"),
        Action::Announced => "announced".to_owned(),
        Action::Tier(tier) => format!("tier {tier:?}"),
        Action::Delegate => "delegate".to_owned(),
        Action::Reconnect(first) => format!("reconnect {}", first.join(" ")),
        Action::Reconnected => "reconnected".to_owned(),
        Action::Close(close) => format!("close {} {}", close.code, close.reason),
    };
    actions.into_iter().map(line).collect()
}

/// A line that holds JSON, by what is before it and where a value stands in it.
fn field(line: &str, before: &str, pointer: &str) -> Value {
    let text = line.strip_prefix(before).unwrap_or_else(|| panic!("`{before}` before: {line}"));
    let value: Value = serde_json::from_str(text).expect(text);
    value.pointer(pointer).cloned().unwrap_or_else(|| panic!("no {pointer} in {text}"))
}
