//! Decodes the parts of an item's content. Called by the readers of items.

use serde_json::{Value, json};

use super::DIALECT;
use super::media;
use crate::conversation::{ChatMedia, MediaKind, MediaSource, MessagePart, PartContent};
use crate::error::LlmError;
use crate::format::fields::FieldReader;
use crate::format::openai_common;

pub(super) fn read_all(value: Value, at: &str) -> Result<Vec<MessagePart>, LlmError> {
    openai_common::read_content(value, at, read)
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
