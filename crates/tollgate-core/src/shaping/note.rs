//! The truncation note: as text at the end of the content, and as data in `_meta`.

use serde_json::value::RawValue;

use super::caps::ResultCaps;
use super::content::text_item;
use super::pages;
use super::text_fit::fitting;
use crate::call::ResultHandle;
use crate::json::{self, Object};
use crate::tool::hidden_text;

/// Descriptions of what was truncated. Only the first are reported.
#[derive(Debug, Default)]
pub(super) struct CutLog {
    notes: Vec<String>,
    count: usize,
}

impl CutLog {
    const MAX_REPORTED_CUTS: usize = 4;

    pub(super) fn add(&mut self, what: String) {
        self.count += 1;
        if self.notes.len() < Self::MAX_REPORTED_CUTS {
            self.notes.push(what);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn words(&self) -> String {
        let mut words = self.notes.join("; ");
        if self.count > self.notes.len() {
            words.push_str(&format!("; and {} more", self.count - self.notes.len()));
        }
        let (words, _) = hidden_text::clean(&words);
        words[..fitting(&words, CutNote::WORDS, usize::MAX)].to_owned()
    }
}

pub(super) struct CutNote<'n> {
    pub(super) cuts: &'n CutLog,
    pub(super) handle: Option<ResultHandle>,
    /// The result before truncation.
    pub(super) whole: &'n str,
    pub(super) caps: &'n ResultCaps,
}

impl CutNote<'_> {
    /// Maximum size of a note, as text and data.
    pub(super) const BYTES: usize = 640;
    const WORDS: usize = 360;
    const META: &'static str = "dev.tollgate/result";

    pub(super) fn added_to(&self, mut result: Object<'_>) -> Box<RawValue> {
        let words = self.cuts.words();
        let mut note = format!("[cut: {words}]");
        if let Some(handle) = self.handle {
            let pages = pages::count(self.whole, self.caps.page_bytes);
            note = format!("[cut: {words}; read the rest with handle {handle}, pages: {pages}]");
            tell(&mut result, handle, &format!("\"pages\":{pages}"));
        }
        let note = text_item(&note);
        let content = result.get("content").map_or("[]", RawValue::get);
        let content = match content[1..content.len() - 1].trim() {
            "" => format!("[{note}]"),
            items => format!("[{items},{note}]"),
        };
        result.set("content", json::raw(content));
        result.to_raw()
    }
}

/// Stores the handle in the result's `_meta`, where programs find it.
pub(super) fn tell(result: &mut Object<'_>, handle: ResultHandle, more: &str) {
    let mut meta = result.object("_meta").unwrap_or_default().into_owned();
    meta.set(CutNote::META, json::raw(format!("{{\"handle\":\"{handle}\",{more}}}")));
    result.set("_meta", meta.to_raw());
}
