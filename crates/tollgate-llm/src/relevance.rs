//! What a turn is about, in words to look for tools by. Called by the window; how words find tools is
//! the core's.

use tollgate_core::relevance::Query;

use crate::conversation::{Content, Request, Role};

/// Messages before the last one that still have a say.
const EARLIER: usize = 3;
const EARLIER_WEIGHT: f32 = 0.3;

/// What was said last, and a little of what was said before.
pub fn query(request: &Request) -> Query {
    let mut query = Query::new(&request.utterance());
    let spoken = request.messages.iter().rev().filter(|message| {
        matches!(message.role, Role::User | Role::Assistant)
            && message.parts.iter().any(|part| part.as_text().is_some())
    });
    // The first one is the utterance, or what was answered to it already.
    for message in spoken.skip(1).take(EARLIER) {
        for part in &message.parts {
            if let Content::Text(text) = &part.content {
                query.hear(text, EARLIER_WEIGHT);
            }
        }
    }
    query
}

#[cfg(test)]
mod tests;
