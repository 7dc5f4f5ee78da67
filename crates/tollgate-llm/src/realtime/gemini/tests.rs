//! Transcripts: what goes in, and every line that comes out. Only [`Script`] knows the machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_core::tool::{ResultDelivery, ToolEffect};

use super::GeminiLive;
use crate::realtime::events::{
    AnswerStage, CallAnswer, DeclaredTool, DeepTurnRouting, DialectAction, DialectEvent,
    DialectStep, MessageFate, RealtimeDialect, RealtimeFrame, RealtimeInit, RealtimeOffer,
    UtteranceStage,
};

mod calls;
mod client;
mod late;
mod random;
mod renewal;
mod restart;
mod talk;

/// One session, with a clock of its own.
struct Script {
    machine: GeminiLive,
    now: Instant,
}

impl Script {
    /// With the tools `roll` (which is waited for), `search` (when idle) and `note` (silent).
    fn new(model: &str) -> Self {
        Self::with(model, offer())
    }

    fn with(model: &str, offer: RealtimeOffer) -> Self {
        let opening = RealtimeInit {
            offer,
            model: model.to_owned(),
            routing: DeepTurnRouting::Native,
            declared: None,
        };
        #[expect(clippy::disallowed_methods, reason = "any moment will do")]
        let now = Instant::now();
        Self { machine: GeminiLive::new(opening), now }
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
        let step = self.machine.on_client_message(RealtimeFrame::Text(text), self.now);
        render("provider", step)
    }

    fn provider(&mut self, text: &str) -> Vec<String> {
        let step = self.machine.on_provider_message(RealtimeFrame::Text(text), self.now);
        render("client", step)
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

    fn answer(&mut self, id: &str, answered: AnswerStage, delivery: ResultDelivery) -> Vec<String> {
        let status = match answered {
            AnswerStage::Done | AnswerStage::Late => "ok",
            AnswerStage::Pending => "pending",
            AnswerStage::Cancelled => "cancelled",
        };
        let outcome = json!({"status": status, "message": "a word"}).to_string();
        self.answer_as(id, answered, delivery, &outcome)
    }

    fn done(&mut self, id: &str) -> Vec<String> {
        self.answer(id, AnswerStage::Done, ResultDelivery::Wait)
    }

    fn outcome(&mut self, id: &str, answered: AnswerStage, outcome: &str) -> Vec<String> {
        self.answer_as(id, answered, ResultDelivery::Wait, outcome)
    }

    fn answer_as(
        &mut self,
        id: &str,
        answered: AnswerStage,
        delivery: ResultDelivery,
        outcome: &str,
    ) -> Vec<String> {
        let id = id.to_owned();
        let outcome = outcome.to_owned();
        self.news(DialectEvent::Answer(CallAnswer { id, answered, outcome, delivery }))
    }

    fn news(&mut self, news: DialectEvent) -> Vec<String> {
        lines(self.machine.on_event(news, self.now))
    }

    /// Time passes, and the machine is woken whenever it asked for that.
    fn wait(&mut self, ms: u64) -> Vec<String> {
        let until = self.now + Duration::from_millis(ms);
        let mut lines = Vec::new();
        for _ in 0..100 {
            match self.machine.wakes().filter(|wake| *wake <= until) {
                Some(wake) => self.now = self.now.max(wake),
                None => {
                    self.now = until;
                    return lines;
                }
            }
            lines.extend(self.news(DialectEvent::Time));
        }
        panic!("it never sleeps");
    }
}

fn tool(name: &str, delivery: ResultDelivery) -> DeclaredTool {
    let definition = Arc::new(json!({"name": name}));
    DeclaredTool { name: name.to_owned(), definition, delivery, effect: ToolEffect::ReadOnly }
}

fn offer() -> RealtimeOffer {
    let tools = vec![
        tool("roll", ResultDelivery::Wait),
        tool("search", ResultDelivery::WhenIdle),
        tool("note", ResultDelivery::Silent),
    ];
    RealtimeOffer { tools, prompt: None }
}

fn offer_of(name: &str, prompt: &str) -> RealtimeOffer {
    RealtimeOffer { tools: vec![tool(name, ResultDelivery::Wait)], prompt: Some(Arc::from(prompt)) }
}

fn render(to: &str, step: DialectStep) -> Vec<String> {
    let fate = match step.fate {
        MessageFate::Forward => Some(format!("{to}: as it is")),
        MessageFate::Swallow => None,
        MessageFate::Replace(text) => Some(format!("{to}: {text}")),
    };
    fate.into_iter().chain(lines(step.actions)).collect()
}

fn lines(actions: Vec<DialectAction>) -> Vec<String> {
    let line = |action| match action {
        DialectAction::ToClient(text) => format!("client: {text}"),
        DialectAction::ToProvider(text) => format!("provider: {text}"),
        DialectAction::Run(call) => format!("run {} {} {}", call.id, call.name, call.arguments),
        DialectAction::Confirm(ids) => format!("confirm {}", ids.join(" ")),
        DialectAction::Cancel(id) => format!("cancel {id}"),
        DialectAction::CallerSpeech { text, form: UtteranceStage::Partial } => {
            format!("hears {text}…")
        }
        DialectAction::CallerSpeech { text, form: UtteranceStage::Final } => {
            format!("heard {text}")
        }
        DialectAction::AgentSpeech(text) => format!("said {text}"),
        DialectAction::Turn(event) => format!("{event:?}"),
        DialectAction::Announced => "announced".to_owned(),
        DialectAction::LateTold => "late told".to_owned(),
        DialectAction::Tier(tier) => format!("tier {tier:?}"),
        DialectAction::Delegate => "delegate".to_owned(),
        DialectAction::PrepareReconnect => "prepare".to_owned(),
        DialectAction::Reconnect(first) => format!("reconnect {}", first.join(" ")),
        DialectAction::Reconnected => "reconnected".to_owned(),
        DialectAction::Replace(fault) => format!("replace {:?}", fault.kind),
        DialectAction::Close(close) => format!("close {} {}", close.code, close.reason),
    };
    actions.into_iter().map(line).collect()
}

/// A line that holds JSON, by what is before it and where a value stands in it.
fn field(line: &str, before: &str, pointer: &str) -> Value {
    let text = line.strip_prefix(before).unwrap_or_else(|| panic!("`{before}` before: {line}"));
    let value: Value = serde_json::from_str(text).expect(text);
    value.pointer(pointer).cloned().unwrap_or_else(|| panic!("no {pointer} in {text}"))
}
