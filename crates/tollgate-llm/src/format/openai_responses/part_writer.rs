//! Encodes the parts of an item's content. Called by the writers of items.

use serde_json::{Map, Value, json};

use super::media;
use super::{DIALECT, ITEM_KEY};
use crate::conversation::{ChatMedia, MediaKind, MediaSource};
use crate::dialect::Dialect;
use crate::extra::Extra;

/// Text of a user, a system prompt or a tool.
pub(super) fn input_text(text: &str, extra: &Extra) -> Value {
    with_extra(json!({"type": "input_text", "text": text}), extra)
}

/// Text of an assistant.
pub(super) fn output_text(text: &str, extra: &Extra) -> Value {
    let mut part = with_extra(json!({"type": "output_text", "text": text}), extra);
    if let Some(part) = part.as_object_mut() {
        part.entry("annotations").or_insert_with(|| json!([]));
    }
    part
}

pub(super) fn refusal(text: &str, extra: &Extra) -> Value {
    with_extra(json!({"type": "refusal", "refusal": text}), extra)
}

/// `None`: the dialect cannot express it.
pub(super) fn media(media: &ChatMedia, extra: &Extra) -> Option<Value> {
    let name = media.name.as_deref();
    let value = match (media.kind, &media.source) {
        (MediaKind::Image, MediaSource::File(id)) => {
            json!({"type": "input_image", "file_id": id})
        }
        (MediaKind::Image, MediaSource::Url(url)) => {
            json!({"type": "input_image", "image_url": url})
        }
        (MediaKind::Image, MediaSource::Base64 { media_type, data }) => {
            json!({"type": "input_image", "image_url": media::to_data_url(media_type, data)})
        }
        (MediaKind::Audio, MediaSource::Base64 { media_type, data }) => {
            media::audio_json(media_type, data)
        }
        (MediaKind::Document, MediaSource::File(id)) => file_json("file_id", id.clone(), name),
        (MediaKind::Document, MediaSource::Url(url)) => file_json("file_url", url.clone(), name),
        (MediaKind::Document, MediaSource::Base64 { media_type, data }) => {
            file_json("file_data", media::to_data_url(media_type, data), name.or(Some("file")))
        }
        (MediaKind::Audio, MediaSource::Url(_) | MediaSource::File(_)) | (MediaKind::Video, _) => {
            return None;
        }
    };
    let mut value = with_extra(value, extra);
    if media.kind == MediaKind::Image
        && let Some(part) = value.as_object_mut()
    {
        let chat = extra.get(Dialect::OpenAiChat, "image_url").and_then(|it| it.get("detail"));
        let detail = chat.cloned().unwrap_or_else(|| "auto".into());
        part.entry("detail").or_insert(detail);
    }
    Some(value)
}

fn file_json(key: &str, value: String, name: Option<&str>) -> Value {
    let mut file = Map::from_iter([
        ("type".to_owned(), Value::from("input_file")),
        (key.to_owned(), value.into()),
    ]);
    if let Some(name) = name {
        file.insert("filename".to_owned(), name.into());
    }
    Value::Object(file)
}

fn with_extra(mut value: Value, extra: &Extra) -> Value {
    if let Value::Object(object) = &mut value {
        extra.write_into(DIALECT, object);
        object.shift_remove(ITEM_KEY);
    }
    value
}
