//! Parses a streamed answer: the steps to display, and the messages for the conversation. Pure.

use serde_json::{Value, json};
use tollgate_core::text::truncate_chars;

use crate::gateway::GatewayEvent;

/// Characters of arguments and results that are shown.
const MAX_SUMMARY_CHARACTERS: usize = 200;

/// A step to display.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChatDisplayStep {
    Text(String),
    /// A tool is called.
    Calling {
        id: String,
        name: String,
        arguments: String,
    },
    Called {
        id: String,
        name: String,
        status: String,
        milliseconds: u64,
    },
    /// Another note beside the answer, as text.
    Note(String),
}

/// A call that waits for approval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ChatToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

#[derive(Debug, Default)]
pub(super) struct StreamedChatAnswer {
    pub(super) text: String,
    pub(super) calls: Vec<ChatToolCall>,
    /// The gateway's report about the turn.
    pub(super) report: Option<Value>,
    /// Why the stream failed.
    pub(super) failed: Option<String>,
}

impl StreamedChatAnswer {
    pub(super) fn hear(&mut self, event: &GatewayEvent) -> Option<ChatDisplayStep> {
        if event.name == "tollgate" {
            return note(&event.data);
        }
        let data = &event.data;
        if let Some(message) = data.pointer("/error/message").and_then(Value::as_str) {
            self.failed = Some(message.to_owned());
            return None;
        }
        if let Some(body) = data.get("tollgate") {
            self.report = Some(body.clone());
        }
        let delta = data.pointer("/choices/0/delta")?;
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call);
        }
        let text = delta["content"].as_str().or(delta["refusal"].as_str());
        let text = text.filter(|text| !text.is_empty())?;
        self.text.push_str(text);
        Some(ChatDisplayStep::Text(text.to_owned()))
    }

    fn call(&mut self, part: &Value) {
        let at = part["index"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
        // Ignore an index that leaves gaps.
        if at > self.calls.len() {
            return;
        }
        if at == self.calls.len() {
            self.calls.push(ChatToolCall::default());
        }
        let call = &mut self.calls[at];
        let more = |text: &mut String, value: &Value| {
            text.push_str(value.as_str().unwrap_or_default());
        };
        more(&mut call.id, &part["id"]);
        more(&mut call.name, &part["function"]["name"]);
        more(&mut call.arguments, &part["function"]["arguments"]);
    }

    /// The messages for the conversation, including executed calls if the gateway reports them.
    pub(super) fn history(&self) -> Vec<Value> {
        let given = self.report.as_ref().and_then(|body| body["history"].as_array());
        given
            .filter(|it| !it.is_empty())
            .cloned()
            .unwrap_or_else(|| self.own().into_iter().collect())
    }

    /// The same for an interrupted answer: calls without results are left out.
    pub(super) fn so_far(&self) -> Option<Value> {
        let answer = json!({"role": "assistant", "content": self.text});
        (!self.text.is_empty()).then_some(answer)
    }

    fn own(&self) -> Option<Value> {
        if self.calls.is_empty() {
            return self.so_far();
        }
        let calls: Vec<Value> = self.calls.iter().map(ChatToolCall::json).collect();
        let mut message = json!({"role": "assistant", "content": null, "tool_calls": calls});
        if !self.text.is_empty() {
            message["content"] = self.text.as_str().into();
        }
        Some(message)
    }
}

impl ChatToolCall {
    /// In the model's format.
    pub(super) fn json(&self) -> Value {
        json!({"id": self.id, "type": "function",
               "function": {"name": self.name, "arguments": self.arguments}})
    }

    /// The message to the model for a call that was not approved.
    pub(super) fn refusal(&self) -> Value {
        json!({"role": "tool", "tool_call_id": self.id,
               "content": "the user denied this call; do not repeat it unless asked"})
    }

    pub(super) fn summary(&self) -> String {
        format!("{} {}", self.name, brief(&self.arguments))
    }
}

fn note(note: &Value) -> Option<ChatDisplayStep> {
    let text = |key: &str| note[key].as_str().unwrap_or_default().to_owned();
    match note["type"].as_str()? {
        "call" => Some(ChatDisplayStep::Calling {
            id: text("id"),
            name: text("name"),
            arguments: text("arguments"),
        }),
        "result" => Some(ChatDisplayStep::Called {
            id: text("id"),
            name: text("name"),
            status: text("status"),
            milliseconds: note["duration_ms"].as_u64().unwrap_or(0),
        }),
        "announcement" => Some(ChatDisplayStep::Note(text("message"))),
        "fallback" => Some(ChatDisplayStep::Note(format!(
            "{} could not answer: {}; asking {}",
            text("from"),
            text("why"),
            text("to")
        ))),
        "progress" => {
            let progress = &note["progress"];
            let message = progress["message"].as_str().map(str::to_owned);
            let done = progress["progress"].as_f64();
            let total = progress["total"].as_f64();
            let share = done.zip(total).map(|(done, total)| format!("{done} of {total}"));
            message.or(share).map(ChatDisplayStep::Note)
        }
        _ => None,
    }
}

/// On one line, truncated.
pub(super) fn brief(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    truncate_chars(&line.join(" "), MAX_SUMMARY_CHARACTERS)
}

#[cfg(test)]
mod tests;
