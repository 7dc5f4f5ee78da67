//! Encoding log of a writer: the target (client or provider), the omitted parts, and the error if
//! the request cannot be encoded. Used by dialects with many restrictions.

use crate::conversation::{ChatRequest, PartContent};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format::encoding_losses::EncodingLosses;

#[derive(Debug)]
pub struct EncodingLog {
    toward: EncodingTarget,
    refused: Option<LlmError>,
}

/// The reader of the output. Providers reject things that clients tolerate.
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

    /// For a client, omissions are not reported: it has no place to look for them.
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

    /// Removes a loss: the field of another dialect could be encoded after all.
    pub fn retract(&mut self, field: &str) {
        if let EncodingTarget::Provider(lost) = &mut self.toward {
            lost.retract(field);
        }
    }

    pub fn lose_content(&mut self, content: &PartContent) {
        if let EncodingTarget::Provider(lost) = &mut self.toward {
            lost.content(content);
        }
    }

    /// Records the first error.
    pub fn allow<T>(&mut self, written: Result<T, LlmError>) -> Option<T> {
        match written {
            Ok(written) => Some(written),
            Err(failure) => {
                self.refused.get_or_insert(failure);
                None
            }
        }
    }

    /// The omissions; or the error if the request cannot be encoded.
    pub fn finish(self) -> Result<Vec<String>, LlmError> {
        match (self.refused, self.toward) {
            (Some(failure), _) => Err(failure),
            (None, EncodingTarget::Provider(lost)) => Ok(lost.into_list()),
            (None, EncodingTarget::Client) => Ok(Vec::new()),
        }
    }
}
