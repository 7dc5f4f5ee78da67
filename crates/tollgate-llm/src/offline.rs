//! The built-in offline model: no key, no network, deterministic answers.
//!
//! It knows a handful of intents, says what it is, and never pretends to know more. For tests and
//! demos it follows a [`script`]. Pure; called by in-process model handles.

use std::time::{SystemTime, UNIX_EPOCH};

use tollgate_core::agent::OFFLINE;
use tollgate_core::digest::{DigestBuilder, hex};

use crate::conversation::{
    ChatRequest, ChatResponse, FunctionCall, MessagePart, PartContent, StopReason, TokenUsage,
    ToolChoice,
};
use crate::delta::{self, PartOpening, ResponseDelta};
use crate::extra::Extra;

mod conversation_progress;
mod count;
mod intent;
mod limit;
mod response_format;
pub mod script;
mod speech;
mod tool_matching;

use conversation_progress::ConversationProgress;
use script::OfflineScript;
use tool_matching::OfflineCall;

/// The model's answer to `request`.
pub fn answer(request: &ChatRequest, wall: SystemTime) -> ChatResponse {
    let moment = ConversationProgress::of(request);
    let reply = match calls(request, &moment) {
        Some(calling) => reply_with_calls(&moment, calling),
        None => reply_with_text(request, &moment),
    };
    let usage = TokenUsage {
        input: count::of_request(request),
        output: count::of_parts(&reply.parts),
        ..TokenUsage::default()
    };
    let digest =
        DigestBuilder::default().with(&moment.utterance).with(moment.length.to_string()).finish();
    ChatResponse {
        id: format!("offline-{}", hex(&digest[..8])),
        model: OFFLINE.to_owned(),
        created: wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        parts: reply.parts,
        stop: reply.stop,
        usage,
        extra: Extra::none(),
    }
}

/// Splits an answer into deltas: word by word, and calls in small pieces.
pub fn steps(response: &ChatResponse) -> Vec<ResponseDelta> {
    let mut steps = Vec::new();
    let mut speaks = false;
    for step in delta::steps(response) {
        match step {
            ResponseDelta::Open { ref opening, .. } => {
                speaks = matches!(opening, PartOpening::Text | PartOpening::Refusal);
                steps.push(step);
            }
            ResponseDelta::Grow { index, text, .. } => {
                let pieces = if speaks { words(&text) } else { pieces(&text) };
                let grow = |text: &str| ResponseDelta::Grow {
                    index,
                    text: text.to_owned(),
                    extra: Extra::none(),
                };
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

/// Pieces of twelve characters.
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

struct OfflineReply {
    parts: Vec<MessagePart>,
    stop: StopReason,
}

/// Calls to make, and the text before them.
struct OfflineCallRound {
    before: String,
    wishes: Vec<OfflineCall>,
}

/// The calls of this round, if any.
fn calls(request: &ChatRequest, moment: &ConversationProgress<'_>) -> Option<OfflineCallRound> {
    if request.tool_choice == ToolChoice::None {
        return None;
    }
    if let Some(script) = OfflineScript::read(&moment.utterance) {
        let round = script.round(moment.rounds)?;
        let wishes = round.calls.iter().map(|(name, arguments)| OfflineCall {
            name: name.clone(),
            arguments: arguments.clone(),
        });
        let wishes = wishes.collect();
        return Some(OfflineCallRound { before: round.says.clone(), wishes });
    }
    let mut wishes = match &request.tool_choice {
        ToolChoice::Named(name) => tool_matching::call_named_tool(request, &moment.utterance, name),
        ToolChoice::Required => tool_matching::call_any_tool(request, &moment.utterance),
        _ if moment.results.is_empty() => {
            tool_matching::call_fitting_tools(request, &moment.utterance)
        }
        _ => Vec::new(),
    };
    limit::calls(&mut wishes, &request.options);
    (!wishes.is_empty()).then(|| OfflineCallRound { before: String::new(), wishes })
}

fn reply_with_calls(moment: &ConversationProgress<'_>, calling: OfflineCallRound) -> OfflineReply {
    let before = Some(calling.before).filter(|text| !text.is_empty()).map(MessagePart::text);
    let calls = calling.wishes.into_iter().enumerate().map(|(at, wish)| {
        let id = format!("call_offline_{}", moment.calls + at + 1);
        MessagePart::new(PartContent::Call(FunctionCall {
            id,
            name: wish.name,
            arguments: wish.arguments,
        }))
    });
    OfflineReply { parts: before.into_iter().chain(calls).collect(), stop: StopReason::Calls }
}

fn reply_with_text(request: &ChatRequest, moment: &ConversationProgress<'_>) -> OfflineReply {
    let last_words = OfflineScript::read(&moment.utterance).map(|script| script.last_words);
    let text = match last_words.filter(|words| !words.is_empty()) {
        Some(words) => words,
        None if moment.results.is_empty() => speech::talk(request, &moment.utterance),
        None => speech::results(&moment.results),
    };
    match response_format::format_output(text, request.options.output.as_ref()) {
        Ok(text) => {
            let (text, stop) = limit::text(text, &request.options);
            OfflineReply { parts: vec![MessagePart::text(text)], stop }
        }
        Err(why) => OfflineReply {
            parts: vec![MessagePart::new(PartContent::Refusal(why.to_string()))],
            stop: StopReason::Refused,
        },
    }
}

#[cfg(test)]
mod tests;
