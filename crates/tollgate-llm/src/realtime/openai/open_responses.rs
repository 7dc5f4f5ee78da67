//! Responses that the client has seen begin and not end, so that they can be ended for it when
//! their connection is gone. Each event that a client waits for is sent once, in order.

use serde_json::{Map, Value, json};
use tollgate_core::json::{self, Object};

/// A provider has one response in the conversation, and few beside it.
const MAX_OPEN_RESPONSES: usize = 16;
/// Items and parts of one response. More are not ended one by one.
const MAX_OPEN_ITEMS: usize = 64;

#[derive(Default)]
pub(super) struct OpenResponses {
    responses: Vec<OpenResponse>,
}

struct OpenResponse {
    id: String,
    response: Map<String, Value>,
    /// Items that ended.
    output: Vec<Value>,
    items: Vec<OpenItem>,
}

struct OpenItem {
    id: String,
    index: Value,
    item: Map<String, Value>,
    parts: Vec<OpenPart>,
}

struct OpenPart {
    index: Value,
    /// `audio` or `text`.
    kind: String,
    text: String,
}

/// What is left of the responses of a connection that is gone.
#[derive(Default)]
pub(super) struct EndedResponses {
    /// Events for the client, without event ids.
    pub(super) events: Vec<Value>,
    /// Items that were cut off, and their words so far.
    pub(super) cut_off: Vec<(String, String)>,
}

impl OpenResponses {
    /// Reads an event that the client has seen.
    pub(super) fn note(&mut self, kind: &str, text: &str) {
        match kind {
            "response.created" => self.begin(text),
            "response.done" => {
                let id = Object::parse(text)
                    .ok()
                    .and_then(|event| event.object("response")?.string("id").map(String::from));
                self.responses.retain(|open| Some(&open.id) != id.as_ref());
            }
            "response.output_item.added"
            | "response.output_item.done"
            | "response.content_part.added"
            | "response.content_part.done"
            | "response.output_audio_transcript.delta"
            | "response.output_text.delta" => self.note_part(kind, text),
            _ => {}
        }
    }

    fn begin(&mut self, text: &str) {
        let Ok(event) = Object::parse(text) else { return };
        let Some(raw) = event.get("response") else { return };
        let Ok(Value::Object(response)) = json::value(raw.get()) else { return };
        let Some(id) = response.get("id").and_then(Value::as_str).map(str::to_owned) else {
            return;
        };
        if self.responses.len() == MAX_OPEN_RESPONSES {
            self.responses.remove(0);
        }
        let output = Vec::new();
        self.responses.push(OpenResponse { id, response, output, items: Vec::new() });
    }

    fn note_part(&mut self, kind: &str, text: &str) {
        if self.responses.is_empty() {
            return;
        }
        let Ok(event) = Object::parse(text) else { return };
        let Some(response_id) = event.string("response_id") else { return };
        let Some(open) = self.responses.iter_mut().find(|open| open.id == response_id) else {
            return;
        };
        let value = |key: &str| event.get(key).and_then(|raw| json::value(raw.get()).ok());
        match kind {
            "response.output_item.added" => {
                if let Some(Value::Object(item)) = value("item") {
                    open.begin_item(item, value("output_index").unwrap_or_default());
                }
            }
            "response.output_item.done" => {
                if let Some(item) = value("item") {
                    open.items.retain(|known| item["id"] != known.id.as_str());
                    if open.output.len() < MAX_OPEN_ITEMS {
                        open.output.push(item);
                    }
                }
            }
            _ => {
                let item_id = event.string("item_id").unwrap_or_default();
                let index = value("content_index").unwrap_or_default();
                let Some(item) = open.items.iter_mut().find(|item| item.id == item_id) else {
                    return;
                };
                item.note_part(kind, index, &event);
            }
        }
    }

    /// Ends all of them: events for the client.
    pub(super) fn end(&mut self) -> EndedResponses {
        let mut ended = EndedResponses::default();
        for open in std::mem::take(&mut self.responses) {
            open.end(&mut ended);
        }
        ended
    }
}

impl OpenResponse {
    fn begin_item(&mut self, item: Map<String, Value>, index: Value) {
        let Some(id) = item.get("id").and_then(Value::as_str).map(str::to_owned) else { return };
        if self.items.len() < MAX_OPEN_ITEMS {
            self.items.push(OpenItem { id, index, item, parts: Vec::new() });
        }
    }

    fn end(self, ended: &mut EndedResponses) {
        let Self { id, mut response, mut output, items } = self;
        for item in items {
            output.push(item.end(&id, ended));
        }
        response.insert("status".to_owned(), "cancelled".into());
        let details = json!({ "type": "cancelled", "reason": "turn_detected" });
        response.insert("status_details".to_owned(), details);
        response.insert("output".to_owned(), output.into());
        ended.events.push(json!({ "type": "response.done", "response": response }));
    }
}

impl OpenItem {
    fn note_part(&mut self, kind: &str, index: Value, event: &Object<'_>) {
        match kind {
            "response.content_part.added" => {
                let part = event.object("part");
                let kind = part.and_then(|part| part.string("type").map(String::from));
                let kind = kind.unwrap_or_else(|| "audio".to_owned());
                if self.parts.len() < MAX_OPEN_ITEMS {
                    self.parts.push(OpenPart { index, kind, text: String::new() });
                }
            }
            "response.content_part.done" => {
                let text = event.object("part").and_then(|part| {
                    part.string("transcript").or_else(|| part.string("text")).map(String::from)
                });
                // The words stay: the item has not ended.
                if let Some(part) = self.parts.iter_mut().find(|part| part.index == index) {
                    part.kind.clear();
                    part.text = text.unwrap_or_default();
                }
            }
            _ => {
                if let Some(part) = self.parts.iter_mut().find(|part| part.index == index)
                    && let Some(delta) = event.string("delta")
                {
                    part.text.push_str(&delta);
                }
            }
        }
    }

