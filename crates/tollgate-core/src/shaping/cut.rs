//! Cuts results that are too large, between whole parts of them, never inside their JSON. Reads
//! no more of a result than it keeps: a million tiny items cost a million bytes, not a tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{self, Malformed, Object};

/// How much of a result goes on to the caller.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    pub text_bytes: usize,
    /// Of one image, audio or blob, as it is encoded.
    pub binary_bytes: usize,
    pub items: usize,
    /// Arrays and objects within each other.
    pub depth: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { text_bytes: 1 << 20, binary_bytes: 8 << 20, items: 64, depth: 64 }
    }
}

/// Below this only the depth of a result can matter; nothing else of it is looked at.
const ALWAYS_FINE: usize = 64 << 10;

/// A shorter result, or `None` if it may stay as it is.
pub(super) fn cut(result: &RawValue, caps: &Caps) -> Option<Box<RawValue>> {
    if json::is_deeper_than(caps.depth, result.get()) {
        return Some(replaced(result, "the result is nested too deeply and was left out"));
    }
    if result.get().len() <= ALWAYS_FINE.min(caps.text_bytes) {
        return None;
    }
    let mut object = Object::parse(result.get()).ok()?;
    let mut cuts = Vec::new();
    let kept = object.get("content").and_then(|raw| kept(raw, caps, &mut cuts));
    let structured = object.get("structuredContent").map(|raw| raw.get().len());
    if let Some(size) = structured.filter(|size| *size > caps.text_bytes) {
        cuts.push(format!("structured content of {size} bytes was left out"));
        object.remove("structuredContent");
    }
    if cuts.is_empty() {
        return None;
    }
    let mut content = kept.unwrap_or_default();
    content.push(note(&format!("[cut: {}]", cuts.join("; "))));
    object.set("content", json::raw(format!("[{}]", content.join(","))));
    Some(object.to_raw())
}

/// The items that fit, as they are or shortened; `None` if there is no list.
fn kept(content: &RawValue, caps: &Caps, cuts: &mut Vec<String>) -> Option<Vec<String>> {
    let Items { first, count } = Items::read(content, caps.items)?;
    if count > first.len() {
        cuts.push(format!("{} of {count} items were left out", count - first.len()));
    }
    let mut left = caps.text_bytes;
    let mut shortened = |raw: &RawValue| {
        let (mut item, mut resource) = match item(raw) {
            Ok(read) => read,
            Err(_) if raw.get().len() <= left => {
                left -= raw.get().len();
                return Some(raw.get().to_owned());
            }
            Err(error) => {
                let size = raw.get().len();
                cuts.push(format!("an item of {size} bytes cannot be read ({error}), left out"));
                return None;
            }
        };
        let blob = resource.as_ref().and_then(|resource| resource.get("blob"));
        let size = item.get("data").or(blob).map_or(0, |raw| raw.get().len().saturating_sub(2));
        if size > caps.binary_bytes {
            cuts.push(format!("an item of {size} bytes was left out"));
            return None;
        }
        let mut is_cut = shorten(&mut item, &mut left, cuts);
        if let Some(resource) = &mut resource
            && shorten(resource, &mut left, cuts)
        {
            item.set("resource", resource.to_raw());
            is_cut = true;
        }
        Some(if is_cut { item.to_text() } else { raw.get().to_owned() })
    };
    Some(first.into_iter().filter_map(&mut shortened).collect())
}

/// An item and the resource in it.
fn item(raw: &RawValue) -> Result<(Object<'_>, Option<Object<'static>>), Malformed> {
    let item = Object::parse(raw.get())?;
    let resource = item.get("resource").map(|raw| Object::parse(raw.get())).transpose()?;
    let resource = resource.map(Object::into_owned);
    Ok((item, resource))
}

/// Cuts the `text` of this object to what is left. Says whether that was needed.
fn shorten(object: &mut Object<'_>, left: &mut usize, cuts: &mut Vec<String>) -> bool {
    let Some(text) = object.string("text") else { return false };
    if text.len() <= *left {
        *left -= text.len();
        return false;
    }
    cuts.push(format!("text of {} bytes was cut to {left}", text.len()));
    let text: Cow<'_, str> = Cow::Owned(text[..text.floor_char_boundary(*left)].to_owned());
    *left -= text.len();
    object.set_string("text", &text);
    true
}

/// The first items of a list, and how many there are.
struct Items<'a> {
    first: Vec<&'a RawValue>,
    count: usize,
}

impl<'a> Items<'a> {
    fn read(list: &'a RawValue, most: usize) -> Option<Self> {
        serde_json::Deserializer::from_str(list.get()).deserialize_seq(First(most)).ok()
    }
}

struct First(usize);

impl<'de> Visitor<'de> for First {
    type Value = Items<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items<'de>, A::Error> {
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
        Ok(Items { first, count })
    }
}

/// Only a word about the result, and whether it was an error.
fn replaced(result: &RawValue, why: &str) -> Box<RawValue> {
    let old = Object::parse(result.get()).unwrap_or_default();
    let mut new = Object::new();
    new.set("content", json::raw(format!("[{}]", note(&format!("[{why}]")))));
    if let Some(failed) = old.get("isError").filter(|raw| raw.get() == "true") {
        new.set("isError", failed.to_owned());
    }
    new.to_raw()
}

fn note(text: &str) -> String {
    let mut item = Object::new();
    item.set_string("type", "text");
    item.set_string("text", text);
    item.to_text()
}
