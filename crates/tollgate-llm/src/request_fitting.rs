//! Fits a request to the model that gets it: what the model refuses is left out or rewritten, and
//! each change is reported to the client.
//!
//! Pure. Called before a request is encoded for a provider;
//! the encoders then only deal with the form.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use crate::conversation::{ChatMessage, ChatRequest, ChatRole, MessagePart, PartContent};
use crate::delta::{PartOpening, ResponseDelta};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::model_capabilities::ModelCapabilities;

mod answer_format;
mod call_ids;
mod options;
mod schema;
mod thinking;
mod tool_names;
mod tools;
mod turns;

/// A request that the model takes.
#[derive(Debug)]
pub struct FittedRequest<'r> {
    /// Borrowed if nothing had to be changed: an agent asks once per round, with all its tools.
    pub request: Cow<'r, ChatRequest>,
    /// What was left out or rewritten, as text for the client.
    pub changes: Vec<String>,
    pub names: ToolNames,
}

/// Names of tools that were rewritten, by the name that the model knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolNames(HashMap<String, String>);

/// `model` is the provider's name of the model, or the name of a model that it behaves like. Fails
/// if the model cannot answer the request at all.
pub fn fit<'r>(
    request: Cow<'r, ChatRequest>,
    dialect: Dialect,
    model: &str,
) -> Result<FittedRequest<'r>, LlmError> {
    let takes = ModelCapabilities::of(dialect, model);
    let mut fitting = RequestFitting { request, dialect, takes, changes: Vec::new() };
    if fitting.request.model != model {
        model.clone_into(&mut fitting.edit().model);
    }
    let names = fitting.fit_tool_names();
    fitting.fit_tools()?;
    fitting.fit_thinking();
    fitting.fit_options();
    fitting.fit_answer_format();
    fitting.fit_turns();
    fitting.fit_call_ids();
    let RequestFitting { request, changes, .. } = fitting;
    Ok(FittedRequest { request, changes, names })
}

/// A request that is being fitted.
struct RequestFitting<'r> {
    request: Cow<'r, ChatRequest>,
    dialect: Dialect,
    takes: ModelCapabilities,
    changes: Vec<String>,
}

impl RequestFitting<'_> {
    /// The request for a change. The first call copies it, so callers look before.
    fn edit(&mut self) -> &mut ChatRequest {
        self.request.to_mut()
    }

    /// Removes a field of one dialect.
    fn take_field(&mut self, dialect: Dialect, name: &str) -> Option<Value> {
        self.request.extra.get(dialect, name)?;
        self.edit().extra.take(dialect, name)
    }

    fn report(&mut self, what: impl Into<String>) {
        self.changes.push(what.into());
    }

    /// Appends a sentence to the instructions.
    fn instruct(&mut self, text: &str) {
        let leading =
            |message: &ChatMessage| matches!(message.role, ChatRole::System | ChatRole::Developer);
        let end = self.request.messages.iter().take_while(|message| leading(message)).count();
        // Responses checks its input, and takes a first system message for the instructions.
        let role = match self.dialect {
            Dialect::OpenAiResponses => ChatRole::Developer,
            Dialect::OpenAiChat | Dialect::Anthropic | Dialect::Gemini => ChatRole::System,
        };
        self.edit().messages.insert(end, ChatMessage::text(role, text));
    }

    /// Whether a text of the conversation contains a word, in any case.
    fn mentions(&self, word: &str) -> bool {
        let skipped = match self.dialect {
            // The instructions do not count.
            Dialect::OpenAiResponses => self.request.leading_system_messages().min(1),
            Dialect::OpenAiChat | Dialect::Anthropic | Dialect::Gemini => 0,
        };
        let parts = self.request.messages[skipped..].iter().flat_map(|message| &message.parts);
        let mut texts = parts.filter_map(MessagePart::as_text);
        texts.any(|text| text.to_ascii_lowercase().contains(word))
    }
}

impl ToolNames {
    /// The client's name of a tool.
    fn own<'n>(&'n self, name: &'n str) -> &'n str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// Restores the client's names in a delta of an answer.
    pub fn restore_in(&self, delta: &mut ResponseDelta) {
        if let ResponseDelta::Open { opening: PartOpening::Call { name, .. }, .. } = delta
            && let Some(own) = self.0.get(name)
        {
            own.clone_into(name);
        }
    }

    /// Restores the client's names in the parts of an answer.
    pub fn restore(&self, parts: &mut [MessagePart]) {
        for part in parts {
            if let PartContent::Call(call) = &mut part.content {
                call.name = self.own(&call.name).to_owned();
            }
        }
    }
}

#[cfg(test)]
mod tests;
