//! Decodes the parts of a message's content. Called by the readers of messages and responses.

use serde_json::Value;

use super::DIALECT;
use super::media;
use super::message_keys::{CONTENT_KEY, with_spelling};
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
        "text" => PartContent::Text(fields.needed_text("text")?),
        "refusal" => PartContent::Refusal(fields.needed_text("refusal")?),
        "image_url" => image(&mut fields)?,
        "input_audio" => media::audio(&mut fields)?,
        "file" => file(&mut fields)?,
        _ => {
            fields.put("type", kind);
            let content = PartContent::Opaque { dialect: DIALECT, value: fields.into_value() };
            return Ok(MessagePart { content, extra: with_spelling(CONTENT_KEY) });
        }
    };
    Ok(MessagePart { content, extra: fields.rest(DIALECT) })
}

fn image(fields: &mut FieldReader) -> Result<PartContent, LlmError> {
    let at = fields.place("image_url");
    let url = match fields.take("image_url") {
        Some(Value::String(url)) => url,
        Some(object) => {
            let mut image = FieldReader::new(object, at.as_str())?;
            let url = image.needed_text("url")?;
            fields.put_back("image_url", image);
            url
        }
        None => return Err(fields.missing("image_url")),
    };
    let source = media::from_url(url, &format!("{at}.url"))?;
    Ok(PartContent::Media(ChatMedia { kind: MediaKind::Image, source, name: None }))
}

fn file(fields: &mut FieldReader) -> Result<PartContent, LlmError> {
    let mut file = fields.object("file")?.ok_or_else(|| fields.missing("file"))?;
    let name = file.text("filename")?;
    let source = match file.text("file_id")? {
        Some(id) => MediaSource::File(id),
        None => match file.text("file_data")? {
            Some(data) => media::from_file_data(data, name.as_deref()),
            None => return Err(file.missing("file_id")),
        },
    };
    fields.put_back("file", file);
    Ok(PartContent::Media(ChatMedia { kind: MediaKind::Document, source, name }))
}

/// Thoughts inside the content of a response, as Mistral's models write them.
pub(super) fn thought(part: &Value) -> Option<String> {
    let thoughts = part.get("thinking").filter(|_| part["type"] == "thinking")?;
    let texts = thoughts.as_array().into_iter().flatten();
    let text: String = texts.filter_map(|text| text["text"].as_str()).collect();
    Some(thoughts.as_str().map_or(text, str::to_owned))
}
