//! The messages of a conversation, shared between its copies.

use std::ops::Deref;
use std::sync::Arc;

use super::ChatMessage;

/// Clones share their messages: each round of a turn, and each model of a fallback chain, gets a
/// request of its own, and a history may be megabytes long.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageList(Vec<Arc<ChatMessage>>);

impl MessageList {
    pub fn push(&mut self, message: impl Into<Arc<ChatMessage>>) {
        self.0.push(message.into());
    }

    pub fn insert(&mut self, at: usize, message: impl Into<Arc<ChatMessage>>) {
        self.0.insert(at, message.into());
    }

    /// Removes and returns the messages from `at` on.
    pub fn split_off(&mut self, at: usize) -> Self {
        Self(self.0.split_off(at))
    }

    /// Copies the message if it is shared.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut ChatMessage> {
        self.0.get_mut(at).map(Arc::make_mut)
    }

    /// Copies the message if it is shared.
    pub fn first_mut(&mut self) -> Option<&mut ChatMessage> {
        self.0.first_mut().map(Arc::make_mut)
    }

    /// Copies the message if it is shared.
    pub fn last_mut(&mut self) -> Option<&mut ChatMessage> {
        self.0.last_mut().map(Arc::make_mut)
    }
}

impl Deref for MessageList {
    type Target = [Arc<ChatMessage>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<Vec<ChatMessage>> for MessageList {
    fn from(messages: Vec<ChatMessage>) -> Self {
        messages.into_iter().collect()
    }
}

impl From<&[Arc<ChatMessage>]> for MessageList {
    fn from(messages: &[Arc<ChatMessage>]) -> Self {
        Self(messages.to_vec())
    }
}

impl FromIterator<ChatMessage> for MessageList {
    fn from_iter<I: IntoIterator<Item = ChatMessage>>(messages: I) -> Self {
        Self(messages.into_iter().map(Arc::new).collect())
    }
}

impl FromIterator<Arc<ChatMessage>> for MessageList {
    fn from_iter<I: IntoIterator<Item = Arc<ChatMessage>>>(messages: I) -> Self {
        Self(messages.into_iter().collect())
    }
}

impl Extend<Arc<ChatMessage>> for MessageList {
    fn extend<I: IntoIterator<Item = Arc<ChatMessage>>>(&mut self, messages: I) {
        self.0.extend(messages);
    }
}

impl IntoIterator for MessageList {
    type Item = Arc<ChatMessage>;
    type IntoIter = std::vec::IntoIter<Arc<ChatMessage>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a MessageList {
    type Item = &'a Arc<ChatMessage>;
    type IntoIter = std::slice::Iter<'a, Arc<ChatMessage>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
