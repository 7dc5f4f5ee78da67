//! Normalizes the variants that Gemini's API allows: two spellings of field names, two base64
//! alphabets, optional ids.

use serde_json::{Map, Value};

use crate::conversation::MediaKind;
use crate::error::LlmError;
use crate::format::fields::FieldReader;

/// An object with its fields in `camelCase`. Not for objects whose keys are chosen by the client.
pub(crate) fn fields(value: Value, at: impl Into<String>) -> Result<FieldReader, LlmError> {
    FieldReader::new(camel(value), at)
}

/// An inner object by name.
pub(super) fn object(fields: &mut FieldReader, key: &str) -> Result<Option<FieldReader>, LlmError> {
    let at = fields.place(key);
    fields.take(key).map(|value| self::fields(value, at)).transpose()
}

/// Converts `snake_case` keys. If both spellings exist, `camelCase` wins.
fn camel(value: Value) -> Value {
    let Value::Object(object) = value else { return value };
    let mut spelt = Map::with_capacity(object.len());
    for (key, value) in object {
        let name = camel_key(&key);
        let plain = !key.contains('_');
        if plain || !spelt.contains_key(&name) {
            spelt.insert(name, value);
        }
    }
    spelt.into()
}

pub(super) fn camel_key(key: &str) -> String {
    let mut words = key.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

/// Converts to standard base64, which every dialect accepts; Gemini's clients also use the URL-safe
/// alphabet.
pub(super) fn standard(data: &str) -> String {
    let mut data: String = data
        .chars()
        .map(|c| {
            if c == '-' {
                '+'
            } else if c == '_' {
                '/'
            } else {
                c
            }
        })
        .collect();
    while !data.len().is_multiple_of(4) {
        data.push('=');
    }
    data
}

/// Id for a call that came without one, by its position among the calls.
pub(super) fn numbered_id(number: usize) -> String {
    format!("call_{number}")
}

/// Whether the id was generated here.
pub(super) fn is_numbered(id: &str) -> bool {
    let number = id.strip_prefix("call_");
    number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Videos that Gemini fetches itself; they need no media type.
pub(super) fn is_watched(uri: &str) -> bool {
    let hosts = ["https://www.youtube.com/", "https://youtube.com/", "https://youtu.be/"];
    hosts.iter().any(|host| uri.starts_with(host))
}

/// Media type by the file extension of a URI.
pub(super) fn media_type_of(uri: &str) -> Option<&'static str> {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    Some(match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "pdf" => "application/pdf",
        "txt" | "md" => "text/plain",
        _ => return None,
    })
}

pub(super) fn kind_of(media_type: &str) -> MediaKind {
    match media_type.split('/').next() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::Document,
    }
}
