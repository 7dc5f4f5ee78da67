//! Conversations with a machine, written down: what goes in stands at the margin, what the machine
//! makes of it two blanks further in. A test is such a text, which has to come out as it stands.
//!
//! ```text
//! client {"type":"Settings"}       a message; `provider {…}` likewise
//! client-audio 3                   a binary message of so many bytes; `provider-audio 3` likewise
//! offer roll book! | Be brief.     tools (`!`: it writes), and the agent's prompt
//! answer c1 done {"status":"ok"}   `done`, `pending`, `late`, `cancelled`; `late/interrupt`: its delivery
//! slow c1 One moment.
//! speak The words.                 `speak-nothing` if there are none
//! tier deep asked for              `tier - …`: none
//! hold 300                         milliseconds; `hold -`: no turn can be routed
//! slow-turn One moment.
//! route, stay, time
//! ```

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::budget::Tier;
use tollgate_core::tool::{ResultDelivery, ToolEffect};
use tollgate_engine::clock::{Clock, SystemClock};

use super::events::{
    AnswerStage, CallAnswer, DeclaredTool, DeepTurnRouting, DialectAction, DialectEvent,
    DialectStep, MessageFate, NoDeepAnswerError, RealtimeCall, RealtimeDialect, RealtimeFrame,
    RealtimeInit, RealtimeOffer, TurnEvent, UtteranceStage,
};

/// What a session begins with that has these tools.
pub(super) fn opening(offered: &str) -> RealtimeInit {
    RealtimeInit {
        offer: offer(offered),
        model: "real-model".to_owned(),
        routing: DeepTurnRouting::Cascaded,
        declared: None,
    }
}

#[track_caller]
pub(super) fn check(machine: &mut dyn RealtimeDialect, transcript: &str) {
    let expected = normalize_transcript(transcript);
    let mut written = String::new();
    for line in expected.lines().filter(|line| !line.starts_with(' ')) {
        written.push_str(line);
        written.push('\n');
        for made in feed_line(machine, line) {
            let _ = writeln!(written, "  {made}");
        }
    }
    assert!(written == expected, "expected:\n{expected}\nwas:\n{written}");
}

/// What a machine makes of one line.
pub(super) fn feed_line(machine: &mut dyn RealtimeDialect, line: &str) -> Vec<String> {
    let now = SystemClock.now();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let bytes = || vec![0; rest.parse().expect("so many bytes")];
    match word {
        "client" => format_step(machine.on_client_message(RealtimeFrame::Text(rest), now)),
        "provider" => format_step(machine.on_provider_message(RealtimeFrame::Text(rest), now)),
        "client-audio" => {
            format_step(machine.on_client_message(RealtimeFrame::Binary(&bytes()), now))
        }
        "provider-audio" => {
            format_step(machine.on_provider_message(RealtimeFrame::Binary(&bytes()), now))
        }
        _ => machine.on_event(news(word, rest), now).into_iter().map(format_action).collect(),
    }
}

/// JSON is compared as JSON; the lines of a literal are indented.
fn normalize_transcript(transcript: &str) -> String {
    let lines: Vec<&str> = transcript.lines().filter(|line| !line.trim().is_empty()).collect();
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let margin = lines.iter().map(indent).min().unwrap_or(0);
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", normal(&line[margin..]));
        text
    })
}

fn normal(line: &str) -> String {
    let Some(at) = line.find('{') else { return line.to_owned() };
    let (before, json) = line.split_at(at);
    match serde_json::from_str::<Value>(json) {
        Ok(value) => format!("{before}{value}"),
        Err(_) => line.to_owned(),
    }
}

fn offer(offered: &str) -> RealtimeOffer {
    let (names, prompt) = match offered.split_once('|') {
        Some((names, prompt)) => (names, Some(Arc::from(prompt.trim()))),
        None => (offered, None),
    };
    RealtimeOffer { tools: names.split_whitespace().map(parse_declared_tool).collect(), prompt }
}

fn parse_declared_tool(name: &str) -> DeclaredTool {
    let (name, effect) = match name.strip_suffix('!') {
        Some(name) => (name, ToolEffect::Mutating),
        None => (name, ToolEffect::ReadOnly),
    };
    let definition =
        json!({"type": "function", "name": name, "description": format!("does {name}")});
    let definition = Arc::new(definition);
    DeclaredTool { name: name.to_owned(), definition, delivery: ResultDelivery::Wait, effect }
}

