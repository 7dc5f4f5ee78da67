//! What the gateway did on the way to an answer, told beside it: the `tollgate` field of each
//! dialect's answer, and notes in a stream.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tollgate_core::call::CallStatus;

use crate::conversation::ChatMessage;

/// Beside a whole answer, and in the last event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayReport {
    pub ended: LoopEnd,
    /// Who answered last, by the name in the config.
    pub model: String,
    /// How often a model was asked.
    pub rounds: u32,
    pub calls: Vec<ExecutedCall>,
    /// What goes into the history in place of the answer, if it is to hold the calls that were run
    /// here: the answer's own message last. Empty: no call was run.
    pub history: Vec<ChatMessage>,
}

/// Why the loop came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopEnd {
    /// The model was done.
    Answered,
    /// Calls wait for the client.
    CallsPending,
    /// As many rounds as the agent may take.
    MaxDepth,
    /// The tools of this turn had no time left.
    Deadline,
    /// As many calls as a turn may make.
    MaxCalls,
}

impl LoopEnd {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::CallsPending => "calls_pending",
            Self::MaxDepth => "max_depth",
            Self::Deadline => "deadline",
            Self::MaxCalls => "max_calls",
        }
    }
}

/// A call that was run here.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutedCall {
    pub id: String,
    pub name: String,
    pub status: CallStatus,
    pub took: Duration,
}

/// Something that is said while an answer is made, and is no part of it.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamNote {
    /// A call begins.
    Calling {
        id: String,
        name: String,
        arguments: String,
    },
    Called(ExecutedCall),
    /// A tool says how far it is: its own JSON.
    Progress(Value),
    /// For the user's ears while a tool takes its time.
    Announcement(String),
    /// Another model is asked, since the one before could not answer.
    Fallback {
        from: String,
        to: String,
        why: String,
    },
    /// What the provider's dialect has no words for and was left out.
    Lost(Vec<String>),
}

impl GatewayReport {
    /// As JSON. `history` in the dialect of whoever reads it.
    pub fn json(&self, history: Value) -> Value {
        let mut told = Map::new();
        told.insert("ended".to_owned(), self.ended.as_str().into());
        told.insert("model".to_owned(), self.model.as_str().into());
        told.insert("rounds".to_owned(), self.rounds.into());
        let calls: Vec<Value> = self.calls.iter().map(ExecutedCall::json).collect();
        told.insert("calls".to_owned(), calls.into());
        if !self.history.is_empty() {
            told.insert("history".to_owned(), history);
        }
        Value::Object(told)
    }
}

impl ExecutedCall {
    pub fn json(&self) -> Value {
        let ms = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        json!({"id": self.id, "name": self.name, "status": self.status.as_str(), "duration_ms": ms})
    }
}

impl StreamNote {
    pub fn json(&self) -> Value {
        match self {
            Self::Calling { id, name, arguments } => {
                json!({"type": "call", "id": id, "name": name, "arguments": arguments})
            }
            Self::Called(ran) => {
                let mut said = ran.json();
                said["type"] = "result".into();
                said
            }
            Self::Progress(progress) => json!({"type": "progress", "progress": progress}),
            Self::Announcement(message) => json!({"type": "announcement", "message": message}),
            Self::Fallback { from, to, why } => {
                json!({"type": "fallback", "from": from, "to": to, "why": why})
            }
            Self::Lost(lost) => json!({"type": "lost", "lost": lost}),
        }
    }
}