    /// Returns the item as it ended.
    fn end(self, response_id: &str, ended: &mut EndedResponses) -> Value {
        let Self { id, index, mut item, parts } = self;
        let mut content = Vec::new();
        let mut words = Vec::new();
        for part in parts {
            let place = json!({
                "response_id": response_id, "item_id": id, "output_index": index,
                "content_index": part.index,
            });
            let event = |kind: &str, fields: Value| {
                let mut event = place.clone();
                event["type"] = kind.into();
                if let (Some(event), Value::Object(fields)) = (event.as_object_mut(), fields) {
                    event.extend(fields);
                }
                event
            };
            let text = part.text;
            match part.kind.as_str() {
                // It ended before.
                "" => {}
                "text" | "output_text" => {
                    ended.events.push(event("response.output_text.done", json!({ "text": text })));
                    let part = json!({ "type": "text", "text": text });
                    ended.events.push(event("response.content_part.done", json!({ "part": part })));
                }
                _ => {
                    ended.events.push(event("response.output_audio.done", json!({})));
                    let transcript = json!({ "transcript": text });
                    ended.events.push(event("response.output_audio_transcript.done", transcript));
                    let part = json!({ "type": "audio", "transcript": text });
                    ended.events.push(event("response.content_part.done", json!({ "part": part })));
                }
            }
            content.push(if part.kind.contains("text") {
                json!({ "type": "output_text", "text": text })
            } else {
                json!({ "type": "output_audio", "transcript": text })
            });
            words.push(text);
        }
        if item.get("type").is_some_and(|kind| kind == "message") {
            item.insert("content".to_owned(), content.into());
        }
        item.insert("status".to_owned(), "incomplete".into());
        let item = Value::Object(item);
        ended.events.push(json!({ "type": "conversation.item.done", "item": item,
            "previous_item_id": null }));
        ended.events.push(json!({ "type": "response.output_item.done", "response_id": response_id,
            "output_index": index, "item": item }));
        ended.cut_off.push((id, words.join("\n")));
        item
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::OpenResponses;

    fn note(open: &mut OpenResponses, event: &Value) {
        open.note(event["type"].as_str().unwrap(), &event.to_string());
    }

    fn begin(open: &mut OpenResponses) {
        note(open, &json!({"type": "response.created", "response": {"id": "r", "output": []}}));
        let item = json!({"id": "i", "type": "message", "role": "assistant", "content": []});
        note(
            open,
            &json!({"type": "response.output_item.added", "response_id": "r",
            "output_index": 0, "item": item}),
        );
        let part = json!({"type": "audio", "transcript": ""});
        note(
            open,
            &json!({"type": "response.content_part.added", "response_id": "r",
            "item_id": "i", "output_index": 0, "content_index": 0, "part": part}),
        );
    }

    fn transcript(open: &mut OpenResponses, delta: &str) {
        note(
            open,
            &json!({"type": "response.output_audio_transcript.delta", "response_id": "r",
            "item_id": "i", "output_index": 0, "content_index": 0, "delta": delta}),
        );
    }

    #[test]
    fn an_answer_that_was_cut_off_ends_for_the_client_in_order() {
        let mut open = OpenResponses::default();
        begin(&mut open);
        transcript(&mut open, "It ");
        transcript(&mut open, "is");
        let ended = open.end();
        let kinds: Vec<&str> = ended.events.iter().filter_map(|it| it["type"].as_str()).collect();
        let expected = [
            "response.output_audio.done",
            "response.output_audio_transcript.done",
            "response.content_part.done",
            "conversation.item.done",
            "response.output_item.done",
            "response.done",
        ];
        assert_eq!(kinds, expected);
        assert_eq!(ended.events[1]["transcript"], "It is");
        let done = &ended.events[5]["response"];
        assert_eq!(done["status"], "cancelled");
        assert_eq!(done["output"][0]["content"][0]["transcript"], "It is");
        assert_eq!(ended.cut_off, [("i".to_owned(), "It is".to_owned())]);
        assert!(open.end().events.is_empty(), "once");
    }

    #[test]
    fn what_ended_is_not_ended_again() {
        let mut open = OpenResponses::default();
        begin(&mut open);
        let part = json!({"type": "audio", "transcript": "Yes."});
        note(
            &mut open,
            &json!({"type": "response.content_part.done", "response_id": "r",
            "item_id": "i", "output_index": 0, "content_index": 0, "part": part}),
        );
        let item = json!({"id": "i", "type": "message", "content": [part]});
        note(
            &mut open,
            &json!({"type": "response.output_item.done", "response_id": "r",
            "output_index": 0, "item": item}),
        );
        let ended = open.end();
        assert_eq!(ended.events.len(), 1);
        assert_eq!(ended.events[0]["response"]["output"], json!([item]));
        begin(&mut open);
        note(&mut open, &json!({"type": "response.done", "response": {"id": "r"}}));
        assert!(open.end().events.is_empty());
    }
}
