//! Paging through a retained result.
//!
//! Lists page by items, objects by fields, and an object that is mostly one list by that list; text
//! pages end at line ends where possible. Every page is valid JSON, no larger than requested, and
//! nothing is lost between pages.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::content::{ContentItems, json_in, json_in_result_string};
use super::text_fit::fitting;
use crate::json::{self, Object};

mod walk;

use walk::PageWalk;

/// Minimum page size.
pub const LEAST_PAGE_BYTES: usize = 256;

#[derive(Debug)]
pub struct Page {
    /// From 1.
    pub number: u32,
    pub pages: u32,
    pub next: Option<u32>,
    pub holds: PageContent,
    pub data: Box<RawValue>,
}

/// Which part of the whole a page contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageContent {
    /// All of it.
    Whole,
    /// Items of a list of length `of`, starting at index `first`.
    Items { first: usize, of: usize },
    /// Some fields of an object.
    Fields,
    /// A piece of a text, as a string; the concatenation is the text. `part` names the item or
    /// field, if it is not the whole.
    Text { part: Option<String> },
    /// A piece of JSON text that is too large for one page and cannot be split into parts, as a
    /// string.
    Source { part: Option<String> },
}

/// There is no page of that number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSuchPageError {
    pub pages: u32,
}

/// Page `number` of a result.
pub fn page(result: &RawValue, number: u32, page_bytes: usize) -> Result<Page, NoSuchPageError> {
    let mut walk = PageWalk::new(page_bytes.max(LEAST_PAGE_BYTES), Some(number));
    walk.document(&PagedDocument::of(result.get()));
    let pages = walk.pages();
    let (holds, data) = walk.into_page().ok_or(NoSuchPageError { pages })?;
    let next = (number < pages).then(|| number + 1);
    Ok(Page { number, pages, next, holds, data: json::raw(data) })
}

/// How many pages there are.
pub(super) fn count(result: &str, page_bytes: usize) -> u32 {
    let mut walk = PageWalk::new(page_bytes.max(LEAST_PAGE_BYTES), None);
    walk.document(&PagedDocument::of(result));
    walk.pages()
}

/// What is paged of a result.
enum PagedDocument<'r> {
    Json(Cow<'r, str>),
    Text(String),
}

impl<'r> PagedDocument<'r> {
    /// The data: structured content, unless the content has more; else the text, or the JSON in it.
    /// A result with non-text items is paged as a whole.
    fn of(result: &'r str) -> Self {
        let Ok(object) = Object::parse(result) else { return Self::Json(result.into()) };
        let structured = object.get("structuredContent").map(RawValue::get);
        let structured = structured.filter(|text| *text != "null");
        let Some(mut texts) = only_texts(&object) else { return Self::Json(result.into()) };
        let size: usize = texts.iter().map(String::len).sum();
        let is_repeated = || texts.iter().all(|text| json_in(text).is_some());
        match structured {
            Some(structured) if structured.len() >= size || is_repeated() => {
                let document = json_in_result_string(structured);
                Self::Json(document.unwrap_or_else(|| structured.to_owned()).into())
            }
            Some(_) => Self::Json(result.into()),
            None => match (texts.len(), texts.pop()) {
                (1, Some(text)) => match json_in(&text) {
                    Some(document) => Self::Json(document.to_owned().into()),
                    None => Self::Text(text),
                },
                _ => Self::Json(result.into()),
            },
        }
    }
}

/// The texts of the content, if it contains only texts.
fn only_texts(result: &Object<'_>) -> Option<Vec<String>> {
    const MAX_TEXT_ITEMS: usize = 64;
    let content = result.get("content").map_or("[]", RawValue::get);
    let items = ContentItems::read(content, MAX_TEXT_ITEMS)?;
    let text = |item: &RawValue| {
        let item = Object::parse(item.get()).ok()?;
        let is_text = item.string("type").is_some_and(|kind| kind == "text");
        is_text.then(|| item.string("text").map(Cow::into_owned)).flatten()
    };
    (items.count == items.first.len()).then_some(())?;
    items.first.into_iter().map(text).collect()
}

/// The end of a text page: at a line end if that is not too early, else at a word end, else where
/// the room ends.
fn end_of_page(text: &str, room: usize) -> usize {
    let end = fitting(text, room, usize::MAX);
    if end == text.len() {
        return end;
    }
    let line = text[..end].rfind('\n').map(|at| at + 1).filter(|at| *at > end / 2);
    let word = || text[..end].rfind(' ').map(|at| at + 1).filter(|at| *at > end - end / 4);
    line.or_else(word).unwrap_or(end)
}
