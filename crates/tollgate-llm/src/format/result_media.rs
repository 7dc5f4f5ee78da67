//! Media in the results of tools. A tool has run when its result is written: what a provider would
//! not take becomes a word about it, and never a request that fails. Used by every dialect's writer.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tollgate_core::text::truncate_chars;

use crate::conversation::{ChatMedia, MediaKind, MediaSource};
use crate::error::MAX_QUOTED_CHARS;

/// What stands in its place.
pub fn instead(media: &ChatMedia) -> String {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "audio",
        MediaKind::Video => "video",
        MediaKind::Document => "document",
    };
    let stated = match &media.source {
        MediaSource::Base64 { media_type, .. } if !media_type.is_empty() => media_type,
        _ => kind,
    };
    format!("[{}, not shown]", truncate_chars(stated, MAX_QUOTED_CHARS))
}

/// Whether it can be looked at: the kinds of pictures that all models take.
pub fn is_picture(media: &ChatMedia) -> bool {
    let common = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    match &media.source {
        MediaSource::Base64 { media_type, .. } => common.contains(&media_type.as_str()),
        MediaSource::Url(_) | MediaSource::File(_) => true,
    }
}

/// What a document says that is nothing but text.
pub fn words(media: &ChatMedia) -> Option<String> {
    match &media.source {
        MediaSource::Base64 { media_type, data } if media_type.starts_with("text/") => {
            String::from_utf8(BASE64_STANDARD.decode(data).ok()?).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
