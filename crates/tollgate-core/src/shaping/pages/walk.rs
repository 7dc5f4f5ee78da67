//! Walks a document once, page by page, and keeps the requested page.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{PageContent, PagedDocument, end_of_page};
use crate::json;

/// An object with more fields is not treated as a frame around a list.
const FRAME_FIELDS: usize = 64;
/// Maximum nested frames.
const FRAMES: usize = 8;
/// Many parsers fail beyond this depth: deeper parts are shown as text.
const MAX_JSON_DEPTH: usize = 48;

pub(super) struct PageWalk {
    room: usize,
    requested: Option<u32>,
    number: u32,
    found: Option<(PageContent, String)>,
}

/// The constant part of every page around the paged part.
#[derive(Default)]
struct PageFrame {
    before: String,
    after: String,
    /// The path of the paged part.
    path: Vec<String>,
}

impl PageFrame {
    fn bytes(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// The dotted path of a part inside.
    fn part(&self, key: &str) -> String {
        let outer = self.path.iter().map(String::as_str);
        outer.chain([key]).collect::<Vec<_>>().join(".")
    }
}

impl PageWalk {
    pub(super) fn new(room: usize, requested: Option<u32>) -> Self {
        Self { room, requested, number: 0, found: None }
    }

    pub(super) fn pages(&self) -> u32 {
        self.number
    }

    pub(super) fn into_page(self) -> Option<(PageContent, String)> {
        self.found
    }

    pub(super) fn document(&mut self, document: &PagedDocument<'_>) {
        match document {
            PagedDocument::Text(text) => self.text(text, &PageContent::Text { part: None }),
            PagedDocument::Json(text)
                if text.len() <= self.room && !json::is_deeper_than(MAX_JSON_DEPTH, text) =>
            {
                self.page(|| (PageContent::Whole, text.to_string()));
            }
            PagedDocument::Json(text) => self.json(text, &PageFrame::default(), None),
        }
    }

    fn page(&mut self, make: impl FnOnce() -> (PageContent, String)) {
        self.number = self.number.saturating_add(1);
        if self.requested == Some(self.number) {
            self.found = Some(make());
        }
    }

    /// `part` is its name, if it is part of a larger document.
    fn json(&mut self, text: &str, frame: &PageFrame, part: Option<String>) {
        let is_whole = part.is_none();
        let done = match text.as_bytes().first() {
            Some(b'[') if is_whole => self.list(text, frame),
            Some(b'{') if is_whole => self.object(text, frame),
            _ => None,
        };
        if done.is_some() {
            return;
        }
        match serde_json::from_str::<&RawValue>(text).ok().and_then(json::string) {
            Some(string) => self.text(&string, &PageContent::Text { part }),
            None => self.text(text, &PageContent::Source { part }),
        }
    }

    fn text(&mut self, text: &str, holds: &PageContent) {
        let mut rest = text;
        loop {
            let end = end_of_page(rest, self.room - 2);
            let (piece, more) = rest.split_at(end);
            self.page(|| {
                let mut data = String::with_capacity(piece.len() + 2);
                json::push_string(&mut data, piece);
                (holds.clone(), data)
            });
            rest = more;
            if rest.is_empty() {
                return;
            }
        }
    }

    /// `None`, and no page, if it cannot be parsed.
    fn list(&mut self, text: &str, frame: &PageFrame) -> Option<()> {
        let first = self.number;
        let gathered = PageGatherer { walk: self, frame };
        let count = serde_json::Deserializer::from_str(text).deserialize_seq(gathered);
        if count.is_err() {
            self.number = first;
        }
        let count = count.ok()?;
        if let Some((PageContent::Items { of, .. }, _)) = &mut self.found {
            *of = count;
        }
        Some(())
    }

    fn object(&mut self, text: &str, frame: &PageFrame) -> Option<()> {
        let fields: LeadingFields<'_> =
            serde_json::Deserializer::from_str(text).deserialize_map(LeadingFieldsVisitor).ok()?;
        if let Some((inner, frame)) = split_frame(&fields, frame, self.room / 4) {
            self.json(inner, &frame, None);
            return Some(());
        }
        let first = self.number;
        let gathered = PageGatherer { walk: self, frame };
        let count = serde_json::Deserializer::from_str(text).deserialize_map(gathered);
        if count.is_err() {
            self.number = first;
        }
        count.ok().map(drop)
    }
}

/// The list or object that makes up most of an object, and the rest as a frame.
fn split_frame<'a>(
    fields: &LeadingFields<'a>,
    outer: &PageFrame,
    room: usize,
) -> Option<(&'a str, PageFrame)> {
    let (at, (key, largest)) =
        fields.first.iter().enumerate().max_by_key(|(_, (_, value))| value.len())?;
    if fields.are_more || !largest.starts_with(['[', '{']) || outer.path.len() >= FRAMES {
        return None;
    }
    let path = outer.path.iter().cloned().chain([key.clone()]).collect();
    let mut frame = PageFrame { before: outer.before.clone(), after: String::new(), path };
    frame.before.push('{');
    for (index, (key, value)) in fields.first.iter().enumerate() {
        let out = if index <= at { &mut frame.before } else { &mut frame.after };
        if index > 0 {
            out.push(',');
        }
        json::push_string(out, key);
        out.push(':');
        if index != at {
            out.push_str(value);
        }
        if frame.bytes() > room {
            return None;
        }
    }
    frame.after.push('}');
    frame.after.push_str(&outer.after);
    (frame.bytes() <= room).then_some((*largest, frame))
}

