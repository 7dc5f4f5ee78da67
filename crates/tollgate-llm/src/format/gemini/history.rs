//! Encodes contents: one per turn, results first and in the order of their calls, system prompts
//! before all. Used for requests and for the history that clients keep.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::conversation::{ChatMessage, ChatRole, PartContent};
use crate::dialect::Dialect;
use crate::format::result_order::{in_order, missing_result_error};

use super::part_writer::GeminiPartWriter;

const OWN: Dialect = Dialect::Gemini;

/// Signature with which Gemini accepts a call that it did not sign: one made by another model.
const SKIP_SIGNATURE_VALIDATION: &str = "skip_thought_signature_validator";

#[derive(Debug, Default)]
pub(super) struct GeminiContents {
    /// The parts of `systemInstruction`.
    pub(super) system: Vec<Value>,
    pub(super) contents: Vec<Value>,
}

pub(super) fn compose(
    messages: &[Arc<ChatMessage>],
    writing: &mut GeminiPartWriter,
) -> GeminiContents {
    let mut system = Vec::new();
    let mut turns: Vec<GeminiTurn> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let mut turn = GeminiTurn::from_message(message, format!("contents[{index}]"), writing);
        match message.role {
            ChatRole::System | ChatRole::Developer => {
                if !turns.is_empty() {
                    writing.ledger.lose(
                        "the position of a later system message: it is sent before all others",
                    );
                }
                system.append(&mut turn.parts);
            }
            ChatRole::User | ChatRole::Assistant => {
                if turn.parts.is_empty() && turn.results.is_empty() {
                    continue;
                }
                match turns.last_mut() {
                    Some(last) if last.role == turn.role => last.join(turn),
                    _ => turns.push(turn),
                }
            }
        }
    }
    GeminiContents { system, contents: order_results(turns, writing) }
}

/// The history as clients keep it. Parts that Gemini cannot express are omitted.
pub(super) fn history(messages: &[Arc<ChatMessage>]) -> Value {
    let mut writing = GeminiPartWriter::for_client();
    let GeminiContents { system, mut contents } = compose(messages, &mut writing);
    if !system.is_empty() {
        // `contents` have no system role.
        contents.insert(0, json!({"role": "user", "parts": system}));
    }
    contents.into()
}

/// Adds the signature that skips validation to calls of models without signatures.
pub(super) fn excuse_unsigned(contents: &mut [Value]) {
    for content in contents.iter_mut().filter(|content| content["role"] == "model") {
        let parts = content["parts"].as_array_mut();
        let first = parts.into_iter().flatten().find(|part| part.get("functionCall").is_some());
        if let Some(call) = first.filter(|call| call.get("thoughtSignature").is_none()) {
            call["thoughtSignature"] = SKIP_SIGNATURE_VALIDATION.into();
        }
    }
}

/// Consecutive messages of one role.
struct GeminiTurn {
    role: ChatRole,
    /// Ids of the calls made in this turn.
    calls: Vec<String>,
    results: Vec<(String, Value)>,
    parts: Vec<Value>,
    extra: Map<String, Value>,
    at: String,
}

impl GeminiTurn {
    fn from_message(message: &ChatMessage, at: String, writing: &mut GeminiPartWriter) -> Self {
        let calls = Vec::new();
        let results = Vec::new();
        let parts = Vec::new();
        let mut turn = Self { role: message.role, calls, results, parts, extra: Map::new(), at };
        for (index, part) in message.parts.iter().enumerate() {
            let at = format!("{}.parts[{index}]", turn.at);
            let Some(written) = writing.part(part, &at) else { continue };
            match &part.content {
                PartContent::Result(result) => turn.results.push((result.call_id.clone(), written)),
                PartContent::Call(call) => {
                    turn.calls.push(call.id.clone());
                    turn.parts.push(written);
                }
                _ => turn.parts.push(written),
            }
        }
        turn.parts.extend(writing.rest());
        message.extra.write_into(OWN, &mut turn.extra);
        turn
    }

    fn join(&mut self, mut later: Self) {
        self.calls.append(&mut later.calls);
        self.results.append(&mut later.results);
        self.parts.append(&mut later.parts);
        self.extra.extend(later.extra);
    }

    fn json(self) -> Value {
        let role = match self.role {
            ChatRole::Assistant => "model",
            ChatRole::User | ChatRole::System | ChatRole::Developer => "user",
        };
        let mut content = Map::new();
        content.insert("role".to_owned(), role.into());
        content.insert("parts".to_owned(), self.parts.into());
        for (key, value) in self.extra {
            content.entry(key).or_insert(value);
        }
        content.into()
    }
}

fn order_results(turns: Vec<GeminiTurn>, writing: &mut GeminiPartWriter) -> Vec<Value> {
    let mut made: Vec<String> = Vec::new();
    let mut at = String::new();
    let mut contents = Vec::with_capacity(turns.len());
    for mut turn in turns {
        at.clone_from(&turn.at);
        if turn.role == ChatRole::Assistant {
            made = std::mem::take(&mut turn.calls);
        } else {
            let ordered = in_order(std::mem::take(&mut turn.results), &made, &turn.at);
            writing.ledger.allow(ordered.fault.map_or(Ok(()), Err));
            turn.parts.splice(0..0, ordered.results);
            made.clear();
        }
        contents.push(turn.json());
    }
    if let Some(open) = made.first() {
        writing.ledger.allow::<()>(Err(missing_result_error(open, &at)));
    }
    contents
}
