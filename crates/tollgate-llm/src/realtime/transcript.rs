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
//! route, time
//! ```

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use tollgate_core::budget::Tier;
use tollgate_core::tool::{Delivery, Effect};
use tollgate_engine::clock::{Clock, SystemClock};

use super::events::{
    Action, Answer, Answered, Call, Declared, Fate, Form, Frame, News, Offer, Opening,
    RealtimeDialect, Routing, Step, TurnEvent,
};

/// What a session begins with that has these tools.
pub(super) fn opening(offered: &str) -> Opening {
    Opening { offer: offer(offered), model: "real-model".to_owned(), routing: Routing::Cascaded }
}

#[track_caller]
pub(super) fn check(machine: &mut dyn RealtimeDialect, transcript: &str) {
    let expected = tidied(transcript);
    let mut written = String::new();
    for line in expected.lines().filter(|line| !line.starts_with(' ')) {
        written.push_str(line);
        written.push('\n');
        for made in told(machine, line) {
            let _ = writeln!(written, "  {made}");
        }
    }
    assert!(written == expected, "expected:\n{expected}\nwas:\n{written}");
}

/// What a machine makes of one line.
pub(super) fn told(machine: &mut dyn RealtimeDialect, line: &str) -> Vec<String> {
    let now = SystemClock.now();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let bytes = || vec![0; rest.parse().expect("so many bytes")];
    match word {
        "client" => stepped(machine.client_said(Frame::Text(rest), now)),
        "provider" => stepped(machine.provider_said(Frame::Text(rest), now)),
        "client-audio" => stepped(machine.client_said(Frame::Binary(&bytes()), now)),
        "provider-audio" => stepped(machine.provider_said(Frame::Binary(&bytes()), now)),
        _ => machine.news(news(word, rest), now).into_iter().map(acted).collect(),
    }
}

/// JSON is compared as JSON; the lines of a literal are indented.
fn tidied(transcript: &str) -> String {
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

fn offer(offered: &str) -> Offer {
    let (names, prompt) = match offered.split_once('|') {
        Some((names, prompt)) => (names, Some(Arc::from(prompt.trim()))),
        None => (offered, None),
    };
    Offer { tools: names.split_whitespace().map(declared).collect(), prompt }
}

fn declared(name: &str) -> Declared {
    let (name, effect) = match name.strip_suffix('!') {
        Some(name) => (name, Effect::Mutating),
        None => (name, Effect::ReadOnly),
    };
    let definition =
        json!({"type": "function", "name": name, "description": format!("does {name}")});
    let definition = Arc::new(definition);
    Declared { name: name.to_owned(), definition, delivery: Delivery::Wait, effect }
}

fn news(word: &str, rest: &str) -> News {
    let (first, others) = rest.split_once(' ').unwrap_or((rest, ""));
    match word {
        "offer" => News::Offer(offer(rest)),
        "answer" => News::Answer(answer(first, others)),
        "slow" => News::Slow { id: first.to_owned(), message: Arc::from(others) },
        "route" => News::Route,
        "speak" => News::Speak(Ok(rest.to_owned())),
        "speak-nothing" => News::Speak(Err("nobody knows".to_owned())),
        "tier" => News::Tier { tier: Tier::parse(first), reason: others.to_owned() },
        "time" => News::Time,
        _ => panic!("no such line: {word} {rest}"),
    }
}

fn answer(id: &str, rest: &str) -> Answer {
    let (how, outcome) = rest.split_once(' ').expect("how, and what came of it");
    let (answered, delivery) = how.split_once('/').unwrap_or((how, "wait"));
    let answered = match answered {
        "done" => Answered::Done,
        "pending" => Answered::Pending,
        "late" => Answered::Late,
        "cancelled" => Answered::Cancelled,
        _ => panic!("no such answer: {answered}"),
    };
    let delivery = match delivery {
        "wait" => Delivery::Wait,
        "when_idle" => Delivery::WhenIdle,
        "interrupt" => Delivery::Interrupt,
        "silent" => Delivery::Silent,
        _ => panic!("no such delivery: {delivery}"),
    };
    Answer { id: id.to_owned(), answered, outcome: outcome.to_owned(), delivery }
}

fn stepped(step: Step) -> Vec<String> {
    let fate = match step.fate {
        Fate::Forward => "forward".to_owned(),
        Fate::Swallow => "swallow".to_owned(),
        Fate::Replace(text) => normal(&format!("replace {text}")),
    };
    std::iter::once(fate).chain(step.actions.into_iter().map(acted)).collect()
}

fn acted(action: Action) -> String {
    match action {
        Action::ToClient(text) => normal(&format!("client {text}")),
        Action::ToProvider(text) => normal(&format!("provider {text}")),
        Action::Run(Call { id, name, arguments }) => format!("run {id} {name} {arguments}"),
        Action::Confirm(ids) => format!("confirm {}", ids.join(" ")),
        Action::Cancel(id) => format!("cancel {id}"),
        Action::Heard { text, form: Form::Final } => format!("heard {text}"),
        Action::Heard { text, form: Form::Partial } => format!("heard-partly {text}"),
        Action::Said(text) => format!("said {text}"),
        Action::Turn(TurnEvent::Began) => "turn began".to_owned(),
        Action::Turn(TurnEvent::Interrupted) => "turn interrupted".to_owned(),
        Action::Turn(TurnEvent::Ended) => "turn ended".to_owned(),
        Action::Announced => "announced".to_owned(),
        Action::Tier(tier) => format!("tier {}", tier.map_or("-", Tier::as_str)),
        Action::Delegate => "delegate".to_owned(),
        Action::Reconnect(first) => format!("reconnect {}", first.join(" ")),
        Action::Reconnected => "reconnected".to_owned(),
        Action::Close(with) => format!("close {} {}", with.code, with.reason),
    }
}
