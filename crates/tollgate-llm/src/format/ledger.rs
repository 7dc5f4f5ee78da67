//! Whom a writer writes for, what they are not told, and why it cannot be written at all. Used by
//! the writers of dialects that refuse much.

use crate::conversation::{Content, Request};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::format::lost::Lost;

#[derive(Debug)]
pub struct Ledger {
    toward: Toward,
    refused: Option<Failure>,
}

/// Who reads it. Providers refuse what clients bear.
#[derive(Debug)]
enum Toward {
    Provider(Lost),
    Client,
}

impl Ledger {
    pub fn for_provider(request: &Request, dialect: Dialect) -> Self {
        Self { toward: Toward::Provider(Lost::of(request, dialect)), refused: None }
    }

    /// What has no word is left out, and nobody is told: a client has no place to look for it.
    pub fn for_client() -> Self {
        Self { toward: Toward::Client, refused: None }
    }

    pub fn is_for_client(&self) -> bool {
        matches!(self.toward, Toward::Client)
    }

    pub fn lose(&mut self, what: impl Into<String>) {
        if let Toward::Provider(lost) = &mut self.toward {
            lost.say(what);
        }
    }

    pub fn lose_content(&mut self, content: &Content) {
        if let Toward::Provider(lost) = &mut self.toward {
            lost.content(content);
        }
    }

    /// Keeps the first failure.
    pub fn allow<T>(&mut self, written: Result<T, Failure>) -> Option<T> {
        match written {
            Ok(written) => Some(written),
            Err(failure) => {
                self.refused.get_or_insert(failure);
                None
            }
        }
    }

    /// What was left out; or why nothing can be written at all.
    pub fn finish(self) -> Result<Vec<String>, Failure> {
        match (self.refused, self.toward) {
            (Some(failure), _) => Err(failure),
            (None, Toward::Provider(lost)) => Ok(lost.into_said()),
            (None, Toward::Client) => Ok(Vec::new()),
        }
    }
}
