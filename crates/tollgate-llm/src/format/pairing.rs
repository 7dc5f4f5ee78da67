//! Pairs calls with results while a client's messages are read: each result answers one earlier
//! call, once. Used by the request readers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tollgate_core::text::truncate_chars;

use crate::conversation::{CallResult, ChatRole, FunctionCall};
use crate::error::{LlmError, MAX_QUOTED_CHARS};

/// The calls so far.
#[derive(Debug, Default)]
pub struct CallPairing {
    calls: HashMap<String, TrackedCall>,
    made: usize,
    /// Ids of calls without a result, oldest first.
    open: BTreeMap<usize, String>,
    /// The same calls, by tool name.
    named: HashMap<String, BTreeSet<usize>>,
    last: Option<ChatRole>,
}

#[derive(Debug)]
struct TrackedCall {
    name: String,
    at: String,
    number: usize,
    answered: bool,
}

impl CallPairing {
    /// An id may be reused once its call has a result: some models count from 0 in every turn.
    pub fn call(&mut self, call: &FunctionCall, at: &str) -> Result<(), LlmError> {
        let number = self.made;
        self.made += 1;
        self.open.insert(number, call.id.clone());
        self.named.entry(call.name.clone()).or_default().insert(number);
        let made =
            TrackedCall { name: call.name.clone(), at: at.to_owned(), number, answered: false };
        match self.calls.insert(call.id.clone(), made) {
            Some(before) if !before.answered => {
                let id = brief(&call.id);
                let first = before.at;
                Err(LlmError::invalid(
                    at,
                    format!("`{at}`: call id `{id}` is already used by `{first}`"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Matches a result to its call, and sets its tool name.
    pub fn result(&mut self, result: &mut CallResult, at: &str) -> Result<(), LlmError> {
        let id = brief(&result.call_id);
        match self.calls.get_mut(&result.call_id) {
            None => {
                let message = format!("`{at}`: no call before it has the id `{id}`");
                Err(LlmError::invalid(at, message))
            }
            Some(made) if made.answered => {
                Err(LlmError::invalid(at, format!("`{at}`: call `{id}` already has its result")))
            }
            Some(made) => {
                made.answered = true;
                self.open.remove(&made.number);
                if let Some(open) = self.named.get_mut(&made.name) {
                    open.remove(&made.number);
                }
                result.name.get_or_insert_with(|| made.name.clone());
                Ok(())
            }
        }
    }

    pub fn knows(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// Id of the oldest call of this tool that has no result yet.
    pub fn open_for(&self, name: &str) -> Option<&str> {
        let oldest = self.named.get(name)?.first()?;
        self.open.get(oldest).map(String::as_str)
    }

    /// Starts a message of this role. After a user message, the assistant may continue only if
    /// every call has its result; before that it may make more calls, one message each.
    pub fn turn(&mut self, role: ChatRole) -> Result<(), LlmError> {
        match (self.last.replace(role), role) {
            (Some(ChatRole::User), ChatRole::Assistant) => self.check_all_answered(),
            _ => Ok(()),
        }
    }

    /// Checks that every call has its result, for dialects that require it.
    pub fn check_all_answered(&self) -> Result<(), LlmError> {
        let oldest = self.open.values().next();
        let Some((id, made)) = oldest.and_then(|id| self.calls.get_key_value(id)) else {
            return Ok(());
        };
        let at = &made.at;
        let id = brief(id);
        let message = format!("`{at}`: call `{id}` has no result in the message that follows");
        Err(LlmError::invalid(at.clone(), message))
    }
}

fn brief(id: &str) -> String {
    truncate_chars(id, MAX_QUOTED_CHARS)
}

#[cfg(test)]
mod tests;
