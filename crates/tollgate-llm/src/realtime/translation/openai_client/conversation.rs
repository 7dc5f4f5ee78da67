//! Items of the conversation as the client knows them: their order, and what it may refer to.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::events::{EventRefusal, EventWriter};

/// Older items are forgotten; clients refer to recent ones.
const MAX_ITEMS: usize = 512;
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct ConversationItems {
    items: VecDeque<ConversationItem>,
    bytes: usize,
}

#[derive(Debug)]
struct ConversationItem {
    id: String,
    item: Value,
    bytes: usize,
    /// Milliseconds of audio that the client got.
    spoken_ms: Option<u64>,
}

impl ConversationItems {
    /// Adds an item at the end. Returns the id of the one before.
    pub(super) fn push(&mut self, item: Value) -> Option<String> {
        let id = text(&item, "id").to_owned();
        let previous = self.last().map(str::to_owned);
        let bytes = item.to_string().len();
        self.bytes += bytes;
        self.items.push_back(ConversationItem { id, item, bytes, spoken_ms: None });
        while self.items.len() > MAX_ITEMS || (self.bytes > MAX_BYTES && self.items.len() > 1) {
            if let Some(old) = self.items.pop_front() {
                self.bytes -= old.bytes;
            }
        }
        previous
    }

    /// Adds an item, and reports it.
    pub(super) fn add(&mut self, item: &Value, events: &mut EventWriter, out: &mut Vec<String>) {
        let previous = self.push(item.clone());
        let fields = json!({"item": item, "previous_item_id": previous});
        out.push(events.write("conversation.item.added", fields));
    }

    /// The item is complete: replaces and reports it.
    pub(super) fn finish(&mut self, item: &Value, events: &mut EventWriter, out: &mut Vec<String>) {
        let id = text(item, "id").to_owned();
        let at = self.items.iter().position(|known| known.id == id);
        let previous = at.and_then(|at| at.checked_sub(1)).map(|at| self.items[at].id.clone());
        if let Some(at) = at {
            let bytes = item.to_string().len();
            self.bytes = self.bytes + bytes - self.items[at].bytes;
            self.items[at].bytes = bytes;
            self.items[at].item.clone_from(item);
        }
        let fields = json!({"item": item, "previous_item_id": previous});
        out.push(events.write("conversation.item.done", fields));
    }

    /// Both at once, for an item that is complete from the beginning.
    pub(super) fn add_whole(
        &mut self,
        item: &Value,
        events: &mut EventWriter,
        out: &mut Vec<String>,
    ) {
        self.add(item, events, out);
        self.finish(item, events, out);
    }

    pub(super) fn list(&self) -> Vec<Value> {
        self.items.iter().map(|known| known.item.clone()).collect()
    }

    /// The newest item for which this holds.
    pub(super) fn find(&self, is_it: impl Fn(&Value) -> bool) -> Option<&Value> {
        self.items.iter().rev().map(|known| &known.item).find(|item| is_it(item))
    }

    pub(super) fn last(&self) -> Option<&str> {
        self.items.back().map(|item| item.id.as_str())
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.items.iter().any(|item| item.id == id)
    }

    pub(super) fn set_spoken(&mut self, id: &str, millis: u64) {
        if let Some(item) = self.items.iter_mut().find(|item| item.id == id) {
            item.spoken_ms = Some(millis);
        }
    }

    /// Records the transcript of an utterance.
    pub(super) fn set_transcript(&mut self, id: &str, transcript: &str) {
        if let Some(item) = self.items.iter_mut().find(|item| item.id == id) {
            item.item["content"][0]["transcript"] = transcript.into();
        }
    }

    pub(super) fn retrieve(&self, id: &str) -> Result<&Value, EventRefusal> {
        self.items
            .iter()
            .find(|item| item.id == id)
            .map(|item| &item.item)
            .ok_or_else(|| unknown_item("item_retrieve_invalid_item_id", id))
    }

    /// The client has played only a part of an item.
    pub(super) fn truncate(&mut self, id: &str, audio_end_ms: u64) -> Result<(), EventRefusal> {
        let item = self
            .items
            .iter_mut()
            .find(|item| item.id == id)
            .ok_or_else(|| unknown_item("item_truncate_invalid_item_id", id))?;
        let Some(spoken_ms) = item.spoken_ms else {
            return Err(EventRefusal::new(
                "unsupported_content_type",
                "Only model output audio messages can be truncated",
            ));
        };
        if audio_end_ms > spoken_ms {
            return Err(EventRefusal::of(
                "audio_end_ms",
                "invalid_value",
                format!("Audio content of {spoken_ms}ms is already shorter than {audio_end_ms}ms"),
            ));
        }
        item.spoken_ms = Some(audio_end_ms);
        if let Some(part) = item.item.pointer_mut("/content/0").and_then(Value::as_object_mut) {
            part.remove("transcript");
        }
        Ok(())
    }

    /// Removes an item that the model has not got.
    pub(super) fn remove(&mut self, id: &str) {
        if let Some(at) = self.items.iter().position(|item| item.id == id)
            && let Some(item) = self.items.remove(at)
        {
            self.bytes -= item.bytes;
        }
    }
}

pub(super) fn unknown_item(code: &'static str, id: &str) -> EventRefusal {
    let id = tollgate_core::text::truncate_chars(id, 64);
    EventRefusal::of("item_id", code, format!("Item with item_id not found: {id}"))
}

/// A text field; empty if it is missing.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
