//! The order of OpenAI's events, as a client may rely on it.

use std::collections::HashSet;

use serde_json::Value;

/// Checks each event against those before it.
#[derive(Default)]
pub(super) struct OrderCheck {
    response: Option<String>,
    /// Item of the response that is open.
    item: Option<String>,
    part_open: bool,
    items: HashSet<String>,
    speaking: Option<String>,
    event_ids: HashSet<String>,
    calls: Vec<String>,
    transcribed: HashSet<String>,
}

impl OrderCheck {
    pub(super) fn check(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap();
        let field = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        assert!(self.event_ids.insert(field("event_id")), "{kind}: the id is used twice");
        match kind {
            "input_audio_buffer.speech_started" => {
                assert!(self.speaking.is_none(), "the caller speaks already");
                self.speaking = Some(field("item_id"));
            }
            "input_audio_buffer.speech_stopped" => {
                assert_eq!(self.speaking.take(), Some(field("item_id")), "{kind}");
            }
            "input_audio_buffer.committed" => {
                assert!(!self.items.contains(&field("item_id")), "{kind}: the item is there");
            }
            "conversation.item.added" => {
                let id = event["item"]["id"].as_str().unwrap().to_owned();
                assert!(self.items.insert(id), "{kind}: twice");
            }
            "conversation.item.done" => {
                let id = event["item"]["id"].as_str().unwrap();
                assert!(self.items.contains(id), "{kind}: never added");
            }
            "conversation.item.input_audio_transcription.delta" => {
                assert!(self.items.contains(&field("item_id")), "{kind}: no such item");
                assert!(!self.transcribed.contains(&field("item_id")), "{kind}: complete");
            }
            "conversation.item.input_audio_transcription.completed" => {
                assert!(self.items.contains(&field("item_id")), "{kind}: no such item");
                assert!(self.transcribed.insert(field("item_id")), "{kind}: twice");
            }
            "response.created" => {
                assert!(self.response.is_none(), "two responses at once");
                self.response = Some(event["response"]["id"].as_str().unwrap().to_owned());
            }
            "response.done" => {
                let id = event["response"]["id"].as_str().unwrap().to_owned();
                assert_eq!(self.response.take(), Some(id), "{kind}");
                assert_eq!(self.item, None, "{kind}: an item is open");
                let output = event["response"]["output"].as_array().unwrap();
                self.calls.extend(
                    output
                        .iter()
                        .filter_map(|item| Some(item.get("call_id")?.as_str()?.to_owned())),
                );
            }
            _ if kind.starts_with("response.") => self.check_item(kind, event),
            _ => {}
        }
    }

    fn check_item(&mut self, kind: &str, event: &Value) {
        assert_eq!(self.response.as_deref(), event["response_id"].as_str(), "{kind}");
        match kind {
            "response.output_item.added" => {
                assert_eq!(self.item, None, "{kind}: another item is open");
                self.item = Some(event["item"]["id"].as_str().unwrap().to_owned());
            }
            "response.output_item.done" => {
                assert!(!self.part_open, "{kind}: its part is open");
                assert_eq!(self.item.take().as_deref(), event["item"]["id"].as_str(), "{kind}");
            }
            _ => {
                assert_eq!(self.item.as_deref(), event["item_id"].as_str(), "{kind}");
                match kind {
                    "response.content_part.added" => self.part_open = true,
                    "response.content_part.done" => self.part_open = false,
                    "response.output_audio.delta" | "response.output_text.delta" => {
                        assert!(self.part_open, "{kind}: no part");
                    }
                    _ => {}
                }
            }
        }
    }

    pub(super) fn call(&mut self) -> Option<String> {
        self.calls.pop()
    }
}
