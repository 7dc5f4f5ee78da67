//! One automaton for all encodings of all secret values. Immutable and shared.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::{MIN_BYTES, encodings};

/// The replacement of a value. Valid in JSON, URLs, headers and logs without escaping.
pub const MASK: &str = "[masked:secret]";

/// `Debug` does not print the values.
#[derive(Default)]
pub struct SecretMatcher {
    /// `None`: no values.
    automaton: Option<AhoCorasick>,
    /// All encodings by first byte, to detect one that begins at the end of a chunk.
    by_first_byte: Vec<Vec<Box<str>>>,
    longest: usize,
}

impl std::fmt::Debug for SecretMatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Matcher(<secret>)")
    }
}

impl SecretMatcher {
    pub fn new<'v>(values: impl Iterator<Item = &'v str>) -> Self {
        let values = values.filter(|value| value.len() >= MIN_BYTES);
        let mut forms: Vec<String> = values.flat_map(encodings::of).collect();
        forms.sort_unstable();
        forms.dedup();
        if forms.is_empty() {
            return Self::default();
        }
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        let mut by_first_byte = vec![Vec::new(); 256];
        let longest = forms.iter().map(String::len).max().unwrap_or_default();
        for form in forms {
            by_first_byte[usize::from(form.as_bytes()[0])].push(form.into_boxed_str());
        }
        let automaton = built.expect("a config is small, and so is an automaton of its values");
        Self { automaton: Some(automaton), by_first_byte, longest }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.automaton.is_none()
    }

    /// The ranges of values, front to back.
    pub fn find<'m>(&'m self, bytes: &'m [u8]) -> impl Iterator<Item = Range<usize>> + 'm {
        let found = self.automaton.iter().flat_map(move |automaton| automaton.find_iter(bytes));
        found.map(|found| found.range())
    }

    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.mask_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Encodings are UTF-8, so the rest of the text still is.
            Cow::Owned(masked) => match String::from_utf8(masked) {
                Ok(masked) => Cow::Owned(masked),
                Err(_) => Cow::Borrowed(MASK),
            },
        }
    }

    pub fn mask_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        let mut found = self.find(bytes).peekable();
        if found.peek().is_none() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut copied = 0;
        for range in found {
            out.extend_from_slice(&bytes[copied..range.start]);
            out.extend_from_slice(MASK.as_bytes());
            copied = range.end;
        }
        out.extend_from_slice(&bytes[copied..]);
        Cow::Owned(out)
    }

    /// Number of bytes at the end that may begin a value whose rest is still to come.
    pub(super) fn pending_suffix_len(&self, bytes: &[u8]) -> usize {
        if self.is_empty() {
            return 0;
        }
        let first = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        let begins = |at: &usize| {
            let tail = &bytes[*at..];
            let forms = &self.by_first_byte[usize::from(tail[0])];
            forms.iter().any(|form| form.as_bytes().starts_with(tail))
        };
        (first..bytes.len()).find(begins).map_or(0, |at| bytes.len() - at)
    }
}
