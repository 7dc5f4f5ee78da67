//! Pruning of JSON to a size limit while keeping it valid: lists keep their first items, long
//! strings their beginning, objects all fields that fit, and marks show what is missing.
//!
//! Room is shared so that small parts stay whole and large ones are pruned. Each pruned level is
//! parsed once more, for at most [`LEVELS`] levels: the work is linear, and the memory that of the
//! output.

use super::head::ContainerHead;
use crate::json;

/// Maximum levels that are pruned inside; oversized parts below are only named.
const LEVELS: usize = 12;
/// Of a list with only large items, this many are shown in part.
const PARTIAL_ITEMS: usize = 3;
/// A field is shown if its value gets this much, or all it needs.
const LEAST_VALUE: usize = 32;
/// `"…"`, with room for escapes.
const LEAST_MARK: usize = 8;

/// Where the JSON is embedded, which determines the cost of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EscapeContext {
    Plain,
    /// Inside a JSON string: quotes and control characters are escaped.
    InString,
}

/// Whether omissions are marked in the JSON itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OmissionMarks {
    Shown,
    /// No marks that could violate a schema.
    Silent,
}

/// `document`, which must be JSON, in at most `room` bytes (`null` if `room` is less than four).
pub(super) fn prune(
    document: &str,
    room: usize,
    place: EscapeContext,
    marks: OmissionMarks,
) -> String {
    let mut pruner =
        JsonPruner { out: String::with_capacity(room.min(document.len())), place, marks };
    pruner.value(document.trim(), room, LEVELS);
    pruner.out
}

impl EscapeContext {
    /// The encoded size of the text; values above `most` are not exact.
    pub(super) fn cost(self, text: &str, most: usize) -> usize {
        match self {
            Self::InString if text.len() <= most => text.chars().map(|c| self.of(c)).sum(),
            Self::Plain | Self::InString => text.len(),
        }
    }

    pub(super) fn of(self, c: char) -> usize {
        match (self, c) {
            (Self::Plain, c) => c.len_utf8(),
            (Self::InString, '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}') => 2,
            (Self::InString, '\0'..='\u{1f}') => 6,
            (Self::InString, c) => c.len_utf8(),
        }
    }
}

