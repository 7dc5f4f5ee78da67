//! The model that is built in: no key, no network, and always the same answer to the same words.
//!
//! It knows a handful of intents, says what it is, and never pretends to know more. For tests and
//! demos it follows a [`script`]. Pure; asked where a model is in process.

use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_core::agent::OFFLINE;
use tollgate_core::digest::{Sum, hex};

use crate::conversation::{Call, Content, Part, Request, Response, Stop, ToolChoice, Usage};
use crate::delta::{self, Delta, Opening};
use crate::extra::Extra;

mod count;
mod form;
mod intent;
mod limit;
mod moment;
pub mod script;
mod speech;
mod wish;

use moment::Moment;
use script::Script;
use wish::Wish;

/// What it says to `request`.
pub fn answer(request: &Request, wall: SystemTime) -> Response {
    let moment = Moment::of(request);
    let said = match calls(request, &moment) {
        Some(calling) => called(&moment, calling),
        None => spoken(request, &moment),
    };
    let usage = Usage {
        input: count::of_request(request),
        output: count::of_parts(&said.parts),
        ..Usage::default()
    };
    let digest = Sum::default().with(&moment.utterance).with(moment.length.to_string()).finish();
    Response {
        id: format!("offline-{}", hex(&digest[..8])),
        model: OFFLINE.to_owned(),
        created: wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        parts: said.parts,
        stop: said.stop,
        usage,
        extra: Extra::none(),
    }
}

/// An answer as it is spoken: word by word, and calls in small pieces.
pub fn steps(response: &Response) -> Vec<Delta> {
    let mut steps = Vec::new();
    let mut speaks = false;
    for step in delta::steps(response) {
        match step {
            Delta::Open { ref opening, .. } => {
                speaks = matches!(opening, Opening::Text | Opening::Refusal);
                steps.push(step);
            }
            Delta::Grow { index, text, .. } => {
                let pieces = if speaks { words(&text) } else { pieces(&text) };
                let grow =
                    |text: &str| Delta::Grow { index, text: text.to_owned(), extra: Extra::none() };
                steps.extend(pieces.into_iter().map(grow));
            }
            other => steps.push(other),
        }
    }
    steps
}

fn words(text: &str) -> Vec<&str> {
    text.split_inclusive(' ').collect()
}

/// Twelve characters each.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while let Some((end, _)) = text.char_indices().nth(12) {
        let (head, rest) = text.split_at(end);
        pieces.push(head);
        text = rest;
    }
    pieces.push(text);
    pieces
}

struct Said {
    parts: Vec<Part>,
    stop: Stop,
}

/// Calls to be made, and what is said before them.
struct Calling {
    before: String,
    wishes: Vec<Wish>,
}

/// The calls of this round, if it is one for calls.
fn calls(request: &Request, moment: &Moment<'_>) -> Option<Calling> {
    if request.tool_choice == ToolChoice::None {
        return None;
    }
    if let Some(script) = Script::read(&moment.utterance) {
        let round = script.round(moment.rounds)?;
        let wishes = round.calls.iter().map(Wish::scripted).collect();
        return Some(Calling { before: round.says.clone(), wishes });
    }
    let mut wishes = match &request.tool_choice {
        ToolChoice::Named(name) => wish::named(request, &moment.utterance, name),
        ToolChoice::Required => wish::any(request, &moment.utterance),
        _ if moment.results.is_empty() => wish::fitting(request, &moment.utterance),
        _ => Vec::new(),
    };
    limit::calls(&mut wishes, &request.options);
    (!wishes.is_empty()).then(|| Calling { before: String::new(), wishes })
}

fn called(moment: &Moment<'_>, calling: Calling) -> Said {
    let before = Some(calling.before).filter(|text| !text.is_empty()).map(Part::text);
    let calls = calling.wishes.into_iter().enumerate().map(|(at, wish)| {
        let id = format!("call_offline_{}", moment.calls + at + 1);
        Part::new(Content::Call(Call { id, name: wish.name, arguments: wish.arguments }))
    });
    Said { parts: before.into_iter().chain(calls).collect(), stop: Stop::Calls }
}

fn spoken(request: &Request, moment: &Moment<'_>) -> Said {
    let last_words = Script::read(&moment.utterance).map(|script| script.last_words);
    let text = match last_words.filter(|words| !words.is_empty()) {
        Some(words) => words,
        None if moment.results.is_empty() => speech::talk(request, &moment.utterance),
        None => speech::results(&moment.results),
    };
    match form::shaped(text, request.options.output.as_ref()) {
        Ok(text) => {
            let (text, stop) = limit::text(text, &request.options);
            Said { parts: vec![Part::text(text)], stop }
        }
        Err(why) => Said { parts: vec![Part::new(Content::Refusal(why))], stop: Stop::Refused },
    }
}

#[cfg(test)]
mod tests;
