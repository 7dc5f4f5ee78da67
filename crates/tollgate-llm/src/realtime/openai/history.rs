//! The conversation as far as it can be told again to a connection that knows nothing of it: items
//! in order, with their ids and texts. Bounded; the newest are kept.

use std::collections::{HashSet, VecDeque};

use serde_json::{Value, json};
use tollgate_core::json::Object;

use crate::realtime::handover::{ClientToolCall, Speaker, SpokenLine, describe_result};

/// Items and bytes that are remembered. More would not be told again.
const MAX_ITEMS: usize = 512;
const MAX_BYTES: usize = 64 << 10;
/// A longer text is truncated.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// Follows the words of an answer that the caller did not hear to its end.
const INTERRUPTED: &str = " [interrupted]";

#[derive(Default)]
pub(super) struct ConversationHistory {
    items: VecDeque<HistoryItem>,
    bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct HistoryItem {
    id: String,
    content: HistoryContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HistoryContent {
    Message {
        role: String,
        text: String,
        is_interrupted: bool,
    },
    /// `None`: the provider has not reported all of its arguments.
    Call {
        call_id: String,
        name: String,
        arguments: Option<String>,
    },
    Output {
        call_id: String,
        output: String,
    },
}

impl ConversationHistory {
    /// Adds an item as the provider or the gateway wrote it, or updates it.
    pub(super) fn note(&mut self, item: &Object<'_>, after: Option<&str>) {
        let Some(id) = item.string("id").map(String::from) else { return };
        let Some(content) = HistoryContent::read(item) else { return };
        match self.items.iter().position(|known| known.id == id) {
            Some(at) => self.update(at, content),
            None => self.insert(HistoryItem { id, content }, after),
        }
    }

    /// The words of a spoken message are known.
    pub(super) fn set_text(&mut self, id: &str, words: &str) {
        self.change(id, |content| {
            if let HistoryContent::Message { text, .. } = content {
                *text = truncate(words);
            }
        });
    }

    /// An answer was cut off after these words.
    pub(super) fn interrupt(&mut self, id: &str, words: Option<&str>) {
        self.change(id, |content| {
            if let HistoryContent::Message { text, is_interrupted, .. } = content {
                *is_interrupted = true;
                if let Some(words) = words {
                    *text = truncate(words);
                }
            }
        });
    }

    pub(super) fn remove(&mut self, id: &str) {
        let Some(at) = self.items.iter().position(|known| known.id == id) else { return };
        if let Some(removed) = self.items.remove(at) {
            self.bytes -= removed.bytes();
        }
    }

    /// Whether the words of this message are known.
    pub(super) fn has_text(&self, id: &str) -> bool {
        self.items.iter().any(|item| {
            item.id == id
                && matches!(&item.content, HistoryContent::Message { text, .. } if !text.is_empty())
        })
    }

    /// The item as it can be shown to the client.
    pub(super) fn item(&self, id: &str) -> Option<Value> {
        self.items.iter().find(|item| item.id == id)?.to_json()
    }

    /// The newest items that fit, and in any case calls without an output: their results are still
    /// to come. `audio` stands for the words of one message that are not known.
    pub(super) fn tell(&self, max_bytes: usize, audio: Option<(&str, &str)>) -> Vec<Value> {
        let answered: HashSet<&str> = self.items.iter().filter_map(HistoryItem::answers).collect();
        let mut replay = Vec::new();
        let mut calls = HashSet::new();
        let mut bytes = 0_usize;
        let mut is_full = false;
        for item in self.items.iter().rev() {
            let is_open = item.calls().is_some_and(|call_id| !answered.contains(call_id));
            bytes += item.bytes();
            is_full |= bytes > max_bytes;
            if is_full && !is_open {
                continue;
            }
            let spoken = audio.filter(|(id, _)| *id == item.id);
            let written = spoken.map(|(_, audio)| spoken_item(&item.id, audio));
            let Some(written) = item.to_json().or(written) else { continue };
            calls.extend(item.calls());
            replay.push(written);
        }
        replay.reverse();
        // An output whose call does not fit would be refused.
        replay.retain(|item| {
            let of = item["call_id"].as_str().filter(|_| item["type"] == "function_call_output");
            of.is_none_or(|call_id| calls.contains(call_id))
        });
        replay
    }

    /// What was said, as text; results are data. `is_hidden`: an item that is only ours.
    pub(super) fn lines(&self, is_hidden: impl Fn(&str) -> bool) -> Vec<SpokenLine> {
        let line = |item: &HistoryItem| match &item.content {
            HistoryContent::Message { role, text, is_interrupted } if !text.is_empty() => {
                let end = if *is_interrupted { INTERRUPTED } else { "" };
                let (speaker, text) = match role.as_str() {
                    "assistant" => (Speaker::Model, format!("{text}{end}")),
                    "system" if is_hidden(&item.id) => return None,
                    "system" => (Speaker::Caller, format!("[instructions] {text}")),
                    _ => (Speaker::Caller, text.clone()),
                };
                Some(SpokenLine { speaker, text })
            }
            HistoryContent::Output { call_id, output } => {
                Some(SpokenLine::caller(describe_output(self.call_name(call_id), output)))
            }
            HistoryContent::Message { .. } | HistoryContent::Call { .. } => None,
        };
        self.items.iter().filter_map(line).collect()
    }

    /// Calls without an output.
    pub(super) fn open_calls(&self) -> impl Iterator<Item = ClientToolCall> {
        let answered: HashSet<&str> = self.items.iter().filter_map(HistoryItem::answers).collect();
        self.items.iter().filter_map(move |item| match &item.content {
            HistoryContent::Call { call_id, name, arguments: Some(arguments) }
                if !answered.contains(call_id.as_str()) =>
            {
                let id = call_id.clone();
                Some(ClientToolCall { id, name: name.clone(), arguments: arguments.clone() })
            }
            _ => None,
        })
    }

    /// The name of the tool that was called; empty if the call is not known.
    pub(super) fn call_name(&self, of: &str) -> &str {
        let name = self.items.iter().find_map(|item| match &item.content {
            HistoryContent::Call { call_id, name, .. } if call_id == of => Some(name.as_str()),
            _ => None,
        });
        name.unwrap_or_default()
    }

    fn change(&mut self, id: &str, change: impl FnOnce(&mut HistoryContent)) {
        let Some(item) = self.items.iter_mut().rev().find(|known| known.id == id) else { return };
        self.bytes -= item.bytes();
        change(&mut item.content);
        self.bytes += item.bytes();
        self.forget();
    }

    fn update(&mut self, at: usize, content: HistoryContent) {
        let item = &mut self.items[at];
        let before = item.bytes();
        item.content.update(content);
        self.bytes = self.bytes - before + item.bytes();
        self.forget();
    }

    fn insert(&mut self, item: HistoryItem, after: Option<&str>) {
        let before = after.and_then(|id| self.items.iter().rposition(|known| known.id == id));
        let at = before.map_or(self.items.len(), |at| at + 1);
        self.bytes += item.bytes();
        self.items.insert(at, item);
        self.forget();
    }

    fn forget(&mut self) {
        while self.items.len() > MAX_ITEMS || (self.bytes > MAX_BYTES && self.items.len() > 1) {
            let Some(oldest) = self.items.pop_front() else { return };
            self.bytes -= oldest.bytes();
        }
    }
}

impl HistoryItem {
    fn bytes(&self) -> usize {
        let content = match &self.content {
            HistoryContent::Message { text, .. } => text.len(),
            HistoryContent::Call { name, arguments, .. } => {
                name.len() + arguments.as_ref().map_or(0, String::len)
            }
            HistoryContent::Output { output, .. } => output.len(),
        };
        self.id.len() + content
    }

    /// The id of the call that this is.
    fn calls(&self) -> Option<&str> {
        match &self.content {
            HistoryContent::Call { call_id, arguments: Some(_), .. } => Some(call_id),
            _ => None,
        }
    }

    /// The id of the call that this answers.
    fn answers(&self) -> Option<&str> {
        match &self.content {
            HistoryContent::Output { call_id, .. } => Some(call_id),
            _ => None,
        }
    }

    /// `None`: its content is not known.
    fn to_json(&self) -> Option<Value> {
        let id = &self.id;
        Some(match &self.content {
            HistoryContent::Message { role, text, is_interrupted } => {
                if text.is_empty() {
                    return None;
                }
                let kind = if role == "assistant" { "output_text" } else { "input_text" };
                let end = if *is_interrupted { INTERRUPTED } else { "" };
                let content = json!([{ "type": kind, "text": format!("{text}{end}") }]);
                json!({ "id": id, "type": "message", "role": role, "content": content })
            }
            HistoryContent::Call { call_id, name, arguments } => json!({
                "id": id, "type": "function_call", "call_id": call_id, "name": name,
                "arguments": arguments.as_ref()?,
            }),
            HistoryContent::Output { call_id, output } => json!({
                "id": id, "type": "function_call_output", "call_id": call_id, "output": output,
            }),
        })
    }
}

impl HistoryContent {
    fn read(item: &Object<'_>) -> Option<Self> {
        let text = |key: &str| item.string(key).map(String::from);
        Some(match item.string("type").as_deref()? {
            "message" => {
                Self::Message { role: text("role")?, text: words_of(item), is_interrupted: false }
            }
            "function_call" => {
                let is_whole = item.string("status").is_none_or(|status| status == "completed");
                let arguments = text("arguments").filter(|it| is_whole && !it.is_empty());
                let arguments = arguments.filter(|it| it.len() <= MAX_TEXT_BYTES);
                Self::Call { call_id: text("call_id")?, name: text("name")?, arguments }
            }
            "function_call_output" => {
                Self::Output { call_id: text("call_id")?, output: truncate(&text("output")?) }
            }
            _ => return None,
        })
    }

    /// What was known and is not repeated stays.
    fn update(&mut self, newer: Self) {
        match (self, newer) {
            (Self::Message { text, .. }, Self::Message { text: newer, .. }) => {
                if !newer.is_empty() {
                    *text = newer;
                }
            }
            (Self::Call { arguments, .. }, Self::Call { arguments: newer, .. }) => {
                if newer.is_some() {
                    *arguments = newer;
                }
            }
            (before, newer) => *before = newer,
        }
    }
}

pub(super) fn describe_output(name: &str, output: &str) -> String {
    let result = serde_json::from_str(output).unwrap_or_else(|_| output.into());
    describe_result(name, &result)
}

fn words_of(item: &Object<'_>) -> String {
    let content = item.get("content").and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let parts = content.as_ref().and_then(Value::as_array).into_iter().flatten();
    let words = parts.filter_map(|part| {
        let words = part["transcript"].as_str().or(part["text"].as_str());
        words.filter(|words| !words.is_empty())
    });
    truncate(&words.collect::<Vec<_>>().join("\n"))
}

fn spoken_item(id: &str, audio: &str) -> Value {
    let content = json!([{ "type": "input_audio", "audio": audio }]);
    json!({ "id": id, "type": "message", "role": "user", "content": content })
}

fn truncate(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tollgate_core::json::Object;

    use super::{ConversationHistory, MAX_BYTES};

    fn note(history: &mut ConversationHistory, item: &Value, after: Option<&str>) {
        let text = item.to_string();
        history.note(&Object::parse(&text).unwrap(), after);
    }

    fn message(id: &str, role: &str, text: &str) -> Value {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        let content =
            if text.is_empty() { json!([]) } else { json!([{"type": kind, "text": text}]) };
        json!({"id": id, "type": "message", "role": role, "content": content})
    }

    fn call(id: &str, arguments: &str) -> Value {
        json!({"id": format!("i_{id}"), "type": "function_call", "call_id": id, "name": "roll",
            "arguments": arguments, "status": "completed"})
    }

    fn output(id: &str, output: &str) -> Value {
        json!({"id": format!("o_{id}"), "type": "function_call_output", "call_id": id,
            "output": output})
    }

    fn ids(history: &ConversationHistory, max_bytes: usize) -> Vec<String> {
        let items = history.tell(max_bytes, None);
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn what_was_said_is_told_in_order_with_its_ids() {
        let mut history = ConversationHistory::default();
        note(&mut history, &message("u1", "user", ""), None);
        note(&mut history, &message("a1", "assistant", ""), Some("u1"));
        history.set_text("u1", "Who is there?");
        history.interrupt("a1", Some("It is"));
        note(&mut history, &message("s1", "system", "Be brief."), Some("u1"));
        let items = history.tell(1_000, None);
        let expected = [
            message("u1", "user", "Who is there?"),
            message("s1", "system", "Be brief."),
            message("a1", "assistant", "It is [interrupted]"),
        ];
        assert_eq!(items, expected);
    }

    #[test]
    fn the_newest_are_kept_and_a_call_that_still_runs_always() {
        let mut history = ConversationHistory::default();
        note(&mut history, &call("old", "{}"), None);
        note(&mut history, &output("old", "done"), None);
        note(&mut history, &call("runs", "{}"), None);
        for number in 0..10 {
            note(&mut history, &message(&format!("u{number}"), "user", &"x".repeat(100)), None);
        }
        assert_eq!(ids(&history, 320), ["i_runs", "u7", "u8", "u9"]);
    }

    #[test]
    fn an_output_is_not_told_without_its_call() {
        let mut history = ConversationHistory::default();
        note(&mut history, &call("old", &"x".repeat(500)), None);
        note(&mut history, &output("old", "done"), None);
        let replay = history.tell(100, None);
        assert!(replay.is_empty(), "{replay:?}");
    }

    #[test]
    fn a_call_whose_arguments_are_not_complete_is_not_told() {
        let mut history = ConversationHistory::default();
        note(&mut history, &call("c", ""), None);
        assert!(history.tell(1_000, None).is_empty());
        note(&mut history, &call("c", "{}"), None);
        assert_eq!(ids(&history, 1_000), ["i_c"]);
    }

    #[test]
    fn words_that_nobody_wrote_down_are_told_as_audio() {
        let mut history = ConversationHistory::default();
        note(&mut history, &message("u1", "user", ""), None);
        assert!(history.tell(1_000, None).is_empty());
        let replay = history.tell(1_000, Some(("u1", "AAAA")));
        assert_eq!(replay[0]["content"][0], json!({"type": "input_audio", "audio": "AAAA"}));
    }

    #[test]
    fn it_is_bounded() {
        let mut history = ConversationHistory::default();
        for number in 0..2_000 {
            note(&mut history, &message(&format!("u{number}"), "user", &"x".repeat(999)), None);
        }
        assert!(history.bytes <= MAX_BYTES, "{}", history.bytes);
        history.remove("u1999");
        assert_eq!(ids(&history, 2_100), ["u1997", "u1998"]);
    }
}