/// `document` with everything below `limit` levels replaced by a mark, in one pass.
pub(super) fn shallow(document: &str, limit: usize) -> String {
    let mut out = String::with_capacity(document.len());
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut copied = 0;
    let mut bytes = document.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => drop(bytes.next()),
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth == limit + 1 {
                    out.push_str(&document[copied..at]);
                    out.push_str("\"…\"");
                }
            }
            b']' | b'}' => {
                if depth == limit + 1 {
                    copied = at + 1;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    out.push_str(&document[copied..]);
    out
}

/// Shares of `room`: small sizes get all they need, the others equal parts.
pub(super) fn shares(sizes: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_unstable_by_key(|at| sizes[*at]);
    let mut left = room;
    let mut shares = vec![0; sizes.len()];
    for (done, at) in order.into_iter().enumerate() {
        let equal = left / (sizes.len() - done);
        shares[at] = sizes[at].min(equal);
        left -= shares[at];
    }
    shares
}

struct JsonPruner {
    out: String,
    place: EscapeContext,
    marks: OmissionMarks,
}

impl JsonPruner {
    fn value(&mut self, value: &str, room: usize, levels: usize) {
        if self.cost(value, room) <= room {
            self.out.push_str(value);
            return;
        }
        let start = self.out.len();
        match value.as_bytes().first() {
            Some(b'"') => self.string(value, room),
            Some(b'[') if levels > 0 => self.list(value, room, levels - 1),
            Some(b'{') if levels > 0 => self.object(value, room, levels - 1),
            _ => self.mark(&format!("[… {} bytes left out]", value.len()), room),
        }
        // The sums above are approximate; this check enforces the limit.
        if self.cost(&self.out[start..], room) > room {
            self.out.truncate(start);
            self.mark("…", room);
        }
    }

    fn list(&mut self, list: &str, room: usize, levels: usize) {
        let cost = |item: &str| self.cost(item, room).saturating_add(1);
        let Some(head) = ContainerHead::list(list, room, PARTIAL_ITEMS, cost) else {
            return self.mark("…", room);
        };
        let sizes: Vec<usize> = head.parts.iter().map(|part| part.cost - 1).collect();
        // The last item has no comma.
        let costs: Vec<usize> = sizes.iter().map(|size| size + 1).collect();
        let mut left = room.saturating_sub(1);
        let mut shares = sizes.clone();
        if fit(&costs, left) < head.count {
            let short = left.saturating_sub(self.reserve(head.count));
            let is_all = head.count <= PARTIAL_ITEMS && left / LEAST_VALUE >= head.count;
            left = if is_all { left } else { short };
            let whole = fit(&costs, left);
            if whole >= PARTIAL_ITEMS.min(head.count) {
                shares.truncate(whole);
            } else {
                // All items are large: parts of several are better than all of one.
                let worth_it = if left < LEAST_MARK { 0 } else { (left / LEAST_VALUE).max(1) };
                let shown = PARTIAL_ITEMS.min(sizes.len()).min(worth_it);
                shares = self::shares(&sizes[..shown], left.saturating_sub(shown));
            }
        }
        self.out.push('[');
        let shown = shares.len();
        for (at, (part, share)) in head.parts.iter().zip(shares).enumerate() {
            self.comma(at);
            self.value(part.value, share, levels);
        }
        if self.marks == OmissionMarks::Shown && shown < head.count {
            self.comma(shown);
            json::push_string(&mut self.out, &more(head.count - shown, "items"));
        }
        self.out.push(']');
    }

    fn object(&mut self, object: &str, room: usize, levels: usize) {
        // A key, its quotes, colon and comma, and the minimum of a value.
        let keyed = |key: &str| self.quoted_cost(key).saturating_add(2);
        let cost = |key: &str, value: &str| {
            keyed(key).saturating_add(self.cost(value, room).min(LEAST_VALUE))
        };
        let Some(head) = ContainerHead::object(object, room, cost) else {
            return self.mark("…", room);
        };
        let mut left = room.saturating_sub(2);
        let costs: Vec<usize> = head.parts.iter().map(|part| part.cost).collect();
        if fit(&costs, left) < head.count {
            // The mark has a key of its own.
            left = left.saturating_sub(self.reserve(head.count)).saturating_sub(LEAST_MARK);
        }
        let shown = fit(&costs, left);
        let parts = &head.parts[..shown];
        let keys = parts.iter().map(|part| keyed(&part.key)).sum();
        left = left.saturating_sub(keys);
        let sizes: Vec<usize> = parts.iter().map(|part| self.cost(part.value, room)).collect();
        let shares = shares(&sizes, left);
        self.out.push('{');
        for (at, (part, share)) in parts.iter().zip(shares).enumerate() {
            self.comma(at);
            json::push_string(&mut self.out, &part.key);
            self.out.push(':');
            self.value(part.value, share, levels);
        }
        let is_free = parts.iter().all(|part| part.key != "…");
        if self.marks == OmissionMarks::Shown && shown < head.count && is_free {
            self.comma(shown);
            self.out.push_str("\"…\":");
            json::push_string(&mut self.out, &more(head.count - shown, "fields"));
        }
        self.out.push('}');
    }

    fn string(&mut self, string: &str, room: usize) {
        let inside = &string[1..string.len().saturating_sub(1).max(1)];
        let mut ending = match self.marks {
            OmissionMarks::Shown => format!("… [{} more bytes]", inside.len()),
            OmissionMarks::Silent => "…".to_owned(),
        };
        let left = room.saturating_sub(self.quoted_cost(&ending));
        let end = self.end(inside, left);
        if self.marks == OmissionMarks::Shown {
            ending = format!("… [{} more bytes]", inside.len() - end);
        }
        if end == 0 {
            return self.mark("…", room);
        }
        self.out.push('"');
        self.out.push_str(&inside[..end]);
        self.out.push_str(&ending);
        self.out.push('"');
    }

    /// How much of a JSON string body fits, in whole characters and escapes.
    fn end(&self, inside: &str, room: usize) -> usize {
        let mut end = 0;
        let mut spent = 0_usize;
        while let Some(unit) = unit(&inside[end..]) {
            spent = spent.saturating_add(self.cost(unit, usize::MAX));
            if spent > room {
                break;
            }
            end += unit.len();
        }
        end
    }

    /// A placeholder for a part without any room.
    fn mark(&mut self, text: &str, room: usize) {
        match self.marks {
            OmissionMarks::Shown if self.quoted_cost(text) <= room => {
                json::push_string(&mut self.out, text)
            }
            OmissionMarks::Shown if self.quoted_cost("…") <= room => self.out.push_str("\"…\""),
            OmissionMarks::Shown | OmissionMarks::Silent => self.out.push_str("null"),
        }
    }

    fn comma(&mut self, at: usize) {
        if at > 0 {
            self.out.push(',');
        }
    }

    /// Room for the mark at the end of a list or object.
    fn reserve(&self, count: usize) -> usize {
        match self.marks {
            OmissionMarks::Shown => self.quoted_cost(&more(count, "fields")).saturating_add(1),
            OmissionMarks::Silent => 0,
        }
    }

    /// The cost of `text` as a quoted string.
    fn quoted_cost(&self, text: &str) -> usize {
        let mut string = String::new();
        json::push_string(&mut string, text);
        self.cost(&string, usize::MAX)
    }

    fn cost(&self, text: &str, most: usize) -> usize {
        self.place.cost(text, most)
    }
}

/// How many of these fit, from the first on.
fn fit(costs: &[usize], room: usize) -> usize {
    let ends = costs.iter().scan(0_usize, |sum, cost| {
        *sum = sum.saturating_add(*cost);
        Some(*sum)
    });
    ends.take_while(|end| *end <= room).count()
}

fn more(count: usize, what: &str) -> String {
    format!("[… {count} more {what}]")
}

/// The first encoded character of a JSON string body. Surrogate pairs of escapes stay together.
fn unit(inside: &str) -> Option<&str> {
    let length = match inside.as_bytes() {
        [] => return None,
        [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B', ..]
            if inside.as_bytes().get(6..8) == Some(b"\\u") =>
        {
            12
        }
        [b'\\', b'u', ..] => 6,
        [b'\\', ..] => 2,
        _ => inside.chars().next()?.len_utf8(),
    };
    inside.get(..length).or(Some(inside))
}
