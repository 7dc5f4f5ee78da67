//! Lazy reading of result content: a million tiny items cost a million bytes, not a tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::Object;

/// The first items of a list, and the total count.
pub(super) struct ContentItems<'a> {
    pub(super) first: Vec<&'a RawValue>,
    pub(super) count: usize,
}

impl<'a> ContentItems<'a> {
    /// `None` if it is not a list.
    pub(super) fn read(list: &'a str, most: usize) -> Option<Self> {
        serde_json::Deserializer::from_str(list).deserialize_seq(FirstItemsVisitor(most)).ok()
    }
}

struct FirstItemsVisitor(usize);

impl<'de> Visitor<'de> for FirstItemsVisitor {
    type Value = ContentItems<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ContentItems<'de>, A::Error> {
        let mut first = Vec::new();
        while first.len() < self.0
            && let Some(item) = seq.next_element()?
        {
            first.push(item);
        }
        let mut count = first.len();
        if count == self.0 {
            while seq.next_element::<IgnoredAny>()?.is_some() {
                count += 1;
            }
        }
        Ok(ContentItems { first, count })
    }
}

/// The texts of the content, in order. Examines at most `most` items.
pub(super) fn texts(result: &Object<'_>, most: usize) -> Vec<String> {
    let items = result.get("content").and_then(|content| ContentItems::read(content.get(), most));
    let items = items.map(|items| items.first).unwrap_or_default();
    let text =
        |item: &RawValue| Object::parse(item.get()).ok()?.string("text").map(Cow::into_owned);
    items.into_iter().filter_map(text).collect()
}

/// The JSON object or list that makes up a text, optionally in a code fence.
pub(super) fn json_in(text: &str) -> Option<&str> {
    let text = strip_code_fence(text.trim());
    let fits = text.starts_with(['{', '[']) || text == "null";
    let sound = || serde_json::from_str::<&RawValue>(text).is_ok();
    (fits && sound()).then_some(text)
}

/// The JSON in structured content that is nothing but a `result` string: how FastMCP wraps what a
/// tool declared as `str` returns.
pub(super) fn json_in_result_string(structured: &str) -> Option<String> {
    // Most structured content is decided by its first bytes, however large it is.
    if !structured.trim_start_matches(['{', ' ', '\n', '\r', '\t']).starts_with("\"result\"") {
        return None;
    }
    let object = Object::parse(structured).ok()?;
    if object.iter().count() != 1 {
        return None;
    }
    let text = object.string("result")?;
    json_in(&text).map(str::to_owned)
}

/// Structured content with the JSON of [`json_in_result_string`] in place of the string.
pub(super) fn unwrap_result_string(structured: &str) -> Option<String> {
    json_in_result_string(structured).map(|document| format!("{{\"result\":{document}}}"))
}

fn strip_code_fence(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inside.and_then(|inside| inside.split_once('\n')) {
        Some((language, inside)) if matches!(language.trim(), "" | "json" | "JSON") => {
            inside.trim()
        }
        _ => text,
    }
}

/// A text item with this text.
pub(super) fn text_item(text: &str) -> String {
    let mut item = Object::new();
    item.set_string("type", "text");
    item.set_string("text", text);
    item.to_text()
}
