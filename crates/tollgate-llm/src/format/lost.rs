//! Collects what a dialect has no words for while a request is written in it. Used by every
//! dialect's writer; what was collected is told to the client.

use crate::conversation::{Message, Request, Tool};
use crate::dialect::Dialect;
use crate::extra::Extra;

/// What was left out of one request, each thing once.
#[derive(Debug)]
pub struct Lost {
    dialect: Dialect,
    said: Vec<String>,
}

/// Fields that the front serves itself, whoever the provider is.
const SERVED: &[&str] = &["stream_options", "function_call", "max_tokens"];

impl Lost {
    /// Begins with the fields that only other dialects know, wherever they stand.
    pub fn of(request: &Request, dialect: Dialect) -> Self {
        let mut lost = Self { dialect, said: Vec::new() };
        lost.fields(&request.extra);
        for message in &request.messages {
            lost.message(message);
        }
        for tool in &request.tools {
            if let Tool::Function(function) = tool {
                lost.fields(&function.extra);
            }
        }
        lost
    }

    pub fn say(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.said.contains(&what) {
            self.said.push(what);
        }
    }

    pub fn into_said(self) -> Vec<String> {
        self.said
    }

    fn message(&mut self, message: &Message) {
        self.fields(&message.extra);
        for part in &message.parts {
            self.fields(&part.extra);
        }
    }

    fn fields(&mut self, extra: &Extra) {
        for field in extra.foreign_to(self.dialect) {
            if !SERVED.contains(&field) {
                self.say(format!("field `{field}`"));
            }
        }
    }
}
