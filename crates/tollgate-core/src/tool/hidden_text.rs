//! Finds and removes characters that are invisible to people but read by models. Characters that a
//! script or an emoji requires are kept.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::finding::FindingKind;

mod characters;
mod removed_counts;
mod terminal;

use characters::{
    LEADS, MATH_AND_MYANMAR, SUSPECT, is_combining, is_ideograph, is_in, is_invisible, is_jamo,
    is_joining, is_mark, is_pictograph, is_private, is_rtl, is_selector, is_unspaced,
};
pub use removed_counts::RemovedCounts;

/// Maximum combining marks on one letter. No script uses more; beyond this they cover adjacent
/// lines.
const MAX_MARKS: usize = 10;

/// `text` without hidden characters, and the kinds found (sorted, unique).
pub fn clean(text: &str) -> (Cow<'_, str>, Vec<FindingKind>) {
    let mut removed = RemovedCounts::default();
    match strip(text, EscapeSequencePolicy::Keep, &mut removed) {
        Some(stored) => (Cow::Owned(stored), removed.kinds()),
        None => (Cow::Borrowed(text), Vec::new()),
    }
}

/// How the rest of an escape sequence is handled when its control character is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EscapeSequencePolicy {
    /// Kept, and visible.
    Keep,
    /// Removed as well: colours, links and clipboard writes are not text.
    Removed,
}

/// The text without hidden characters; `None`, without allocation, if there are none.
pub(crate) fn strip(
    text: &str,
    sequences: EscapeSequencePolicy,
    removed: &mut RemovedCounts,
) -> Option<String> {
    let mut kept = TextStripper { text, copied: 0, out: None };
    let rtl = OnceCell::new();
    let mut at = 0;
    let mut marks = 0;
    let mut after_suspect = 0;
    while let Some(next) = next_suspect(text.as_bytes(), at) {
        // A letter in between starts a new sequence of marks.
        if next != after_suspect {
            marks = 0;
        }
        let Some(c) = text[next..].chars().next() else { break };
        let mut end = next + c.len_utf8();
        let around = CharContext { text, at: next, c, before: kept.last(next), rtl: &rtl };
        match around.hiding_kind() {
            Some(kind) => {
                if kind == FindingKind::Control && sequences == EscapeSequencePolicy::Removed {
                    end = next + terminal::sequence_bytes(&text[next..]);
                }
                removed.count(kind);
                kept.leave_out(next, end);
            }
            None if is_mark(c) => {
                marks += 1;
                if marks > MAX_MARKS {
                    removed.count(FindingKind::Combining);
                    kept.leave_out(next, end);
                }
            }
            None => marks = 0,
        }
        at = end;
        after_suspect = end;
    }
    kept.finish()
}

/// The start of the next character that needs a closer look.
fn next_suspect(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match LEADS[usize::from(*byte)] {
            SUSPECT => return Some(at),
            width => at += usize::from(width),
        }
    }
    None
}

/// A text whose parts are removed front to back.
struct TextStripper<'t> {
    text: &'t str,
    copied: usize,
    out: Option<String>,
}

impl TextStripper<'_> {
    /// The last kept character before `at`. Removed characters are skipped: two characters that are
    /// harmless apart must not become adjacent.
    fn last(&self, at: usize) -> Option<char> {
        match &self.out {
            Some(out) if self.copied == at => out.chars().next_back(),
            _ => self.text[..at].chars().next_back(),
        }
    }

    fn leave_out(&mut self, from: usize, to: usize) {
        let out = self.out.get_or_insert_with(|| String::with_capacity(self.text.len()));
        out.push_str(&self.text[self.copied..from]);
        self.copied = to;
    }

    fn finish(self) -> Option<String> {
        let mut out = self.out?;
        out.push_str(&self.text[self.copied..]);
        Some(out)
    }
}

/// The text with invisible characters and direction controls as escapes.
pub fn visible(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    escape_chars(text, is_unseen)
}

/// The text with all non-ASCII as escapes, so that look-alikes become distinguishable.
pub fn ascii(text: &str) -> String {
    escape_chars(text, |c| !c.is_ascii() || c.is_ascii_control())
}

fn escape_chars(text: &str, escapes: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escapes(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Invisible in every context.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
        || is_invisible(c)
        || is_selector(c)
        || is_private(c)
}

/// A character and its neighbours.
struct CharContext<'a> {
    text: &'a str,
    /// Offset of its first byte.
    at: usize,
    c: char,
    before: Option<char>,
    /// Whether part of the text is right to left: computed once, on demand.
    rtl: &'a OnceCell<bool>,
}

