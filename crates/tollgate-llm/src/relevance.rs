//! What a turn is about, in words to look for tools by. Called by the window; how words find tools is
//! the core's.

use tollgate_core::relevance::RelevanceQuery;

use crate::conversation::{ChatRequest, ChatRole, PartContent};

/// Messages before the last one that still have a say.
const EARLIER_MESSAGES: usize = 3;
const EARLIER_WEIGHT: f32 = 0.3;

/// What was said last, and a little of what was said before.
pub fn query(request: &ChatRequest) -> RelevanceQuery {
    let mut query = RelevanceQuery::new(&request.utterance());
    let spoken = request.messages.iter().rev().filter(|message| {
        matches!(message.role, ChatRole::User | ChatRole::Assistant)
            && message.parts.iter().any(|part| part.as_text().is_some())
    });
    // The first one is the utterance, or what was answered to it already.
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
