//! Content items under a size budget: how many are kept, and how much of each.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::caps::{ResultCaps, StructuredPolicy};
use super::content::{ContentItems, json_in};
use super::note::CutLog;
use super::prune::{EscapeContext, OmissionMarks, prune, shallow};
use super::text_fit::fitting;
use crate::json::{self, MalformedJsonError, Object};

/// JSON is not shown with less room than this.
const LEAST_JSON: usize = 64;
/// `\u0041`
const MAX_ESCAPE_BYTES: usize = 6;

/// The remaining budget.
pub(super) struct ContentBudget<'c> {
    pub(super) caps: &'c ResultCaps,
    /// For texts, decoded.
    pub(super) text_left: usize,
    /// For everything, encoded.
    pub(super) left: usize,
}

/// Whether all items fit unchanged.
pub(super) fn fit(content: &str, caps: &ResultCaps) -> bool {
    let Some(items) = ContentItems::read(content, caps.items) else { return true };
    let mut parts = ContentBudget { caps, text_left: caps.text_bytes, left: usize::MAX };
    let is_whole = |item: &RawValue| matches!(parts.charge_whole(item.get()), ItemFit::Fits);
    items.count == items.first.len() && items.first.into_iter().all(is_whole)
}

/// Whether an item fits unchanged, and why not.
enum ItemFit<'i> {
    Fits,
    TooLong(Box<ContentItem<'i>>),
    LeftOut(String),
}

impl ContentBudget<'_> {
    /// The items that fit, unchanged or shortened.
    pub(super) fn keep(mut self, content: &str, cuts: &mut CutLog) -> Vec<String> {
        let Some(ContentItems { first, count }) = ContentItems::read(content, self.caps.items)
        else {
            return Vec::new();
        };
        if count > first.len() {
            cuts.add(format!("{} of {count} items were left out", count - first.len()));
        }
        first.into_iter().filter_map(|item| self.item(item.get(), cuts)).collect()
    }

    fn item(&mut self, raw: &str, cuts: &mut CutLog) -> Option<String> {
        let item = match self.charge_whole(raw) {
            ItemFit::Fits => return Some(raw.to_owned()),
            ItemFit::LeftOut(why) => {
                cuts.add(why);
                return None;
            }
            ItemFit::TooLong(item) => item,
        };
        let Some(text) = item.text() else {
            cuts.add(format!("text of {} bytes is invalid and was left out", item.text_bytes()));
            return None;
        };
        let Some((shorter, retained)) = self.shorter(&item, &text) else {
            cuts.add(format!("text of {} bytes was left out", text.len()));
            return None;
        };
        cuts.add(format!("text of {} bytes was cut to {retained}", text.len()));
        self.take(shorter.len(), retained);
        Some(shorter)
    }

    /// Charges the budget for an item, if it fits unchanged.
    fn charge_whole<'i>(&mut self, raw: &'i str) -> ItemFit<'i> {
        let size = raw.len();
        let fits = |room: &Self, text: usize| size < room.left && text <= room.text_left;
        let left_out =
            |size: usize| ItemFit::LeftOut(format!("an item of {size} bytes was left out"));
        let item = match ContentItem::read(raw) {
            Ok(item) => item,
            Err(_) if fits(self, size) => {
                self.take(size, size);
                return ItemFit::Fits;
            }
            Err(error) => {
                let why = format!("an item of {size} bytes cannot be read ({error}), left out");
                return ItemFit::LeftOut(why);
            }
        };
        if item.binary_bytes() > self.caps.binary_bytes {
            return left_out(item.binary_bytes());
        }
        // Too long even if every character is an escape: no need to decode it.
        let is_hopeless = item.text_bytes() / MAX_ESCAPE_BYTES > self.text_left;
        let length = if is_hopeless { Some(usize::MAX) } else { self.length(&item) };
        match length {
            None if size < self.left => {
                self.take(size, 0);
                ItemFit::Fits
            }
            None => left_out(size),
            Some(length) if fits(self, length) => {
                self.take(size, length);
                ItemFit::Fits
            }
            Some(_) => ItemFit::TooLong(Box::new(item)),
        }
    }

    /// The length of the item's text, if any; unlimited if it is nested too deeply. Undecodable
    /// text counts with its encoded length.
    fn length(&self, item: &ContentItem<'_>) -> Option<usize> {
        match (item.text(), item.text_bytes()) {
            (None, 0) => None,
            (None, written) => Some(written),
            (Some(text), _) if self.is_too_deep(&text) => Some(usize::MAX),
            (Some(text), _) => Some(text.len()),
        }
    }

    fn take(&mut self, size: usize, text: usize) {
        self.left = self.left.saturating_sub(size.saturating_add(1));
        self.text_left = self.text_left.saturating_sub(text);
    }

    /// The item with as much of its text as fits, and that length.
    fn shorter(&self, item: &ContentItem<'_>, text: &str) -> Option<(String, usize)> {
        let room = self.left.checked_sub(item.with_text("").len() + 1)?;
        let text = match json_in(text) {
            Some(document) => {
                let room = room.min(self.text_left);
                let flat = if self.is_too_deep(document) {
                    Cow::Owned(shallow(document, self.caps.depth))
                } else {
                    Cow::Borrowed(document)
                };
                let fits = room >= LEAST_JSON || flat.len() <= room;
                fits.then(|| prune(&flat, room, EscapeContext::InString, OmissionMarks::Shown))?
            }
            None => text[..fitting(text, room, self.text_left)].to_owned(),
        };
        (!text.is_empty()).then(|| (item.with_text(&text), text.len()))
    }

    /// Pure MCP consumers treat the text as text, whatever it contains.
    fn is_too_deep(&self, text: &str) -> bool {
        self.caps.structured == StructuredPolicy::Read
            && json::is_deeper_than(self.caps.depth, text)
            && json_in(text).is_some()
    }
}

