//! Encodes and decodes the parts of an item's content. Called by the readers and writers of items.

use serde_json::{Map, Value, json};

use super::openai_media as media;
use super::{DIALECT, ITEM_KEY};
use crate::conversation::{ChatMedia, MediaKind, MediaSource, MessagePart, PartContent};
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::fields::{FieldReader, wrong};

/// Content is a string, or a list of parts.
pub(super) fn read_all(value: Value, at: &str) -> Result<Vec<MessagePart>, LlmError> {
    match value {
        Value::String(text) => Ok(vec![MessagePart::text(text)]),
        Value::Array(list) => list
            .into_iter()
            .enumerate()
            .map(|(index, part)| read(part, format!("{at}[{index}]")))
            .collect(),
        other => Err(wrong(at, "a string or a list of parts", &other)),
    }
}

pub(super) fn read(value: Value, at: String) -> Result<MessagePart, LlmError> {
    let mut fields = FieldReader::new(value, at)?;
    let kind = fields.needed_text("type")?;
    let content = match kind.as_str() {
        "input_text" | "output_text" => PartContent::Text(fields.needed_text("text")?),
        "refusal" => PartContent::Refusal(fields.needed_text("refusal")?),
        "input_image" => image(&mut fields)?,
        "input_audio" => media::audio(&mut fields)?,
        "input_file" => file(&mut fields)?,
        _ => {
            fields.put("type", kind);
            let content = PartContent::Opaque { dialect: DIALECT, value: fields.into_value() };
            return Ok(MessagePart::new(content));
        }
    };
    // Default values carry no information, and are written again anyway.
    for (key, plain) in
        [("annotations", json!([])), ("logprobs", json!([])), ("detail", "auto".into())]
    {
        if fields.peek(key) == Some(&plain) {
            fields.take(key);
        }
    }
    Ok(MessagePart { content, extra: fields.rest(DIALECT) })
}

fn image(fields: &mut FieldReader) -> Result<PartContent, LlmError> {
    let at = fields.place("image_url");
    let source = match fields.text("file_id")? {
        Some(id) => MediaSource::File(id),
        None => media::from_url(fields.needed_text("image_url")?, &at)?,
    };
    Ok(PartContent::Media(ChatMedia { kind: MediaKind::Image, source, name: None }))
}

fn file(fields: &mut FieldReader) -> Result<PartContent, LlmError> {
    let name = fields.text("filename")?;
    let at = fields.place("file_url");
    let source = if let Some(id) = fields.text("file_id")? {
        MediaSource::File(id)
    } else if let Some(url) = fields.text("file_url")? {
        media::from_url(url, &at)?
    } else if let Some(data) = fields.text("file_data")? {
        media::from_file_data(data, name.as_deref())
    } else {
        return Err(fields.missing("file_id"));
    };
    Ok(PartContent::Media(ChatMedia { kind: MediaKind::Document, source, name }))
}

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
        part.entry("detail").or_insert_with(|| "auto".into());
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
