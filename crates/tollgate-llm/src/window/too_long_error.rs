//! Error for a request that fits into no model, with the numbers and advice.

use std::fmt;

use super::WindowCounts;
use crate::error::{LlmError, LlmErrorKind};

/// The models tried, with the counts of each for the minimal set of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextTooLongError {
    /// Keyed by model name.
    pub tried: Vec<(String, WindowCounts)>,
}

impl fmt::Display for ContextTooLongError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((_, first)) = self.tried.first() else {
            return f.write_str("there is no model to ask");
        };
        f.write_str("the request is too long")?;
        for (at, (name, counts)) in self.tried.iter().enumerate() {
            let WindowCounts { window, tools, system, messages, reserved, .. } = *counts;
            let missing = counts.missing();
            f.write_str(if at == 0 { ": " } else { "; " })?;
            write!(
                f,
                "the context window of `{name}` has {window} tokens; tools need {tools}, the \
                 system prompt {system}, messages {messages} and the answer {reserved}: {missing} \
                 too many"
            )?;
        }
        let WindowCounts { tools, system, messages, reserved, .. } = *first;
        let most = tools.max(system).max(messages).max(reserved);
        f.write_str(match most {
            most if most == messages => "; shorten the conversation",
            most if most == tools => "; send or pin fewer tools",
            most if most == system => "; shorten the system prompt",
            _ => "; request fewer output tokens",
        })?;
        f.write_str(", or use a model with a larger context window")
    }
}

impl std::error::Error for ContextTooLongError {}

impl From<ContextTooLongError> for LlmError {
    fn from(refused: ContextTooLongError) -> Self {
        Self::new(LlmErrorKind::TooLong, refused.to_string())
    }
}
