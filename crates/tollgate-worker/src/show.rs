//! Formats values for `print`: like Starlark's `str`, but without escapes (which cost a model
//! tokens, and are misread), and bounded in depth and size.

use std::fmt::Write as _;

use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::tuple::TupleRef;

use crate::outcome::Outcome;

/// Nesting of lists and dicts; deeper values are left out.
const MAX_SHOWN_DEPTH: usize = 100;
const LEFT_OUT: &str = "…";

/// Stops soon after `out` has `room` bytes: the rest would not be printed anyway.
pub(crate) fn show(value: Value<'_>, room: usize, out: &mut String) {
    match value.unpack_str() {
        Some(text) => out.push_str(within(text, room.saturating_sub(out.len()))),
        None => ValuePrinter { out, room }.value(value, 0),
    }
}

struct ValuePrinter<'a> {
    out: &'a mut String,
    room: usize,
}

impl ValuePrinter<'_> {
    fn value(&mut self, value: Value<'_>, depth: usize) {
        if let Some(text) = value.unpack_str() {
            return self.string(text);
        }
        let list = ListRef::from_value(value).map(|list| list.content());
        let tuple = TupleRef::from_value(value).map(|tuple| tuple.content());
        if depth == MAX_SHOWN_DEPTH && (list.is_some() || tuple.is_some() || is_dict(value)) {
            return self.out.push_str(LEFT_OUT);
        }
        if let Some(items) = list {
            return self.items(["[", "]"], items, depth + 1);
        }
        if let Some(items) = tuple {
            let end = if items.len() == 1 { ",)" } else { ")" };
            return self.items(["(", end], items, depth + 1);
        }
        if let Some(dict) = DictRef::from_value(value) {
            return self.entries(dict.iter(), depth + 1);
        }
        match Outcome::from_value(value) {
            Some(outcome) => self.fields(outcome, depth + 1),
            None => self.out.push_str(&value.to_repr()),
        }
    }

    fn items(&mut self, [begin, end]: [&str; 2], items: &[Value<'_>], depth: usize) {
        self.out.push_str(begin);
        for (place, item) in items.iter().enumerate() {
            if self.is_full() {
                return;
            }
            self.comma(place);
            self.value(*item, depth);
        }
        self.out.push_str(end);
    }

    fn entries<'v>(&mut self, entries: impl Iterator<Item = (Value<'v>, Value<'v>)>, depth: usize) {
        self.out.push('{');
        for (place, (key, value)) in entries.enumerate() {
            if self.is_full() {
                return;
            }
            self.comma(place);
            self.value(key, depth);
            self.out.push_str(": ");
            self.value(value, depth);
        }
        self.out.push('}');
    }

    fn fields<'v>(&mut self, outcome: &Outcome<'v>, depth: usize) {
        self.out.push('{');
        for (place, (name, value)) in outcome.fields().enumerate() {
            self.comma(place);
            let _ = write!(self.out, "\"{name}\": ");
            self.value(value, depth);
        }
        self.out.push('}');
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for letter in within(text, self.room.saturating_sub(self.out.len())).chars() {
            match letter {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                letter if letter.is_control() => {
                    let _ = write!(self.out, "\\x{:02x}", letter as u32);
                }
                letter => self.out.push(letter),
            }
        }
        self.out.push('"');
    }

    fn comma(&mut self, place: usize) {
        if place > 0 {
            self.out.push_str(", ");
        }
    }

    fn is_full(&self) -> bool {
        self.out.len() > self.room
    }
}

/// One character more than fits, so that the overflow is noticed.
fn within(text: &str, room: usize) -> &str {
    &text[..text.ceil_char_boundary(text.len().min(room.saturating_add(1)))]
}

fn is_dict(value: Value<'_>) -> bool {
    DictRef::from_value(value).is_some()
}
