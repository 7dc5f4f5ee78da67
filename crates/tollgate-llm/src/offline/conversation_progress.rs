//! Progress of a conversation: the last utterance, and the calls made since.

use crate::conversation::{CallResult, ChatRequest, ChatRole, MessagePart, PartContent};

pub(super) struct ConversationProgress<'a> {
    /// The last user text.
    pub(super) utterance: String,
    /// Results of the calls made since.
    pub(super) results: Vec<&'a CallResult>,
    /// Rounds of calls made since.
    pub(super) rounds: usize,
    /// Calls in the whole conversation.
    pub(super) calls: usize,
    /// Messages in the whole conversation.
    pub(super) length: usize,
}

impl<'a> ConversationProgress<'a> {
    pub(super) fn of(request: &'a ChatRequest) -> Self {
        let mut moment = Self {
            utterance: String::new(),
            results: Vec::new(),
            rounds: 0,
            calls: 0,
            length: request.messages.len(),
        };
        for message in &request.messages {
            match message.role {
                ChatRole::User => moment.hear(&message.parts),
                ChatRole::Assistant => moment.count(&message.parts),
                ChatRole::System | ChatRole::Developer => {}
            }
        }
        moment
    }

    /// Text after results is a new utterance; results after text belong to it.
    fn hear(&mut self, parts: &'a [MessagePart]) {
        let mut is_new = true;
        for part in parts {
            match &part.content {
                PartContent::Text(text) => {
                    if std::mem::take(&mut is_new) {
                        (self.results, self.rounds) = (Vec::new(), 0);
                        self.utterance.clear();
                    } else {
                        self.utterance.push('\n');
                    }
                    self.utterance.push_str(text);
                }
                PartContent::Result(result) => {
                    self.results.push(result);
                    is_new = true;
                }
                _ => {}
            }
        }
    }

    fn count(&mut self, parts: &[MessagePart]) {
        let calls = parts.iter().filter(|part| part.as_call().is_some()).count();
        self.calls += calls;
        self.rounds += usize::from(calls > 0);
    }
}
