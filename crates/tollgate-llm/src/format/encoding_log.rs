//! Whom a writer writes for, what they are not told, and why it cannot be written at all. Used by
//! the writers of dialects that refuse much.

use crate::conversation::{ChatRequest, PartContent};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::encoding_losses::EncodingLosses;

#[derive(Debug)]
pub struct EncodingLog {
    toward: EncodingTarget,
    refused: Option<LlmError>,
}

/// Who reads it. Providers refuse what clients bear.
#[derive(Debug)]
enum EncodingTarget {
    Provider(EncodingLosses),
    Client,
}

impl EncodingLog {
    pub fn for_provider(request: &ChatRequest, dialect: Dialect) -> Self {
        Self {
            toward: EncodingTarget::Provider(EncodingLosses::of(request, dialect)),
            refused: None,
        }
    }

    /// What has no word is left out, and nobody is told: a client has no place to look for it.
    pub fn for_client() -> Self {
        Self { toward: EncodingTarget::Client, refused: None }
    }

    pub fn is_for_client(&self) -> bool {
        matches!(self.toward, EncodingTarget::Client)
    }

    pub fn lose(&mut self, what: impl Into<String>) {
        if let EncodingTarget::Provider(lost) = &mut self.toward {
            lost.say(what);
        }
    }

    pub fn lose_content(&mut self, content: &PartContent) {
        if let EncodingTarget::Provider(lost) = &mut self.toward {
            lost.content(content);
        }
    }

    /// Keeps the first failure.
    pub fn allow<T>(&mut self, written: Result<T, LlmError>) -> Option<T> {
        match written {
            Ok(written) => Some(written),
            Err(failure) => {
                self.refused.get_or_insert(failure);
                None
            }
        }
    }

    /// What was left out; or why nothing can be written at all.
    pub fn finish(self) -> Result<Vec<String>, LlmError> {
        match (self.refused, self.toward) {
            (Some(failure), _) => Err(failure),
            (None, EncodingTarget::Provider(lost)) => Ok(lost.into_list()),
            (None, EncodingTarget::Client) => Ok(Vec::new()),
        }
    }
}
