//! Displays an answer while it streams: text on standard output, everything else on standard error,
//! or both as JSON Lines.

use http::HeaderMap;
use serde_json::{Value, json};

use super::answer::{ChatDisplayStep, StreamedChatAnswer, brief};
use crate::output::{Output, OutputFormat, clean, pluralize, span};

pub(super) struct ChatScreen {
    output: Output,
    /// Whether standard output is in the middle of a line.
    is_in_line: bool,
    /// The call whose line is not finished yet.
    waiting: Option<String>,
}

impl ChatScreen {
    pub(super) fn new(output: Output) -> Self {
        Self { output, is_in_line: false, waiting: None }
    }

    /// Prints a complete text.
    pub(super) fn say(&mut self, text: &str) {
        self.show(&ChatDisplayStep::Text(text.to_owned()));
        self.end();
    }

    pub(super) fn show(&mut self, step: &ChatDisplayStep) {
        match self.output.form {
            OutputFormat::Json => self.output.line(&json(step).to_string()),
            OutputFormat::Text => self.tell(step),
        }
    }

    fn tell(&mut self, step: &ChatDisplayStep) {
        match step {
            ChatDisplayStep::Text(text) => {
                self.close_call();
                self.output.raw(&clean(text));
                self.is_in_line = !text.ends_with('\n');
            }
            ChatDisplayStep::Calling { id, name, arguments } => {
                self.end();
                let line = format!("⚙ {name} {} … ", brief(arguments));
                self.output.beside(&clean(&line));
                self.waiting = Some(id.clone());
            }
            ChatDisplayStep::Called { id, name, status, milliseconds } => {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a span of this size has no digits to lose"
                )]
                let took = span(*milliseconds as f64);
                let how = if status == "ok" { took } else { format!("{status}, {took}") };
                if self.waiting.as_deref() == Some(id.as_str()) {
                    self.waiting = None;
                    self.output.beside(&clean(&format!("{how}\n")));
                } else {
                    self.end();
                    self.output.beside(&clean(&format!("⚙ {name} … {how}\n")));
                }
            }
            ChatDisplayStep::Note(text) => {
                self.end();
                self.output.beside(&clean(&format!("{}\n", brief(text))));
            }
        }
    }

    /// Ends unfinished lines.
    pub(super) fn end(&mut self) {
        self.close_call();
        if std::mem::take(&mut self.is_in_line) {
            self.output.raw("\n");
        }
    }

    fn close_call(&mut self) {
        if self.waiting.take().is_some() {
            self.output.beside("\n");
        }
    }

    /// Prints a summary of the answer.
    pub(super) fn sum_up(&mut self, answer: &StreamedChatAnswer, head: &HeaderMap) {
        let header = |name: &str| head.get(name).and_then(|it| it.to_str().ok());
        let tier = header("x-tollgate-tier");
        let reason = header("x-tollgate-tier-reason");
        let body = answer.report.clone().unwrap_or(Value::Null);
        if self.output.form == OutputFormat::Json {
            let line = json!({
                "type": "end",
                "tier": tier,
                "reason": reason,
                "model": header("x-tollgate-model"),
                "ended": body["ended"],
                "calls": body["calls"],
                "pending": answer.calls.iter().map(super::answer::ChatToolCall::json).collect::<Vec<_>>(),
            });
            return self.output.line(&line.to_string());
        }
        let mut parts = Vec::new();
        parts.extend(tier.map(|tier| match reason {
            Some(reason) => format!("{tier}: {reason}"),
            None => tier.to_owned(),
        }));
        let calls = body["calls"].as_array().map_or(0, Vec::len);
        parts.extend((calls > 0).then(|| pluralize(calls, "call")));
        parts.extend(match body["ended"].as_str() {
            Some("max_depth" | "max_calls" | "deadline") => {
                body["ended"].as_str().map(str::to_owned)
            }
            _ => None,
        });
        if !parts.is_empty() {
            self.output.beside(&clean(&format!("({})\n", parts.join("; "))));
        }
    }
}

fn json(step: &ChatDisplayStep) -> Value {
    match step {
        ChatDisplayStep::Text(text) => json!({"type": "text", "text": text}),
        ChatDisplayStep::Calling { id, name, arguments } => {
            json!({"type": "call", "id": id, "name": name, "arguments": arguments})
        }
        ChatDisplayStep::Called { id, name, status, milliseconds } => {
            json!({"type": "result", "id": id, "name": name, "status": status,
                   "duration_ms": milliseconds})
        }
        ChatDisplayStep::Note(text) => json!({"type": "note", "text": text}),
    }
}
