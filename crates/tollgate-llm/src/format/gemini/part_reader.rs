//! Decodes parts of requests, responses, and stream chunks. Parts without a neutral counterpart are
//! kept whole, as [`PartContent::Opaque`].
//!
//! Any part can have a signature. It becomes a thought without text before that part, so that
//! clients of every dialect can keep it; the writer puts it back.

use serde_json::{Map, Value};

use crate::conversation::{
    CallEnd, CallResult, ChatMedia, FunctionCall, MediaKind, MediaSource, MessagePart, PartContent,
    ThoughtSignature,
};
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::extra::Extra;
use crate::format::fields::{FieldReader, wrong};

use super::spelling::{self, standard};

const OWN: Dialect = Dialect::Gemini;

/// One part, preceded by a thought with its signature, if any. Calls and results without an id get
/// an empty one.
pub(super) fn read(value: Value, at: String) -> Result<Vec<MessagePart>, LlmError> {
    let mut fields = spelling::fields(value, at)?;
    let known = ["functionCall", "functionResponse", "inlineData", "fileData", "text"];
    let Some(kind) = known.into_iter().find(|key| fields.has(key)) else {
        return without_content(fields);
    };
    let signature = fields.text("thoughtSignature")?.map(read_signature);
    if kind == "text" && fields.peek("thought") == Some(&Value::Bool(true)) {
        fields.take("thought");
        let text = fields.needed_text("text")?;
        let content = PartContent::Thinking { text, signature };
        return Ok(vec![MessagePart { content, extra: fields.rest(OWN) }]);
    }
    let part = match kind {
        "functionCall" => call(fields)?,
        "functionResponse" => result(fields)?,
        "inlineData" => inline(fields)?,
        "fileData" => file(fields)?,
        _ => {
            let content = PartContent::Text(fields.needed_text("text")?);
            MessagePart { content, extra: fields.rest(OWN) }
        }
    };
    Ok(signature.map(signature_part).into_iter().chain([part]).collect())
}

fn read_signature(kept: String) -> ThoughtSignature {
    ThoughtSignature::from_client(OWN, kept)
}

/// A thought that consists of a signature only.
pub(super) fn signature_part(signature: ThoughtSignature) -> MessagePart {
    MessagePart::new(PartContent::Thinking { text: String::new(), signature: Some(signature) })
}

/// A part that only Gemini understands, or an empty one.
fn without_content(mut fields: FieldReader) -> Result<Vec<MessagePart>, LlmError> {
    let signature = fields.text("thoughtSignature")?;
    let at = fields.at().to_owned();
    let Value::Object(mut rest) = fields.into_value() else { return Ok(Vec::new()) };
    if rest.values().all(|value| value.is_null() || value.is_boolean()) {
        let part = MessagePart::text("");
        let signature = signature.map(read_signature).map(signature_part);
        return match (signature, rest.is_empty()) {
            (None, true) => Err(LlmError::invalid(&at, format!("`{at}` is empty"))),
            (signature, _) => Ok(signature.into_iter().chain([part]).collect()),
        };
    }
    if let Some(signature) = signature {
        rest.insert("thoughtSignature".to_owned(), signature.into());
    }
    Ok(vec![MessagePart::new(PartContent::Opaque { dialect: OWN, value: rest.into() })])
}

fn call(mut fields: FieldReader) -> Result<MessagePart, LlmError> {
    let Some(mut call) = spelling::object(&mut fields, "functionCall")? else {
        return Err(fields.missing("functionCall"));
    };
    let id = call.text("id")?.unwrap_or_default();
    let name = call.needed_text("name")?;
    let arguments = match call.take("args") {
        Some(args @ Value::Object(_)) => args.to_string(),
        Some(other) => return Err(wrong(&call.place("args"), "an object", &other)),
        None => "{}".to_owned(),
    };
    fields.put_back("functionCall", call);
    let content = PartContent::Call(FunctionCall { id, name, arguments });
    Ok(MessagePart { content, extra: fields.rest(OWN) })
}