/// An item, and its embedded resource if any.
struct ContentItem<'a> {
    item: Object<'a>,
    resource: Option<Object<'static>>,
}

impl<'a> ContentItem<'a> {
    fn read(raw: &'a str) -> Result<Self, MalformedJsonError> {
        let item = Object::parse(raw)?;
        let resource = item.get("resource").map(|raw| Object::parse(raw.get())).transpose()?;
        let resource = resource.map(Object::into_owned);
        Ok(Self { item, resource })
    }

    fn binary_bytes(&self) -> usize {
        let blob = self.resource.as_ref().and_then(|resource| resource.get("blob"));
        self.item.get("data").or(blob).map_or(0, |raw| raw.get().len().saturating_sub(2))
    }

    /// Encoded length of the text.
    fn text_bytes(&self) -> usize {
        let inside = || self.resource.as_ref()?.get("text");
        self.item.get("text").or_else(inside).map_or(0, |raw| raw.get().len())
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.item.string("text").or_else(|| self.resource.as_ref()?.string("text"))
    }

    fn with_text(&self, text: &str) -> String {
        let mut item = self.item.clone();
        match &self.resource {
            Some(resource) if !item.contains("text") => {
                let mut resource = resource.clone();
                resource.set_string("text", text);
                item.set("resource", resource.to_raw());
            }
            _ => item.set_string("text", text),
        }
        item.to_text()
    }
}

/// Whether the content consists only of texts that are JSON.
pub(super) fn are_json(content: &str) -> bool {
    const MAX_JSON_ITEMS: usize = 4;
    let Some(items) = ContentItems::read(content, MAX_JSON_ITEMS) else { return false };
    let is_json = |item: &&RawValue| {
        let Ok(item) = Object::parse(item.get()) else { return false };
        item.string("text").is_some_and(|text| json_in(&text).is_some())
    };
    items.count == items.first.len() && items.first.iter().all(is_json)
}
