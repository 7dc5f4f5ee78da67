//! Reads content blocks: those of requests, of answers, and the beginnings of streamed ones.
//! Blocks that have no neutral word stay whole, as [`Content::Opaque`].

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::conversation::{
    Call, CallEnd, CallResult, Content, Media, MediaKind, MediaSource, Part, Signature,
};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::failure::Failure;
use crate::format::fields::{Fields, wrong};

const OWN: Dialect = Dialect::Anthropic;

/// A text, or a list of blocks.
pub(super) fn read_all(content: Value, at: &str) -> Result<Vec<Part>, Failure> {
    match content {
        Value::String(text) => Ok(vec![Part::text(text)]),
        Value::Array(blocks) => {
            let numbered = blocks.into_iter().enumerate();
            numbered.map(|(index, block)| read(block, format!("{at}[{index}]"))).collect()
        }
        other => Err(wrong(at, "a string or a list of blocks", &other)),
    }
}

pub(super) fn read(block: Value, at: String) -> Result<Part, Failure> {
    let mut fields = Fields::new(block, at)?;
    let kind = match fields.peek("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(other) => return Err(wrong(&fields.place("type"), "a string", other)),
        None => return Err(fields.missing("type")),
    };
    match kind.as_str() {
        "text" => {
            fields.take("type");
            Ok(Part { content: Content::Text(fields.needed_text("text")?), extra: rest(fields) })
        }
        "thinking" => {
            fields.take("type");
            let text = fields.text("thinking")?.unwrap_or_default();
            let signature = fields.text("signature")?.filter(|it| !it.is_empty());
            let signature = signature.map(|kept| Signature::from_client(OWN, kept));
            Ok(Part { content: Content::Thinking { text, signature }, extra: rest(fields) })
        }
        "tool_use" => tool_use(fields),
        "tool_result" => tool_result(fields),
        "image" => media(fields, MediaKind::Image),
        "document" => media(fields, MediaKind::Document),
        _ => Ok(opaque(fields.into_value())),
    }
}

pub(super) fn opaque(value: Value) -> Part {
    Part::new(Content::Opaque { dialect: OWN, value })
}

fn rest(fields: Fields) -> Extra {
    fields.rest(OWN)
}

fn tool_use(mut fields: Fields) -> Result<Part, Failure> {
    fields.take("type");
    let id = fields.needed_text("id")?;
    let name = fields.needed_text("name")?;
    let arguments = match fields.take("input") {
        Some(input @ Value::Object(_)) => input.to_string(),
        Some(other) => return Err(wrong(&fields.place("input"), "an object", &other)),
        None => return Err(fields.missing("input")),
    };
    Ok(Part { content: Content::Call(Call { id, name, arguments }), extra: rest(fields) })
}

fn tool_result(mut fields: Fields) -> Result<Part, Failure> {
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
        matches!(part.content, Content::Call(_) | Content::Result(_) | Content::Thinking { .. })
    });
    if let Some(index) = inside {
        let at = format!("{at}[{index}]");
        let message = format!("`{at}` cannot stand in a result: text, images and documents can");
        return Err(Failure::invalid(at, message));
    }
    let result = CallResult { call_id, name: None, parts, end };
    Ok(Part { content: Content::Result(result), extra: rest(fields) })
}

/// A source that has no neutral word, such as blocks within a document, leaves the block whole.
fn media(mut fields: Fields, kind: MediaKind) -> Result<Part, Failure> {
    let at = fields.place("source");
    let Some(value) = fields.peek("source").cloned() else { return Err(fields.missing("source")) };
    let mut source = Fields::new(value, at)?;
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
    Ok(Part { content: Content::Media(Media { kind, source, name }), extra: rest(fields) })
}

fn web_address(source: &mut Fields) -> Result<String, Failure> {
    let url = source.needed_text("url")?;
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(url);
    }
    let at = source.place("url");
    let message = format!("`{at}` must begin with `https://`; send other pictures as base64");
    Err(Failure::invalid(at, message))
}