impl CharContext<'_> {
    fn hiding_kind(&self) -> Option<FindingKind> {
        let (kind, fine) = match self.c {
            '\n' | '\t' | '\r' => return None,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => (FindingKind::Control, false),
            '\u{200e}' | '\u{200f}' | '\u{61c}' => {
                (FindingKind::Bidi, self.is_rtl() && self.alone())
            }
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => (FindingKind::Bidi, false),
            '\u{200d}' => (FindingKind::ZeroWidth, self.joins_emoji() || self.shapes()),
            '\u{200c}' => (FindingKind::ZeroWidth, self.shapes()),
            '\u{200b}' => (FindingKind::ZeroWidth, self.alone() && self.between(is_unspaced)),
            '\u{ad}' => (FindingKind::ZeroWidth, self.alone() && self.between(char::is_alphabetic)),
            '\u{34f}' => (FindingKind::ZeroWidth, self.before.is_some_and(is_combining)),
            '\u{115f}' | '\u{1160}' => (FindingKind::ZeroWidth, self.beside(is_jamo)),
            c if is_invisible(c) => (FindingKind::ZeroWidth, false),
            c if is_selector(c) => (FindingKind::VariationSelector, self.selects()),
            '\u{e0000}'..='\u{e0fff}' => (FindingKind::Tag, self.is_flag()),
            c if is_private(c) => (FindingKind::PrivateUse, false),
            _ => return None,
        };
        (!fine).then_some(kind)
    }

    fn is_rtl(&self) -> bool {
        *self.rtl.get_or_init(|| self.text.chars().any(is_rtl))
    }

    fn after(&self) -> Option<char> {
        self.text[self.at + self.c.len_utf8()..].chars().next()
    }

    /// A single invisible character can be orthography; a run of them is a message.
    fn alone(&self) -> bool {
        !self.beside(|c| {
            matches!(c, '\u{200b}'..='\u{200f}' | '\u{61c}' | '\u{ad}') || is_invisible(c)
        })
    }

    fn beside(&self, fits: impl Fn(char) -> bool) -> bool {
        self.before.is_some_and(&fits) || self.after().is_some_and(&fits)
    }

    fn between(&self, fits: impl Fn(char) -> bool) -> bool {
        self.before.is_some_and(&fits) && self.after().is_some_and(&fits)
    }

    /// A joiner or non-joiner in a script with contextual letter forms.
    fn shapes(&self) -> bool {
        self.alone() && self.before.is_some_and(is_joining)
    }

    fn joins_emoji(&self) -> bool {
        let before = self.before.is_some_and(|c| c == '\u{fe0f}' || is_pictograph(c));
        before && self.after().is_some_and(is_pictograph)
    }

    fn selects(&self) -> bool {
        if self.after().is_some_and(is_selector) {
            return false;
        }
        let Some(before) = self.before else { return false };
        match self.c {
            '\u{fe0e}' | '\u{fe0f}' => {
                is_pictograph(before)
                    || (matches!(before, '0'..='9' | '#' | '*') && self.after() == Some('\u{20e3}'))
            }
            '\u{180b}'..='\u{180f}' => matches!(before, '\u{1800}'..='\u{18af}'),
            '\u{fe00}'..='\u{fe02}' => is_ideograph(before) || is_in(MATH_AND_MYANMAR, before),
            '\u{e0100}'..='\u{e01ef}' => is_ideograph(before),
            _ => false,
        }
    }

    /// Part of one of the three flags encoded with tags: a black flag and six of them.
    fn is_flag(&self) -> bool {
        const TAGS: usize = 6;
        let is_tag = |c: &char| matches!(c, '\u{e0000}'..='\u{e0fff}');
        // At most the length of a flag, so that a run of tags is not walked once for each.
        let mut back = self.text[..self.at].char_indices().rev().take(TAGS);
        let Some((start, flag)) = back.find(|(_, c)| !is_tag(c)) else { return false };
        if flag != '\u{1f3f4}' {
            return false;
        }
        let tags = self.text[start + flag.len_utf8()..].chars().take_while(is_tag).take(TAGS + 1);
        let spelled: String =
            tags.filter_map(|c| char::from_u32(u32::from(c) - 0xe_0000)).collect();
        matches!(spelled.as_str(), "gbeng\u{7f}" | "gbsct\u{7f}" | "gbwls\u{7f}")
    }
}

#[cfg(test)]
mod tests;