struct LeadingFields<'a> {
    first: Vec<(String, &'a str)>,
    are_more: bool,
}

struct LeadingFieldsVisitor;

impl<'de> Visitor<'de> for LeadingFieldsVisitor {
    type Value = LeadingFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LeadingFields<'de>, A::Error> {
        let mut fields = LeadingFields { first: Vec::new(), are_more: false };
        while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
            if fields.first.len() < FRAME_FIELDS {
                fields.first.push((key, value.get()));
            } else {
                fields.are_more = true;
            }
        }
        Ok(fields)
    }
}

/// Collects whole parts into pages; an oversized part gets pages of its own.
struct PageGatherer<'w> {
    walk: &'w mut PageWalk,
    frame: &'w PageFrame,
}

/// What the parts of a page are put into.
#[derive(Clone, Copy)]
enum PageContainer {
    List,
    Object,
}

/// The page being filled.
struct PageDraft {
    text: String,
    first: usize,
    count: usize,
}

impl PageGatherer<'_> {
    fn room(&self) -> usize {
        self.walk.room.saturating_sub(self.frame.bytes() + 2)
    }

    /// An empty frame is also a page, if it precedes a part with pages of its own.
    fn flush(&mut self, sheet: &mut PageDraft, container: PageContainer) {
        if sheet.count > 0 || (sheet.first == 0 && self.frame.bytes() > 0) {
            let text = std::mem::take(&mut sheet.text);
            let first = sheet.first;
            let PageFrame { before, after, .. } = self.frame;
            self.walk.page(|| match container {
                PageContainer::List => {
                    let holds = PageContent::Items { first, of: 0 };
                    (holds, format!("{before}[{text}]{after}"))
                }
                PageContainer::Object => {
                    (PageContent::Fields, format!("{before}{{{text}}}{after}"))
                }
            });
        }
        sheet.first += sheet.count;
        sheet.count = 0;
    }

    /// Adds an encoded part; returns whether it fits on a page.
    fn add(&mut self, sheet: &mut PageDraft, part: &str, container: PageContainer) -> bool {
        if sheet.count > 0 && sheet.text.len() + 1 + part.len() > self.room() {
            self.flush(sheet, container);
        }
        if part.len() > self.room() || json::is_deeper_than(MAX_JSON_DEPTH, part) {
            self.flush(sheet, container);
            return false;
        }
        if sheet.count > 0 {
            sheet.text.push(',');
        }
        sheet.text.push_str(part);
        sheet.count += 1;
        true
    }
}

impl<'de> Visitor<'de> for PageGatherer<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<usize, A::Error> {
        let container = PageContainer::List;
        let mut sheet = PageDraft { text: String::new(), first: 0, count: 0 };
        while let Some(item) = seq.next_element::<&'de RawValue>()? {
            if !self.add(&mut sheet, item.get(), container) {
                let part = self.frame.part(&sheet.first.to_string());
                self.walk.json(item.get(), &PageFrame::default(), Some(part));
                sheet.first += 1;
            }
        }
        self.flush(&mut sheet, container);
        Ok(sheet.first)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<usize, A::Error> {
        let container = PageContainer::Object;
        let mut sheet = PageDraft { text: String::new(), first: 0, count: 0 };
        while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
            let mut field = String::new();
            json::push_string(&mut field, &key);
            field.push(':');
            field.push_str(value.get());
            if !self.add(&mut sheet, &field, container) {
                let part = self.frame.part(&crate::text::truncate_chars(&key, 128));
                if key.len() <= 128 {
                    self.walk.json(value.get(), &PageFrame::default(), Some(part));
                } else {
                    // An oversized key becomes a part of its own.
                    self.walk.text(&field, &PageContent::Source { part: Some(part) });
                }
                sheet.first += 1;
            }
        }
        self.flush(&mut sheet, container);
        Ok(sheet.first)
    }
}
