//! Builds the relevance query of a turn: the words by which tools are ranked. Called by the window;
//! the ranking itself is in the core.

use tollgate_core::relevance::RelevanceQuery;

use crate::conversation::{ChatRequest, ChatRole, PartContent};

/// Earlier messages that contribute to the query.
const EARLIER_MESSAGES: usize = 3;
const EARLIER_WEIGHT: f32 = 0.3;

/// The last utterance, and with a lower weight some earlier messages.
pub fn query(request: &ChatRequest) -> RelevanceQuery {
    let mut query = RelevanceQuery::new(&request.utterance()).by_meaning();
    let spoken = request.messages.iter().rev().filter(|message| {
        matches!(message.role, ChatRole::User | ChatRole::Assistant)
            && message.parts.iter().any(|part| part.as_text().is_some())
    });
    // The first one is the utterance, or the answer to it.
    for message in spoken.skip(1).take(EARLIER_MESSAGES) {
        for part in &message.parts {
            if let PartContent::Text(text) = &part.content {
                query.hear(text, EARLIER_WEIGHT);
            }
        }
    }
    query
}

#[cfg(test)]
mod tests;
