//! Media in tool results.
//!
//! The tool has already run when its result is written: media that a provider would reject become a
//! short text, and never fail the request. Used by the writers of all dialects.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tollgate_core::text::truncate_chars;

use crate::conversation::{ChatMedia, MediaKind, MediaSource};
use crate::error::MAX_QUOTED_CHARS;

/// A longer address is no use to a model.
const MAX_ADDRESS_BYTES: usize = 2_000;

/// Placeholder text for the media, with its address.
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
    let stated = truncate_chars(stated, MAX_QUOTED_CHARS);
    match &media.source {
        MediaSource::Url(address) if address.len() <= MAX_ADDRESS_BYTES => {
            format!("[{stated}, not shown: {address}]")
        }
        _ => format!("[{stated}, not shown]"),
    }
}

/// Whether it is an image type that all models accept.
pub fn is_picture(media: &ChatMedia) -> bool {
    let common = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    match &media.source {
        MediaSource::Base64 { media_type, .. } => common.contains(&media_type.as_str()),
        MediaSource::Url(_) | MediaSource::File(_) => true,
    }
}

/// The text of a plain text document.
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
