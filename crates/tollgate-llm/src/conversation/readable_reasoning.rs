//! Which reasoning of earlier answers a model gets back: only what it can read, and only where the
//! calls that it led to are still in the conversation. Providers refuse anything else.

use std::collections::BTreeSet;

use super::{ChatMessage, ChatRole, MessageList, MessagePart, ModelOrigin, PartContent};
use crate::dialect::Dialect;

const OTHER_MODEL: &str = "reasoning of another model";
const HIDDEN_CALLS: &str = "reasoning about tool calls that are not in the conversation";

/// A conversation without the reasoning that a model would refuse.
#[derive(Debug)]
pub struct ReadableHistory {
    pub messages: MessageList,
    /// What was left out, as text for the client.
    pub lost: Vec<String>,
}

/// `None`: nothing has to be left out. Thoughts of other dialects are left to the codec.
pub fn for_model(
    messages: &MessageList,
    dialect: Dialect,
    model: ModelOrigin,
) -> Option<ReadableHistory> {
    let mut filter = ReasoningFilter { dialect, model, lost: BTreeSet::new() };
    if messages.iter().all(|message| filter.has_nothing_to_drop(message)) {
        return None;
    }
    let mut kept = MessageList::default();
    for message in messages {
        if filter.has_nothing_to_drop(message) {
            kept.push(message.clone());
            continue;
        }
        let mut message = ChatMessage::clone(message);
        filter.filter(&mut message);
        if !message.parts.is_empty() {
            kept.push(message);
        }
    }
    let lost = filter.lost.into_iter().map(str::to_owned).collect();
    Some(ReadableHistory { messages: kept, lost })
}

/// The model that made the latest reasoning of a conversation, if it says so.
pub fn latest_origin(messages: &MessageList) -> Option<ModelOrigin> {
    let parts = messages.iter().rev().flat_map(|message| message.parts.iter().rev());
    let mut signatures = parts.filter_map(|part| match &part.content {
        PartContent::Thinking { signature, .. } => signature.as_ref(),
        _ => None,
    });
    signatures.find_map(|signature| signature.origin)
}

struct ReasoningFilter {
    dialect: Dialect,
    model: ModelOrigin,
    lost: BTreeSet<&'static str>,
}

impl ReasoningFilter {
    fn has_nothing_to_drop(&self, message: &ChatMessage) -> bool {
        message.role != ChatRole::Assistant
            || message.parts.iter().all(|part| match &part.content {
                PartContent::Thinking { signature: Some(signature), .. } => {
                    let is_other_dialect = signature.maker != self.dialect;
                    let is_readable = signature.is_readable_by(self.dialect, self.model);
                    let has_text = !signature.text.is_empty();
                    signature.hidden_rounds == 0 && has_text && (is_other_dialect || is_readable)
                }
                _ => true,
            })
    }

    fn filter(&mut self, message: &mut ChatMessage) {
        let signatures = message.parts.iter().filter_map(|part| match &part.content {
            PartContent::Thinking { signature, .. } => signature.as_ref(),
            _ => None,
        });
        let last_round = signatures.map(|signature| signature.hidden_rounds).max().unwrap_or(0);
        let before = message.parts.len();
        message.parts.retain(|part| is_redacted(part) || self.may_keep(part, last_round));
        // Redacted thoughts have no signature: they go with the others of their answer.
        if message.parts.len() < before && self.dialect == Dialect::Anthropic {
            message.parts.retain(|part| !is_redacted(part));
        }
    }

    /// Whether the part goes to the model. `last_round` is that of the answer.
    fn may_keep(&mut self, part: &MessagePart, last_round: u32) -> bool {
        let PartContent::Thinking { signature: Some(signature), .. } = &part.content else {
            return true;
        };
        if signature.text.is_empty() {
            return false;
        }
        if signature.maker != self.dialect {
            return true;
        }
        if !signature.is_readable_by(self.dialect, self.model) {
            self.lost.insert(OTHER_MODEL);
            return false;
        }
        // Anthropic binds a thought to everything before it, so that even the last one is invalid
        // without the calls before it. Others only need the call or text that follows.
        let is_bound = self.dialect == Dialect::Anthropic && last_round > 0;
        if is_bound || signature.hidden_rounds < last_round {
            self.lost.insert(HIDDEN_CALLS);
            return false;
        }
        true
    }
}

fn is_redacted(part: &MessagePart) -> bool {
    matches!(&part.content, PartContent::Opaque { dialect: Dialect::Anthropic, value }
        if value["type"] == "redacted_thinking")
}

#[cfg(test)]
mod tests;
