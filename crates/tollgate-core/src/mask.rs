//! Secret masking: finds secrets in text and JSON, by field name or by their format, and replaces
//! them with `[masked:<kind>]`.
//!
//! Linear in the text: one automaton searches for the prefixes of secrets, and only hits are
//! examined further. Without hits nothing is allocated.

use std::ops::{ControlFlow, Range};

use aho_corasick::{AhoCorasick, Input, MatchKind};
use regex::{NoExpand, Regex};

mod assignments;
mod json_document;
mod names;
mod shapes;

use names::SecretNames;
use shapes::{SHAPES, SecretShape};

/// Knows what is a secret. Cheap to use, not to make.
#[derive(Debug, Clone)]
pub struct SecretMasker {
    /// What secrets, or names of secrets, contain. In the order of `roles`.
    literals: AhoCorasick,
    roles: Vec<LiteralRole>,
    names: SecretNames,
    patterns: Vec<MaskPattern>,
}

/// A pattern of the operator.
#[derive(Debug, Clone)]
pub struct MaskPattern {
    pub name: String,
    regex: Regex,
}

/// Why a pattern cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MaskPatternError {
    #[error("{0}")]
    Syntax(String),
    #[error("it matches the empty text")]
    MatchesNothing,
}

/// What a literal announces.
#[derive(Debug, Clone, Copy)]
enum LiteralRole {
    Shape(&'static SecretShape),
    /// Part of a name that a secret may be assigned to.
    Name,
}

/// How large a compiled pattern may be.
const PATTERN_BYTES: usize = 1 << 20;
/// Places of one text that a pattern may mask; more of them cost more than they are worth.
const MAX_MATCHES: usize = 1_000;

impl MaskPattern {
    pub fn new(name: &str, pattern: &str) -> Result<Self, MaskPatternError> {
        let built = regex::RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
        let regex = built.map_err(|error| MaskPatternError::Syntax(error.to_string()))?;
        if regex.is_match("") {
            Err(MaskPatternError::MatchesNothing)
        } else {
            Ok(Self { name: name.to_owned(), regex })
        }
    }
}

impl Default for SecretMasker {
    fn default() -> Self {
        Self::new(&[], Vec::new())
    }
}

impl SecretMasker {
    /// `redact`: names of arguments that are secret, beside those that everybody knows.
    pub fn new(redact: &[String], patterns: Vec<MaskPattern>) -> Self {
        let names = SecretNames::new(redact);
        let shapes = SHAPES.iter().map(|shape| (shape.literal, LiteralRole::Shape(shape)));
        let parts = names.parts().map(|part| (part, LiteralRole::Name));
        let (literals, roles): (Vec<&str>, Vec<LiteralRole>) = shapes.chain(parts).unzip();
        let built = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(literals);
        let literals = built.expect("a few short words make a small automaton");
        Self { literals, roles, names, patterns }
    }

    /// The text without its secrets; `None` if there are none.
    pub fn text(&self, text: &str) -> Option<String> {
        let mut cut = TextReplacer::of(text);
        self.each(text, |found| {
            cut.replace(found.range, found.kind);
            ControlFlow::Continue(())
        });
        let mut masked = cut.finish();
        for pattern in &self.patterns {
            let before = masked.as_deref().unwrap_or(text);
            if pattern.regex.is_match(before) {
                let mark = mark(&pattern.name);
                let after = pattern.regex.replacen(before, MAX_MATCHES, NoExpand(&mark));
                masked = Some(after.into_owned());
            }
        }
        masked
    }

    /// The document without its secrets, otherwise byte for byte; `None` if there are none. The
    /// text must be JSON.
    pub fn json(&self, text: &str) -> Option<String> {
        self.may_hold_any(text).then(|| json_document::mask_document(self, text)).flatten()
    }

    /// Whether a closer look is worth it.
    fn may_hold_any(&self, json: &str) -> bool {
        // What is escaped may spell anything.
        let is_escaped = || json.contains("\\u") || json.contains("\\/");
        self.literals.is_match(json)
            || self.patterns.iter().any(|pattern| pattern.regex.is_match(json))
            || is_escaped()
    }

    fn each<'m>(&'m self, text: &str, mut each: impl FnMut(SecretMatch<'m>) -> ControlFlow<()>) {
        let mut at = 0;
        while let Some(hit) = self.literals.find(Input::new(text).range(at..)) {
            let found = match self.roles[hit.pattern().as_usize()] {
                LiteralRole::Shape(shape) => shape.find(text, hit.range()),
                LiteralRole::Name => assignments::find(text, hit.range(), &self.names),
            };
            at = match &found {
                Some(found) => found.range.end.max(hit.end()),
                None => hit.end(),
            };
            if found.is_some_and(|found| each(found).is_break()) {
                return;
            }
        }
    }
}

/// A secret in a text.
#[derive(Debug)]
struct SecretMatch<'k> {
    range: Range<usize>,
    kind: &'k str,
}

fn mark(kind: &str) -> String {
    format!("{MARK}{kind}]")
}

const MARK: &str = "[masked:";

/// Text of which parts are replaced, front to back.
struct TextReplacer<'t> {
    text: &'t str,
    copied: usize,
    out: Option<String>,
}

impl<'t> TextReplacer<'t> {
    fn of(text: &'t str) -> Self {
        Self { text, copied: 0, out: None }
    }

    fn replace(&mut self, range: Range<usize>, kind: &str) {
        self.put(range, |out| {
            out.push_str(MARK);
            out.push_str(kind);
            out.push(']');
        });
    }

    fn put(&mut self, range: Range<usize>, put: impl FnOnce(&mut String)) {
        let out = self.out.get_or_insert_with(|| String::with_capacity(self.text.len()));
        out.push_str(&self.text[self.copied..range.start]);
        put(out);
        self.copied = range.end;
    }

    fn finish(self) -> Option<String> {
        let mut out = self.out?;
        out.push_str(&self.text[self.copied..]);
        Some(out)
    }
}

#[cfg(test)]
mod tests;