/// The original response is kept beside its text: it can have many forms.
fn result(mut fields: FieldReader) -> Result<MessagePart, LlmError> {
    let Some(mut result) = spelling::object(&mut fields, "functionResponse")? else {
        return Err(fields.missing("functionResponse"));
    };
    let call_id = result.text("id")?.unwrap_or_default();
    let name = result.needed_text("name")?;
    let response = match result.take("response") {
        Some(Value::Object(response)) => response,
        Some(other) => return Err(wrong(&result.place("response"), "an object", &other)),
        None => Map::new(),
    };
    let (text, end) = response_text(&response);
    let mut parts: Vec<MessagePart> = text.map(MessagePart::text).into_iter().collect();
    let at = result.place("parts");
    for (index, value) in result.list("parts")?.unwrap_or_default().into_iter().enumerate() {
        parts.extend(read(value, format!("{at}[{index}]"))?);
    }
    fields.put_back("functionResponse", result);
    let mut extra = Map::new();
    if !response.is_empty() {
        extra.insert("response".to_owned(), response.into());
    }
    let mut all = Extra::new(OWN, extra);
    all.merge(fields.rest(OWN));
    let content = PartContent::Result(CallResult { call_id, name: Some(name), parts, end });
    Ok(MessagePart { content, extra: all })
}

/// Text of a function response, and whether it succeeded: `output`, `result` or `error` if one of
/// them is the only field, otherwise the whole object.
pub(super) fn response_text(response: &Map<String, Value>) -> (Option<String>, CallEnd) {
    let mut fields = response.iter();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match (fields.next(), fields.next()) {
        (None, _) => (None, CallEnd::Well),
        (Some((key, value)), None) if key == "output" || key == "result" => {
            (Some(text(value)), CallEnd::Well)
        }
        (Some((key, value)), None) if key == "error" => (Some(text(value)), CallEnd::Failed),
        _ => (Some(Value::Object(response.clone()).to_string()), CallEnd::Well),
    }
}

fn inline(mut fields: FieldReader) -> Result<MessagePart, LlmError> {
    let Some(mut data) = spelling::object(&mut fields, "inlineData")? else {
        return Err(fields.missing("inlineData"));
    };
    let media_type = data.needed_text("mimeType")?;
    let bytes = standard(&data.needed_text("data")?);
    let name = data.peek("displayName").and_then(Value::as_str).map(str::to_owned);
    fields.put_back("inlineData", data);
    let kind = spelling::kind_of(&media_type);
    let source = MediaSource::Base64 { media_type, data: bytes };
    let content = PartContent::Media(ChatMedia { kind, source, name });
    Ok(MessagePart { content, extra: fields.rest(OWN) })
}

fn file(mut fields: FieldReader) -> Result<MessagePart, LlmError> {
    let Some(mut data) = spelling::object(&mut fields, "fileData")? else {
        return Err(fields.missing("fileData"));
    };
    let at = data.place("fileUri");
    let uri = data.needed_text("fileUri")?;
    let media_type = spelling::media_type_of(&uri);
    let watched = spelling::is_watched(&uri);
    let kept = ["gs://", "https://generativelanguage.googleapis.com/", "files/"];
    let source = if kept.iter().any(|start| uri.starts_with(start)) {
        MediaSource::File(uri)
    } else if uri.starts_with("https://") || uri.starts_with("http://") {
        MediaSource::Url(uri)
    } else {
        let message = format!("`{at}` must begin with `https://` or `gs://`");
        return Err(LlmError::invalid(at, message));
    };
    // The type is kept, to be written back; other dialects determine it when they fetch.
    let kind = match data.peek("mimeType").and_then(Value::as_str) {
        Some(media_type) => spelling::kind_of(media_type),
        None if watched => MediaKind::Video,
        None => spelling::kind_of(media_type.unwrap_or_default()),
    };
    let name = data.peek("displayName").and_then(Value::as_str).map(str::to_owned);
    fields.put_back("fileData", data);
    let content = PartContent::Media(ChatMedia { kind, source, name });
    Ok(MessagePart { content, extra: fields.rest(OWN) })
}
