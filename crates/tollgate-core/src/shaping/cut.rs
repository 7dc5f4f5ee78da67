//! Truncates results that are too large or too deeply nested for their consumer. Cuts between whole
//! parts, keeps the JSON valid, and states what is missing and where it is.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::caps::{ResultCaps, StructuredPolicy};
use super::content::{json_in_result_string, unwrap_result_string};
use super::content_budget::{self, ContentBudget};
use super::note::{CutLog, CutNote};
use super::prune::{EscapeContext, OmissionMarks, prune, shallow, shares};
use crate::call::ResultHandle;
use crate::json::{self, Object};
use crate::schema::Schema;

/// Below this size only the nesting depth is checked.
const ALWAYS_FINE: usize = 64 << 10;
/// Field names and punctuation of every result.
const FRAME_BYTES: usize = 64;
/// Maximum additional top-level fields.
const MAX_OTHER_FIELDS: usize = 64;
/// Structured content is not shown with less room than this.
const LEAST_STRUCTURED: usize = 64;

/// The consumer and rules of a truncation.
#[derive(Clone, Copy)]
pub(super) struct CutRules<'r> {
    pub(super) caps: &'r ResultCaps,
    /// The schema of structured content.
    pub(super) schema: Option<&'r Schema>,
    /// Handle of the full result.
    pub(super) handle: Option<ResultHandle>,
}

/// A shorter form of `result`; `None` if it fits.
pub(super) fn cut(result: &str, rules: CutRules<'_>) -> Option<Box<RawValue>> {
    let caps = rules.caps;
    let room = caps.result_bytes();
    let unwrapped = match caps.structured {
        StructuredPolicy::Read => with_unwrapped_result(result, caps.depth),
        // Clients expect a string where the schema says so.
        StructuredPolicy::Checked => None,
    };
    let whole = result;
    let result = unwrapped.as_deref().unwrap_or(result);
    let is_deep = json::is_deeper_than(caps.depth, result);
    let small = ALWAYS_FINE.min(caps.text_bytes).min(caps.binary_bytes).min(room);
    if !is_deep && result.len() <= small && caps.structured == StructuredPolicy::Checked {
        return None;
    }
    let flat = if is_deep { shallow(result, caps.depth).into() } else { Cow::Borrowed(result) };
    let object = Object::parse(&flat).ok()?;
    if !is_deep && result.len() <= room {
        let structured = object.get("structuredContent").map_or(0, |raw| raw.get().len());
        let content = object.get("content").map_or("[]", RawValue::get);
        if structured <= caps.text_bytes && content_budget::fit(content, caps) {
            return None;
        }
    }
    let left = room.saturating_sub(CutNote::BYTES);
    let depth = if is_deep { DepthState::Cut } else { DepthState::Fine };
    let mut cutter = ResultCutter { rules, depth, left, cuts: CutLog::default() };
    let shorter = cutter.cut(&object);
    let bare = bare(&shorter, rules);
    let note = CutNote { cuts: &cutter.cuts, handle: rules.handle, whole, caps };
    let shorter = note.added_to(shorter);
    Some(if shorter.get().len() <= room { shorter } else { note.added_to(bare) })
}

/// The result with the JSON of a lone `result` string as JSON, so that it is cut between its parts
/// and its nesting counts. `None` if there is none, or if it is ambiguous.
fn with_unwrapped_result(result: &str, depth: usize) -> Option<String> {
    let mut object = Object::parse(result).ok()?;
    let unwrapped = unwrap_result_string(object.get("structuredContent")?.get())?;
    json::value(&shallow(&unwrapped, depth)).ok()?;
    object.set("structuredContent", json::raw(unwrapped));
    Some(object.to_text())
}

/// Whether anything was cut for its depth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DepthState {
    Fine,
    Cut,
}

struct ResultCutter<'r> {
    rules: CutRules<'r>,
    depth: DepthState,
    /// Bytes left for the rest.
    left: usize,
    cuts: CutLog,
}

