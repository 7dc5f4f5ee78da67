//! Converts tool results to parts of a conversation.
//!
//! Against prompt injection, tool output is data: it is passed on, never interpreted. Called by the
//! agent loop and by fronts that run calls for an external model.

use serde_json::Value;
use serde_json::value::RawValue;
use tollgate_core::call::{CallStatus, Outcome, ResultOrigin, Retryability};
use tollgate_core::json::{self, Object};
use tollgate_core::shaping;
use tollgate_core::text::truncate_chars;
use tollgate_engine::gate::PictureLink;

use crate::conversation::{
    CallEnd, CallResult, ChatMedia, FunctionCall, MediaKind, MediaSource, MessagePart, PartContent,
};
use crate::dialect::Dialect;

mod convert;
mod native;

pub use convert::{ConvertedResults, convert, form_of};

/// Maximum items per result. The gate has already truncated results for their consumer.
const MAX_RESULT_ITEMS: usize = 256;

/// The result of a call in neutral form.
pub fn neutral(call: &FunctionCall, outcome: &Outcome) -> CallResult {
    let result = Object::parse(outcome.result.get()).unwrap_or_default();
    let mut parts = parts(&result);
    let end = end(outcome.status);
    if parts.is_empty() {
        parts.push(MessagePart::text(empty_result_text(outcome.status)));
    }
    if let (CallEnd::Failed, Retryability::Sensible { hint: Some(hint), .. }) =
        (end, &outcome.retry)
    {
        parts.push(MessagePart::text(format!("({hint})")));
    }
    if let Some(notice) = outcome.origin.as_ref().and_then(ResultOrigin::notice) {
        parts.insert(0, MessagePart::text(notice));
    }
    CallResult { call_id: call.id.clone(), name: Some(call.name.clone()), parts, end }
}

/// Adds where the pictures can be seen that a result leaves out.
pub fn add_picture_links(result: &mut CallResult, links: &[PictureLink]) {
    for PictureLink { path, media_type, bytes, seconds } in links {
        let minutes = seconds / 60;
        let text = format!(
            "A picture that is not shown here ({media_type}, {bytes} bytes) can be opened for \
             {minutes} minutes at {path}"
        );
        result.parts.push(MessagePart::text(text));
    }
}

/// Results as messages of a dialect, ready to append to a client's history.
pub fn messages(results: &[CallResult], dialect: Dialect) -> Vec<Value> {
    native::write(results, dialect.into())
}

/// The result of a single call as one message of a dialect.
pub fn message(result: &CallResult, dialect: Dialect) -> Option<Value> {
    native::write_one(result, dialect)
}

fn end(status: CallStatus) -> CallEnd {
    match status {
        CallStatus::Ok | CallStatus::NoResults | CallStatus::Pending => CallEnd::Well,
        CallStatus::Error
        | CallStatus::Timeout
        | CallStatus::Denied
        | CallStatus::InvalidArguments
        | CallStatus::RateLimited
        | CallStatus::Offline => CallEnd::Failed,
    }
}

/// Placeholder: models repeat a call over and over if its result is empty.
fn empty_result_text(status: CallStatus) -> &'static str {
    match status {
        CallStatus::NoResults => "no results",
        _ => shaping::DONE,
    }
}

/// The content of an MCP result. Structured content is used only if there is no text.
pub(super) fn parts(result: &Object<'_>) -> Vec<MessagePart> {
    let content = result.get("content");
    let items: Vec<&RawValue> =
        content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default();
    let mut parts: Vec<MessagePart> = items.into_iter().take(MAX_RESULT_ITEMS).map(part).collect();
    let has_words = parts.iter().any(|part| part.as_text().is_some());
    if let (false, Some(structured)) = (has_words, result.get("structuredContent")) {
        let compact = json::value(structured.get()).map(|value| value.to_string());
        parts.insert(0, MessagePart::text(compact.unwrap_or_else(|_| structured.get().to_owned())));
    }
    parts
}

fn part(raw: &RawValue) -> MessagePart {
    let item = Object::parse(raw.get()).unwrap_or_default();
    let text = |key| item.string(key).map(|text| text.into_owned());
    let known = match text("type").as_deref() {
        Some("text") => text("text").map(PartContent::Text),
        Some("image") => binary(text("data"), text("mimeType"), "image/png"),
        Some("audio") => binary(text("data"), text("mimeType"), "audio/wav"),
        Some("resource") => item.object("resource").and_then(|it| resource(&it)),
        Some("resource_link") => Some(PartContent::Text(link(&item))),
        _ => None,
    };
    // Unknown content is passed on as text.
    MessagePart::new(known.unwrap_or_else(|| PartContent::Text(raw.get().to_owned())))
}

fn binary(data: Option<String>, mime: Option<String>, usual: &str) -> Option<PartContent> {
    let media_type = mime.unwrap_or_else(|| usual.to_owned());
    let kind = media_kind(&media_type);
    let source = MediaSource::Base64 { media_type, data: data? };
    Some(PartContent::Media(ChatMedia { kind, source, name: None }))
}

fn media_kind(media_type: &str) -> MediaKind {
    match media_type.split('/').next() {
        Some("image") => MediaKind::Image,
        Some("audio") => MediaKind::Audio,
        Some("video") => MediaKind::Video,
        _ => MediaKind::Document,
    }
}

/// An embedded resource with its URI.
fn resource(resource: &Object<'_>) -> Option<PartContent> {
    let uri = resource.string("uri").unwrap_or_default().into_owned();
    if let Some(text) = resource.string("text") {
        return Some(PartContent::Text(format!("{}:\n{text}", shorten_uri(&uri))));
    }
    let data = resource.string("blob")?.into_owned();
    let media_type = resource.string("mimeType").unwrap_or_default().into_owned();
    let name = uri.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned);
    let is_shown = ["image/", "audio/", "video/", "application/pdf", "text/"]
        .iter()
        .any(|start| media_type.starts_with(start));
    if !is_shown {
        let kind = if media_type.is_empty() { "unknown kind" } else { &media_type };
        let what =
            format!("{}: {} bytes of {kind}, not shown", shorten_uri(&uri), data.len() / 4 * 3);
        return Some(PartContent::Text(what));
    }
    let kind = media_kind(&media_type);
    let source = MediaSource::Base64 { media_type, data };
    Some(PartContent::Media(ChatMedia { kind, source, name }))
}

/// A resource link: only its URI is passed on, nothing is fetched.
fn link(item: &Object<'_>) -> String {
    let text = |key| item.string(key).unwrap_or_default();
    let mut link = format!("{}: {}", text("name"), shorten_uri(&text("uri")));
    for (key, start, end) in [("mimeType", " (", ")"), ("description", ", ", "")] {
        if let Some(text) = item.string(key).filter(|text| !text.is_empty()) {
            link.push_str(start);
            link.push_str(&truncate_chars(&text, 1_000));
            link.push_str(end);
        }
    }
    link
}

fn shorten_uri(uri: &str) -> String {
    truncate_chars(uri, 500)
}

#[cfg(test)]
mod tests;
