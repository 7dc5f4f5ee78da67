//! Decodes content blocks of requests and responses, and the starts of streamed ones. Blocks
//! without a neutral counterpart are kept whole, as [`PartContent::Opaque`].

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::conversation::{
    CallEnd, CallResult, ChatMedia, FunctionCall, MediaKind, MediaSource, MessagePart, PartContent,
    ThoughtSignature,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::fields::{FieldReader, wrong};

const OWN: Dialect = Dialect::Anthropic;

/// A text, or a list of blocks.
pub(super) fn read_all(content: Value, at: &str) -> Result<Vec<MessagePart>, LlmError> {
    match content {
        Value::String(text) => Ok(vec![MessagePart::text(text)]),
        Value::Array(blocks) => {
            let numbered = blocks.into_iter().enumerate();
            numbered.map(|(index, block)| read(block, format!("{at}[{index}]"))).collect()
        }
        other => Err(wrong(at, "a string or a list of blocks", &other)),
    }
}

pub(super) fn read(block: Value, at: String) -> Result<MessagePart, LlmError> {
    let mut fields = FieldReader::new(block, at)?;
    let kind = match fields.peek("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(other) => return Err(wrong(&fields.place("type"), "a string", other)),
        None => return Err(fields.missing("type")),
    };
    match kind.as_str() {
        "text" => {
            fields.take("type");
            Ok(MessagePart {
                content: PartContent::Text(fields.needed_text("text")?),
                extra: rest(fields),
            })
        }
        "thinking" => {
            fields.take("type");
            let text = fields.text("thinking")?.unwrap_or_default();
            let signature = fields.text("signature")?.filter(|it| !it.is_empty());
            let signature = signature.map(|kept| ThoughtSignature::from_client(OWN, kept));
            Ok(MessagePart {
                content: PartContent::Thinking { text, signature },
                extra: rest(fields),
            })
        }
        "tool_use" => tool_use(fields),
        "tool_result" => tool_result(fields),
        "image" => media(fields, MediaKind::Image),
        "document" => media(fields, MediaKind::Document),
        _ => Ok(opaque(fields.into_value())),
    }
}

pub(super) fn opaque(value: Value) -> MessagePart {
    MessagePart::new(PartContent::Opaque { dialect: OWN, value })
}

fn rest(fields: FieldReader) -> Extra {
    fields.rest(OWN)
}

fn tool_use(mut fields: FieldReader) -> Result<MessagePart, LlmError> {
    fields.take("type");
    let id = fields.needed_text("id")?;
    let name = fields.needed_text("name")?;
    let arguments = match fields.take("input") {
        Some(input @ Value::Object(_)) => input.to_string(),
        Some(other) => return Err(wrong(&fields.place("input"), "an object", &other)),
        None => return Err(fields.missing("input")),
    };
    Ok(MessagePart {
        content: PartContent::Call(FunctionCall { id, name, arguments }),
        extra: rest(fields),
    })
}

fn tool_result(mut fields: FieldReader) -> Result<MessagePart, LlmError> {
    fields.take("type");
    let call_id = fields.needed_text("tool_use_id")?;
    let end = match fields.flag("is_error")? {
        Some(true) => CallEnd::Failed,
        Some(false) | None => CallEnd::Well,
    };
    let at = fields.place("content");
    let content = fields.take("content");
    let parts = content.map(|content| read_all(content, &at)).transpose()?.unwrap_or_default();
    let inside = parts.iter().position(|part| {
        matches!(
            part.content,
            PartContent::Call(_) | PartContent::Result(_) | PartContent::Thinking { .. }
        )
    });
    if let Some(index) = inside {
        let at = format!("{at}[{index}]");
        let message =
            format!("`{at}` is not allowed in a result: only text, images and documents are");
        return Err(LlmError::invalid(at, message));
    }
    let result = CallResult { call_id, name: None, parts, end };
    Ok(MessagePart { content: PartContent::Result(result), extra: rest(fields) })
}

/// If the source has no neutral counterpart, such as blocks within a document, the block is kept
/// whole.
fn media(mut fields: FieldReader, kind: MediaKind) -> Result<MessagePart, LlmError> {
    let at = fields.place("source");
    let Some(value) = fields.peek("source").cloned() else { return Err(fields.missing("source")) };
    let mut source = FieldReader::new(value, at)?;
    let spoken = source.needed_text("type")?;
    let source = match spoken.as_str() {
        "base64" => MediaSource::Base64 {
            media_type: source.needed_text("media_type")?,
            data: source.needed_text("data")?,
        },
        "url" => MediaSource::Url(web_address(&mut source)?),
        "file" => MediaSource::File(source.needed_text("file_id")?),
        "text" => MediaSource::Base64 {
            media_type: source.text("media_type")?.unwrap_or_else(|| "text/plain".to_owned()),
            data: BASE64_STANDARD.encode(source.needed_text("data")?),
        },
        _ => return Ok(opaque(fields.into_value())),
    };
    fields.take("type");
    fields.take("source");
    let name = match kind {
        MediaKind::Document => fields.text("title")?,
        MediaKind::Image | MediaKind::Audio | MediaKind::Video => None,
    };
    Ok(MessagePart {
        content: PartContent::Media(ChatMedia { kind, source, name }),
        extra: rest(fields),
    })
}

fn web_address(source: &mut FieldReader) -> Result<String, LlmError> {
    let url = source.needed_text("url")?;
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(url);
    }
    let at = source.place("url");
    let message = format!("`{at}` must begin with `https://`; send other pictures as base64");
    Err(LlmError::invalid(at, message))
}
