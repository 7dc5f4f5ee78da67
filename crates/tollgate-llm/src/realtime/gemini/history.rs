//! What was said in a session, as far as the transcripts tell: for a connection that cannot resume it.
//! Bounded; the newest lines are kept.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::wire;
use crate::realtime::events::{DialectAction, UtteranceStage};
use crate::realtime::handover::{Speaker, SpokenLine};

/// More would not be told again.
const MAX_BYTES: usize = 64 << 10;
/// A longer line is truncated.
const MAX_LINE_BYTES: usize = 8 << 10;

#[derive(Debug, Default)]
pub(super) struct GeminiHistory {
    lines: VecDeque<SpokenLine>,
    bytes: usize,
}

impl GeminiHistory {
    /// Reads what the state machine has found in a message.
    pub(super) fn note(&mut self, actions: &[DialectAction]) {
        for action in actions {
            match action {
                DialectAction::CallerSpeech { text, form: UtteranceStage::Final } => {
                    self.push(Speaker::Caller, text);
                }
                DialectAction::AgentSpeech(text) => self.push(Speaker::Model, text),
                DialectAction::ToProvider(text) => self.note_result(text),
                _ => {}
            }
        }
    }

    /// An answer to a call, as data.
    pub(super) fn note_result(&mut self, message: &str) {
        if !message.starts_with(r#"{"toolResponse""#) {
            return;
        }
        let message: Value = serde_json::from_str(message).unwrap_or_default();
        let answers = message.pointer("/toolResponse/functionResponses").and_then(Value::as_array);
        for answer in answers.into_iter().flatten() {
            let name = answer["name"].as_str().unwrap_or_default();
            self.push(Speaker::Caller, &wire::words(name, &answer["response"].to_string()));
        }
    }

    pub(super) fn push(&mut self, speaker: Speaker, text: &str) {
        let text = text[..text.floor_char_boundary(MAX_LINE_BYTES)].trim();
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        self.lines.push_back(SpokenLine { speaker, text: text.to_owned() });
        while self.bytes > MAX_BYTES {
            let Some(oldest) = self.lines.pop_front() else { return };
            self.bytes -= oldest.text.len();
        }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = &SpokenLine> {
        self.lines.iter()
    }

    /// Who spoke last.
    pub(super) fn last_speaker(&self) -> Option<Speaker> {
        self.lines.back().map(|line| line.speaker)
    }

    /// The newest lines that fit, as turns; neighbouring lines of one side are one turn.
    pub(super) fn turns(&self, max_bytes: usize) -> Vec<Value> {
        let mut left = max_bytes;
        let fits = |line: &&SpokenLine| match left.checked_sub(line.text.len()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        let mut newest: Vec<&SpokenLine> = self.lines.iter().rev().take_while(fits).collect();
        newest.reverse();
        let turns = newest.chunk_by(|one, next| one.speaker == next.speaker);
        let turn = |lines: &[&SpokenLine]| {
            let role = if lines[0].speaker == Speaker::Caller { "user" } else { "model" };
            let parts: Vec<Value> = lines.iter().map(|line| json!({"text": line.text})).collect();
            json!({"role": role, "parts": parts})
        };
        turns.map(turn).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{GeminiHistory, MAX_BYTES, Speaker};
    use crate::realtime::events::DialectAction;

    #[test]
    fn what_was_said_becomes_turns_and_results_are_data() {
        let mut history = GeminiHistory::default();
        history.push(Speaker::Caller, "Roll.");
        let answer = json!({"toolResponse": {"functionResponses": [
            {"name": "roll", "response": {"output": {"sum": 7}}}]}});
        history.note(&[DialectAction::ToProvider(answer.to_string())]);
        history.push(Speaker::Model, "Seven.");
        let turns = history.turns(1_000);
        assert_eq!(turns.len(), 2);
        assert_eq!(turns[0]["parts"][0]["text"], "Roll.");
        let result = turns[0]["parts"][1]["text"].as_str().unwrap();
        assert!(result.starts_with("[tool result]") && result.contains("\"sum\":7"), "{result}");
        assert_eq!(turns[1], json!({"role": "model", "parts": [{"text": "Seven."}]}));
    }

    #[test]
    fn the_newest_lines_are_kept() {
        let mut history = GeminiHistory::default();
        for number in 0..100 {
            let speaker = if number % 2 == 0 { Speaker::Caller } else { Speaker::Model };
            history.push(speaker, &format!("{number:04} {}", "x".repeat(2_000)));
        }
        assert!(history.bytes <= MAX_BYTES);
        let turns = history.turns(4_100);
        assert_eq!(turns.len(), 2);
        assert!(turns[1]["parts"][0]["text"].as_str().unwrap().starts_with("0099"));
    }
}
