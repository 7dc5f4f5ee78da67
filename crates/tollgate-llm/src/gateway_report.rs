//! Gateway report: what the gateway did to produce an answer. Sent in the `tollgate` field of each
//! dialect's response, and as notes in a stream.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tollgate_core::call::CallStatus;

use crate::conversation::MessageList;

/// Report of a complete answer; in a stream it is in the last event.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayReport {
    pub ended: LoopEnd,
    /// The model that answered last, by its name in the config.
    pub model: String,
    /// Number of model queries.
    pub rounds: u32,
    pub calls: Vec<ExecutedCall>,
    /// Messages for the history in place of the answer, if the history is to contain the calls that
    /// were run here; the answer's own message is last. Empty: no call was run.
    pub history: MessageList,
}

/// Why the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopEnd {
    /// The model finished its answer.
    Answered,
    /// Calls wait for the client.
    CallsPending,
    /// Maximum number of rounds of the agent.
    MaxDepth,
    /// No time left for tools in this turn.
    Deadline,
    /// Maximum number of calls of a turn.
    MaxCalls,
    /// The results do not fit into the model's context window, however short.
    ContextWindow,
    /// A limit on the use of models.
    ModelLimit,
}

impl LoopEnd {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::CallsPending => "calls_pending",
            Self::MaxDepth => "max_depth",
            Self::Deadline => "deadline",
            Self::MaxCalls => "max_calls",
            Self::ContextWindow => "context_window",
            Self::ModelLimit => "model_limit",
        }
    }
}

/// A call that the gateway ran.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutedCall {
    pub id: String,
    pub name: String,
    pub status: CallStatus,
    pub took: Duration,
}

/// A note sent while an answer is produced; not part of the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamNote {
    /// A call starts.
    Calling {
        id: String,
        name: String,
        arguments: String,
    },
    Called(ExecutedCall),
    /// Progress of a tool: its own JSON.
    Progress(Value),
    /// To be read to the user while a slow tool runs.
    Announcement(String),
    /// Another model is queried, because the previous one could not answer.
    Fallback {
        from: String,
        to: String,
        why: String,
    },
    /// Parts of the request that the provider's dialect cannot express and that were omitted.
    Lost(Vec<String>),
}

impl GatewayReport {
    /// The report as JSON. `history` is in the dialect of the reader.
    pub fn json(&self, history: Value) -> Value {
        let mut lines = Map::new();
        lines.insert("ended".to_owned(), self.ended.as_str().into());
        lines.insert("model".to_owned(), self.model.as_str().into());
        lines.insert("rounds".to_owned(), self.rounds.into());
        let calls: Vec<Value> = self.calls.iter().map(ExecutedCall::json).collect();
        lines.insert("calls".to_owned(), calls.into());
        if !self.history.is_empty() {
            lines.insert("history".to_owned(), history);
        }
        Value::Object(lines)
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
                let mut answer = ran.json();
                answer["type"] = "result".into();
                answer
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
