//! Media in OpenAI's two dialects: images, audio and files as `data:` URLs, audio format names, and
//! file names.

use serde_json::{Value, json};

use crate::conversation::{ChatMedia, MediaKind, MediaSource, PartContent};
use crate::error::LlmError;
use crate::format::fields::FieldReader;

/// URL schemes that providers fetch.
const SCHEMES: &[&str] = &["http://", "https://", "gs://"];

/// The source behind a URL, which may contain the bytes itself.
pub(in crate::format) fn from_url(url: String, at: &str) -> Result<MediaSource, LlmError> {
    if let Some((media_type, data)) = data_url(&url) {
        let media_type = media_type.to_owned();
        let data = data.to_owned();
        return Ok(MediaSource::Base64 { media_type, data });
    }
    let known = |scheme: &&&str| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    if SCHEMES.iter().any(|scheme| known(&scheme)) {
        return Ok(MediaSource::Url(url));
    }
    let shown: String = url.chars().take(40).collect();
    let message =
        format!("`{at}` is `{shown}`; it must be an http or https address, or base64 as `data:`");
    Err(LlmError::invalid(at, message))
}

/// Media type and base64 text of a `data:` URL.
pub(in crate::format) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}

pub(in crate::format) fn to_data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// An `input_audio` part, which both dialects have.
pub(in crate::format) fn audio(fields: &mut FieldReader) -> Result<PartContent, LlmError> {
    let mut audio = fields.object("input_audio")?.ok_or_else(|| fields.missing("input_audio"))?;
    let data = audio.needed_text("data")?;
    let media_type = audio_type(&audio.needed_text("format")?);
    fields.put_back("input_audio", audio);
    let source = MediaSource::Base64 { media_type, data };
    Ok(PartContent::Media(ChatMedia { kind: MediaKind::Audio, source, name: None }))
}

pub(in crate::format) fn audio_json(media_type: &str, data: &str) -> Value {
    let format = audio_format(media_type);
    json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
}

/// `mp3` is `audio/mpeg`.
fn audio_type(format: &str) -> String {
    match format {
        "mp3" => "audio/mpeg".to_owned(),
        other => format!("audio/{other}"),
    }
}

pub(in crate::format) fn audio_format(media_type: &str) -> &str {
    match media_type {
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        other => other.strip_prefix("audio/").unwrap_or(other),
    }
}

/// File content: a `data:` URL, or plain base64, which is usually a PDF.
pub(in crate::format) fn from_file_data(data: String, name: Option<&str>) -> MediaSource {
    if let Some((media_type, data)) = data_url(&data) {
        return MediaSource::Base64 { media_type: media_type.to_owned(), data: data.to_owned() };
    }
    let media_type = match name.and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending) {
        Some("txt") => "text/plain",
        Some("md") => "text/markdown",
        Some("html") => "text/html",
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        _ => "application/pdf",
    };
    MediaSource::Base64 { media_type: media_type.to_owned(), data }
}