impl ResultCutter<'_> {
    fn cut(&mut self, result: &Object<'_>) -> Object<'static> {
        let caps = self.rules.caps;
        if self.depth == DepthState::Cut {
            self.cuts.add(format!("values nested deeper than {} levels were left out", caps.depth));
        }
        let mut result = self.keep_frame_fields(result);
        self.left = self.left.saturating_sub(FRAME_BYTES);
        let content = result.get("content").map_or("[]", RawValue::get).to_owned();
        let structured = result.get("structuredContent").map(|raw| raw.get().to_owned());
        let size = structured.as_ref().map_or(0, String::len);
        let is_tight = size.saturating_add(content.len()) > self.left;
        let is_said_twice = is_tight
            && caps.structured == StructuredPolicy::Read
            && structured.is_some()
            && content_budget::are_json(&content);
        let mut share = size;
        if is_said_twice {
            self.cuts.add("text that repeats the structured content was left out".to_owned());
            share = share.min(self.left);
        } else if is_tight {
            share = shares(&[size.min(caps.text_bytes), content.len()], self.left)[0];
        }
        if let Some(structured) = structured {
            self.cut_structured(&mut result, &structured, share);
        }
        if is_said_twice {
            result.set("content", json::raw("[]".to_owned()));
            return result;
        }
        let before = self.cuts.len();
        let parts = ContentBudget { caps, text_left: caps.text_bytes, left: self.left };
        let retained = parts.keep(&content, &mut self.cuts);
        if self.cuts.len() > before {
            result.set("content", json::raw(format!("[{}]", retained.join(","))));
        }
        result
    }

    /// The result without most metadata: the first additional fields get a small share of the room.
    fn keep_frame_fields(&mut self, result: &Object<'_>) -> Object<'static> {
        let mut room = self.left / 4;
        let most = self.left / 8;
        let mut framed = Object::new();
        let mut others = 0;
        let mut left_out = 0;
        for (key, value) in result.iter() {
            let size = key.len().saturating_add(value.get().len()).saturating_add(6);
            let is_known = matches!(key, "content" | "structuredContent" | "isError");
            if !is_known && (size > most.min(room) || others == MAX_OTHER_FIELDS) {
                left_out += 1;
                continue;
            }
            if !is_known {
                others += 1;
                room -= size;
                self.left -= size;
            }
            framed.set(key.to_owned(), value.to_owned());
        }
        if left_out > 0 {
            self.cuts.add(format!("{left_out} fields other than the content were left out"));
        }
        framed
    }

    /// Prunes the structured content to `share` bytes, or removes it.
    fn cut_structured(&mut self, result: &mut Object<'_>, whole: &str, share: usize) {
        let CutRules { caps, schema, .. } = self.rules;
        let schema = schema.filter(|_| caps.structured == StructuredPolicy::Checked);
        let room = share.min(caps.text_bytes);
        if whole.len() <= room && self.depth == DepthState::Fine {
            self.left = self.left.saturating_sub(whole.len());
            return;
        }
        let marks = if schema.is_some() { OmissionMarks::Silent } else { OmissionMarks::Shown };
        let shorter =
            (room >= LEAST_STRUCTURED || whole.len() <= room).then(|| shorten(whole, room, marks));
        let fits = |text: &str| schema.is_none_or(|schema| is_accepted(schema, text));
        let size = whole.len();
        match shorter.filter(|text| fits(text)) {
            Some(text) => {
                if text.len() < size {
                    self.cuts.add(format!("structured content of {size} bytes was cut"));
                }
                self.left = self.left.saturating_sub(text.len());
                result.set("structuredContent", json::raw(text));
            }
            None => {
                self.cuts.add(format!("structured content of {size} bytes was left out"));
                result.remove("structuredContent");
                if schema.is_some() {
                    // Clients reject a success without the structured content that the tool
                    // declares.
                    result.set("isError", json::raw("true".to_owned()));
                }
            }
        }
    }
}

/// Structured content in `room` bytes. JSON in a lone `result` string is cut between its parts.
fn shorten(structured: &str, room: usize, marks: OmissionMarks) -> String {
    const WRAPPER: &str = "{\"result\":\"\"}";
    match json_in_result_string(structured) {
        Some(document) => {
            let room = room.saturating_sub(WRAPPER.len());
            let mut wrapper = Object::new();
            // The schema only says that it is a string: marks fit.
            let text = prune(&document, room, EscapeContext::InString, OmissionMarks::Shown);
            wrapper.set_string("result", &text);
            wrapper.to_text()
        }
        None => prune(structured, room, EscapeContext::Plain, marks),
    }
}

fn is_accepted(schema: &Schema, text: &str) -> bool {
    json::value(text).is_ok_and(|value| schema.check(&value).is_ok())
}

/// Only the error flag, set if the result must be treated as an error.
fn bare(result: &Object<'_>, rules: CutRules<'_>) -> Object<'static> {
    let is_error = result.get("isError").is_some_and(|raw| raw.get() == "true");
    let is_promised = rules.schema.is_some() && rules.caps.structured == StructuredPolicy::Checked;
    let mut bare = Object::new();
    bare.set("content", json::raw("[]".to_owned()));
    if is_error || is_promised {
        bare.set("isError", json::raw("true".to_owned()));
    }
    bare
}
