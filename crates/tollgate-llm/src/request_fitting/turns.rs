//! The order and roles of messages.

use std::collections::HashSet;
use std::sync::Arc;

use super::RequestFitting;
use crate::conversation::{ChatMessage, ChatRole, MessageList, MessagePart, PartContent};
use crate::dialect::Dialect;
use crate::model_capabilities::Feature;

/// Stands before an answer that has no question.
const CONVERSATION_START: &str = "(The conversation begins with the next message.)";
const CONTINUE: &str = "Continue your last message exactly where it ends. Do not repeat any of it.";

impl RequestFitting<'_> {
    pub(super) fn fit_turns(&mut self) {
        match self.dialect {
            Dialect::OpenAiChat => self.move_results_to_calls(),
            Dialect::Anthropic => {
                if !self.takes.takes(Feature::LateSystemMessage) {
                    self.turn_late_system_messages_into_text();
                }
                self.begin_with_user();
                self.fit_prefill();
            }
            Dialect::OpenAiResponses | Dialect::Gemini => {}
        }
    }

    /// Chat Completions takes nothing between a call and its result.
    fn move_results_to_calls(&mut self) {
        if !separates_results(&self.request.messages) {
            return;
        }
        let messages = std::mem::take(&mut self.edit().messages);
        let mut rest: Vec<Option<Arc<ChatMessage>>> = messages.into_iter().map(Some).collect();
        let mut ordered = MessageList::default();
        for at in 0..rest.len() {
            let Some(message) = rest[at].take() else { continue };
            let mut open: HashSet<String> = calls_in(&message).map(str::to_owned).collect();
            ordered.push(message);
            for later in &mut rest[at + 1..] {
                if open.is_empty() {
                    break;
                }
                let answers = later.as_ref().is_some_and(|it| answers_only(it, &open));
                if let Some(found) = later.take_if(|_| answers) {
                    open.retain(|id| !results_in(&found).any(|it| it == id));
                    ordered.push(found);
                }
            }
        }
        self.edit().messages = ordered;
    }

    /// Only later Claudes take a system message within the conversation.
    fn turn_late_system_messages_into_text(&mut self) {
        let is_system =
            |it: &ChatMessage| matches!(it.role, ChatRole::System | ChatRole::Developer);
        let leading = self.request.messages.iter().take_while(|it| is_system(it)).count();
        if !self.request.messages[leading..].iter().any(|it| is_system(it)) {
            return;
        }
        let messages = &mut self.edit().messages;
        let numbered = std::mem::take(messages).into_iter().enumerate();
        *messages = numbered
            .map(|(at, mut message)| {
                if at >= leading && is_system(&message) {
                    let message = Arc::make_mut(&mut message);
                    message.role = ChatRole::User;
                    for part in &mut message.parts {
                        if let PartContent::Text(text) = &mut part.content {
                            *text = format!("<system>\n{text}\n</system>");
                        }
                    }
                }
                message
            })
            .collect();
        self.report("a system message within the conversation: sent as user text");
    }

    fn begin_with_user(&mut self) {
        let spoken =
            |it: &&Arc<ChatMessage>| matches!(it.role, ChatRole::User | ChatRole::Assistant);
        let first = self.request.messages.iter().position(|it| spoken(&it));
        if let Some(at) = first.filter(|at| self.request.messages[*at].role == ChatRole::Assistant)
        {
            let begin = ChatMessage::text(ChatRole::User, CONVERSATION_START);
            self.edit().messages.insert(at, begin);
        }
    }

    /// An assistant message at the end is continued by the model. Newer Claudes refuse it, and none
    /// takes it beside a schema of the answer: they are told to continue.
    fn fit_prefill(&mut self) {
        let is_prefill =
            |it: &Arc<ChatMessage>| it.role == ChatRole::Assistant && calls_in(it).next().is_none();
        if !self.request.messages.last().is_some_and(is_prefill) {
            return;
        }
        if !self.takes.takes(Feature::Prefill) || self.request.options.output.is_some() {
            self.edit().messages.push(ChatMessage::text(ChatRole::User, CONTINUE));
            self.report("an assistant message at the end: the model is told to continue it");
            return;
        }
        // The API refuses white space at the end.
        let last = self.request.messages.last().and_then(|it| it.parts.last());
        let text = last.and_then(MessagePart::as_text);
        if text.is_none_or(|text| text.trim_end() == text) {
            return;
        }
        let last = self.edit().messages.last_mut().and_then(|it| it.parts.last_mut());
        if let Some(MessagePart { content: PartContent::Text(text), .. }) = last {
            text.truncate(text.trim_end().len());
        }
    }
}

/// Whether something stands between a call and its result.
fn separates_results(messages: &[Arc<ChatMessage>]) -> bool {
    let mut open: HashSet<&str> = HashSet::new();
    for message in messages {
        for id in results_in(message) {
            open.remove(id);
        }
        let only_results = !message.parts.is_empty()
            && message.parts.iter().all(|it| matches!(it.content, PartContent::Result(_)));
        if !open.is_empty() && !only_results {
            return true;
        }
        open.extend(calls_in(message));
    }
    false
}

/// Whether the message has results of these calls alone.
fn answers_only(message: &ChatMessage, open: &HashSet<String>) -> bool {
    !message.parts.is_empty()
        && message.parts.iter().all(|part| match &part.content {
            PartContent::Result(result) => open.contains(&result.call_id),
            _ => false,
        })
}

fn calls_in(message: &ChatMessage) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(MessagePart::as_call).map(|call| call.id.as_str())
}

fn results_in(message: &ChatMessage) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match &part.content {
        PartContent::Result(result) => Some(result.call_id.as_str()),
        _ => None,
    })
}