fn news(word: &str, rest: &str) -> DialectEvent {
    let (first, others) = rest.split_once(' ').unwrap_or((rest, ""));
    match word {
        "offer" => DialectEvent::Offer(offer(rest)),
        "answer" => DialectEvent::Answer(answer(first, others)),
        "slow" => DialectEvent::Slow { id: first.to_owned(), message: Arc::from(others) },
        "hold" => DialectEvent::Hold(first.parse().ok().map(Duration::from_millis)),
        "route" => DialectEvent::Route,
        "stay" => DialectEvent::Stay,
        "slow-turn" => DialectEvent::SlowTurn(Arc::from(rest)),
        "speak" => DialectEvent::Speak(Ok(rest.to_owned())),
        "speak-nothing" => DialectEvent::Speak(Err(NoDeepAnswerError::Empty)),
        "tier" => DialectEvent::Tier { tier: Tier::parse(first), reason: others.to_owned() },
        "time" => DialectEvent::Time,
        _ => panic!("no such line: {word} {rest}"),
    }
}

fn answer(id: &str, rest: &str) -> CallAnswer {
    let (how, outcome) = rest.split_once(' ').expect("how, and what came of it");
    let (answered, delivery) = how.split_once('/').unwrap_or((how, "wait"));
    let answered = match answered {
        "done" => AnswerStage::Done,
        "pending" => AnswerStage::Pending,
        "late" => AnswerStage::Late,
        "cancelled" => AnswerStage::Cancelled,
        _ => panic!("no such answer: {answered}"),
    };
    let delivery = match delivery {
        "wait" => ResultDelivery::Wait,
        "when_idle" => ResultDelivery::WhenIdle,
        "interrupt" => ResultDelivery::Interrupt,
        "silent" => ResultDelivery::Silent,
        _ => panic!("no such delivery: {delivery}"),
    };
    CallAnswer { id: id.to_owned(), answered, outcome: outcome.to_owned(), delivery }
}

fn format_step(step: DialectStep) -> Vec<String> {
    let fate = match step.fate {
        MessageFate::Forward => "forward".to_owned(),
        MessageFate::Swallow => "swallow".to_owned(),
        MessageFate::Replace(text) => normal(&format!("replace {text}")),
    };
    std::iter::once(fate).chain(step.actions.into_iter().map(format_action)).collect()
}

fn format_action(action: DialectAction) -> String {
    match action {
        DialectAction::ToClient(text) => normal(&format!("client {text}")),
        DialectAction::ToProvider(text) => normal(&format!("provider {text}")),
        DialectAction::Run(RealtimeCall { id, name, arguments }) => {
            format!("run {id} {name} {arguments}")
        }
        DialectAction::Confirm(ids) => format!("confirm {}", ids.join(" ")),
        DialectAction::Cancel(id) => format!("cancel {id}"),
        DialectAction::CallerSpeech { text, form: UtteranceStage::Final } => {
            format!("heard {text}")
        }
        DialectAction::CallerSpeech { text, form: UtteranceStage::Partial } => {
            format!("heard-partly {text}")
        }
        DialectAction::AgentSpeech(text) => format!("said {text}"),
        DialectAction::Turn(TurnEvent::Began) => "turn began".to_owned(),
        DialectAction::Turn(TurnEvent::Interrupted) => "turn interrupted".to_owned(),
        DialectAction::Turn(TurnEvent::Ended) => "turn ended".to_owned(),
        DialectAction::Announced => "announced".to_owned(),
        DialectAction::LateTold => "late told".to_owned(),
        DialectAction::Tier(tier) => format!("tier {}", tier.map_or("-", Tier::as_str)),
        DialectAction::Delegate => "delegate".to_owned(),
        DialectAction::PrepareReconnect => "prepare".to_owned(),
        DialectAction::Reconnect(first) => format!("reconnect {}", first.join(" ")),
        DialectAction::Reconnected => "reconnected".to_owned(),
        DialectAction::Replace(fault) => format!("replace {:?}", fault.kind),
        DialectAction::Close(with) => format!("close {} {}", with.code, with.reason),
    }
}
