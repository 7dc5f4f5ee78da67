//! Redacts the secrets of a config.
//!
//! Every secret in the text becomes `***` and a fingerprint. References such as `${TOKEN}` stay. In
//! an edited text the secrets are restored by their fingerprints, so saving an unchanged text
//! changes nothing. Authorization is done elsewhere.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use ring::hmac;
use ring::rand::SystemRandom;
use serde_json::{Map, Value};
use tollgate_core::secret_values::MASK as MASKED_VALUE;

use super::diagnostic::{ConfigReport, DiagnosticLocation, Problems, SourceSpan};
use super::edit::layout::{self, LayoutNode, LayoutPair, LayoutShape};
use super::edit::yaml::quote;
use super::secrets::SecretValues;
use super::table::{KeyKind, SectionSpec, TOP, TextKind};
use super::{expand, yaml_tree};

/// Prefix of a redacted secret, before its fingerprint.
const MASK: &str = "***";
/// Hex digits of a fingerprint.
const DIGITS: usize = 12;

/// Creates fingerprints with a key of this process, so that nobody can test guesses against them.
pub struct SecretMasks(hmac::Key);

/// A secret in a text and its position.
struct TypedSecret {
    at: Range<usize>,
    written: String,
}

impl SecretMasks {
    pub fn new() -> Self {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        Self(key.unwrap_or_else(|_| hmac::Key::new(hmac::HMAC_SHA256, &[])))
    }

    /// The text with its secrets redacted. Invalid YAML is not shown at all, because its secrets
    /// cannot be found.
    pub fn cover(&self, file: &Path, text: &str) -> Result<String, ConfigReport> {
        let found = secrets(file, text)?;
        Ok(splice_all(text, found.iter().map(|it| (&it.at, quote(&self.fingerprint(&it.written))))))
    }

    /// The text to save: redacted secrets are restored from `old`.
    pub fn uncover(&self, file: &Path, text: &str, old: &str) -> Result<String, ConfigReport> {
        refuse_masked(file, text, old)?;
        let known = self.secrets_by_fingerprint(file, old);
        let mut problems = Problems::default();
        let mut splices = Vec::new();
        for found in secrets(file, text)? {
            if !found.written.starts_with(MASK) {
                continue;
            }
            match known.get(&found.written) {
                Some(secret) => splices.push((found.at, quote(secret))),
                None => {
                    problems
                        .error(
                            DiagnosticLocation::At(span(text, &found.at)),
                            "",
                            "this mask matches no secret of the file",
                        )
                        .help("write the secret, or better a reference: `${NAME}`");
                }
            }
        }
        if problems.has_errors() {
            return Err(problems.into_report(&file.display().to_string(), text));
        }
        Ok(splice_all(text, splices.iter().map(|(at, secret)| (at, secret.clone()))))
    }

    /// The same for the keys of one server that are not part of a text yet.
    pub fn uncover_keys(
        &self,
        file: &Path,
        keys: &mut Map<String, Value>,
        old: &str,
    ) -> Result<(), ConfigReport> {
        refuse_masked(file, &Value::Object(keys.clone()).to_string(), old)?;
        let known = self.secrets_by_fingerprint(file, old);
        let mut strange = None;
        for value in keys.values_mut() {
            uncover(value, &known, &mut strange);
        }
        match strange {
            Some(text) => {
                let why = format!(
                    "`{text}` matches no secret of the file; write the secret, or better a \
                     reference: `${{NAME}}`"
                );
                Err(ConfigReport::about(&file.display().to_string(), why))
            }
            None => Ok(()),
        }
    }

    /// The secrets of a text by fingerprint.
    fn secrets_by_fingerprint(&self, file: &Path, text: &str) -> HashMap<String, String> {
        let found = secrets(file, text).unwrap_or_default();
        found.into_iter().map(|it| (self.fingerprint(&it.written), it.written)).collect()
    }

    fn fingerprint(&self, secret: &str) -> String {
        let tag = hmac::sign(&self.0, secret.as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{MASK}{}", &hex[..DIGITS])
    }
}

impl Default for SecretMasks {
    fn default() -> Self {
        Self::new()
    }
}

/// A secret in an unexpected place, such as a comment, was masked by its value in the output. It
/// cannot be restored, so saving is refused instead of losing it.
fn refuse_masked(file: &Path, text: &str, old: &str) -> Result<(), ConfigReport> {
    if !text.contains(MASKED_VALUE) || old.contains(MASKED_VALUE) {
        return Ok(());
    }
    let why = format!(
        "`{MASKED_VALUE}` masks an unknown secret; write the secret, or better a reference: \
         `${{NAME}}`"
    );
    Err(ConfigReport::about(&file.display().to_string(), why))
}

/// Restores the secrets in all nested strings. `strange` is a mask without a secret.
fn uncover(value: &mut Value, known: &HashMap<String, String>, strange: &mut Option<String>) {
    match value {
        Value::String(text) if is_covered(text) => match known.get(text) {
            Some(secret) => secret.clone_into(text),
            None => *strange = Some(text.clone()),
        },
        Value::Array(items) => items.iter_mut().for_each(|it| uncover(it, known, strange)),
        Value::Object(inner) => inner.values_mut().for_each(|it| uncover(it, known, strange)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_covered(text: &str) -> bool {
    let digits = text.strip_prefix(MASK);
    digits.is_some_and(|it| it.len() == DIGITS && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn splice_all<'a>(text: &str, parts: impl Iterator<Item = (&'a Range<usize>, String)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, new) in parts {
        out.push_str(&text[from..at.start]);
        out.push_str(&new);
        from = at.end;
    }
    out.push_str(&text[from..]);
    out
}

/// In text order, without duplicates.
fn secrets(file: &Path, text: &str) -> Result<Vec<TypedSecret>, ConfigReport> {
    let mut problems = Problems::default();
    yaml_tree::parse(text, &mut problems);
    if problems.has_errors() {
        return Err(problems.into_report(&file.display().to_string(), text));
    }
    let Some(root) = layout::parse(text) else { return Ok(Vec::new()) };
    let mut search = TypedSecretSearch { text, anchors: HashMap::new(), found: Vec::new() };
    search.note(&root);
    search.section(&root, &TOP);
    let mut found = search.found;
    found.sort_by_key(|it| it.at.start);
    found.dedup_by(|one, other| one.at.start < other.at.end);
    Ok(found)
}

struct TypedSecretSearch<'a> {
    text: &'a str,
    anchors: HashMap<usize, &'a LayoutNode>,
    found: Vec<TypedSecret>,
}

impl<'a> TypedSecretSearch<'a> {
    /// Collects the nodes that aliases refer to.
    fn note(&mut self, node: &'a LayoutNode) {
        if node.anchor != 0 {
            self.anchors.insert(node.anchor, node);
        }
        match &node.shape {
            LayoutShape::Scalar(_) | LayoutShape::Alias(_) => {}
            LayoutShape::List(_, items) => items.iter().for_each(|item| self.note(item)),
            LayoutShape::Map(_, pairs) => pairs.iter().for_each(|pair| self.note(&pair.value)),
        }
    }

    fn section(&mut self, node: &'a LayoutNode, section: &'static SectionSpec) {
        let LayoutShape::Map(_, pairs) = &node.shape else { return self.everything(node) };
        for pair in pairs {
            match section.key(&pair.key) {
                Some(key) => self.value(pair, &key.kind),
                None if pair.key == "<<" => self.visit_merged(&pair.value, section),
                // The name in a list of named entries.
                None if pair.key == "name" => {}
                // An unknown key may hold a secret, such as the misspelt `toekn`.
                None => self.everything_in(pair),
            }
        }
    }

    /// A merged alias is visited where it is defined. An inline map belongs to this section.
    fn visit_merged(&mut self, node: &'a LayoutNode, section: &'static SectionSpec) {
        match &node.shape {
            LayoutShape::Map(..) => self.section(node, section),
            LayoutShape::List(_, items) => {
                items.iter().for_each(|item| self.visit_merged(item, section))
            }
            LayoutShape::Scalar(_) | LayoutShape::Alias(_) => {}
        }
    }

    fn value(&mut self, pair: &'a LayoutPair, kind: &'static KeyKind) {
        match kind {
            KeyKind::Words => return self.words(&pair.value),
            KeyKind::List(_) if pair.key == "args" => return self.words(&pair.value),
            KeyKind::Text(TextKind::Plain) => return self.address(&pair.value),
            _ => {}
        }
        if !kind.holds_secrets() {
            return;
        }
        match (kind, &pair.value.shape) {
            (KeyKind::Text(TextKind::Secret), LayoutShape::Scalar(_) | LayoutShape::Alias(_)) => {
                self.secret(pair)
            }
            (KeyKind::Table(inner), LayoutShape::Map(_, pairs)) => {
                pairs.iter().for_each(|pair| self.value(pair, inner));
            }
            (KeyKind::Section(section) | KeyKind::SectionOr(section, _), LayoutShape::Map(..)) => {
                self.section(&pair.value, section)
            }
            (KeyKind::Named(section), LayoutShape::Map(_, pairs)) => {
                for pair in pairs {
                    self.inner(&pair.value, section);
                }
            }
            (KeyKind::Named(section) | KeyKind::Entries(section), LayoutShape::List(_, items)) => {
                for item in items {
                    self.inner(item, section);
                }
            }
            // Visited where it is defined.
            (_, LayoutShape::Alias(_)) => {}
            _ => self.everything_in(pair),
        }
    }

    /// Secret words of a command. A command in one string is hidden completely.
    fn words(&mut self, node: &'a LayoutNode) {
        let found = |words: &[String]| SecretValues::default().note_words(words);
        match &node.shape {
            LayoutShape::Scalar(message) => {
                let words = shell_words::split(message).unwrap_or_default();
                if found(&words).contains(&true) || is_covered(message) {
                    self.hide(node, message);
                }
            }
            LayoutShape::List(_, items) => {
                let text = |item: &LayoutNode| match &item.shape {
                    LayoutShape::Scalar(message) => message.clone(),
                    _ => String::new(),
                };
                let words: Vec<String> = items.iter().map(text).collect();
                for (item, is_secret) in items.iter().zip(found(&words)) {
                    match &item.shape {
                        LayoutShape::Scalar(message) if is_secret || is_covered(message) => {
                            self.hide(item, message)
                        }
                        _ => {}
                    }
                }
            }
            LayoutShape::Alias(_) | LayoutShape::Map(..) => {}
        }
    }

    /// A URL that contains a password or a token.
    fn address(&mut self, node: &'a LayoutNode) {
        let LayoutShape::Scalar(text) = &node.shape else { return };
        let mut values = SecretValues::default();
        values.note_url(text);
        if !values.is_empty() || is_covered(text) {
            self.hide(node, text);
        }
    }

    /// A text with references names secrets, but does not contain them.
    fn hide(&mut self, node: &'a LayoutNode, text: &str) {
        if !expand::has_variable(text) {
            self.found.push(TypedSecret { at: node.from..node.to, written: text.to_owned() });
        }
    }

    fn inner(&mut self, node: &'a LayoutNode, section: &'static SectionSpec) {
        match &node.shape {
            LayoutShape::Alias(_) => {}
            _ if node.is_empty() => {}
            _ => self.section(node, section),
        }
    }

    fn secret(&mut self, pair: &'a LayoutPair) {
        match &pair.value.shape {
            LayoutShape::Scalar(text)
                if !pair.value.is_empty() && !is_harmless(&pair.key, text) =>
            {
                let at = self.typed_range(pair);
                self.found.push(TypedSecret { at, written: text.clone() });
            }
            LayoutShape::Alias(anchor) => {
                if let Some(node) = self.anchors.get(anchor).copied() {
                    self.everything(node);
                }
            }
            LayoutShape::Scalar(_) | LayoutShape::List(..) | LayoutShape::Map(..) => {}
        }
    }

    fn everything_in(&mut self, pair: &'a LayoutPair) {
        match &pair.value.shape {
            LayoutShape::Scalar(_) => self.secret(pair),
            _ => self.everything(&pair.value),
        }
    }

    fn everything(&mut self, node: &'a LayoutNode) {
        match &node.shape {
            LayoutShape::Scalar(text) if !node.is_empty() && !is_harmless("", text) => {
                self.found.push(TypedSecret { at: node.from..node.to, written: text.clone() });
            }
            LayoutShape::Scalar(_) | LayoutShape::Alias(_) => {}
            LayoutShape::List(_, items) => items.iter().for_each(|item| self.everything(item)),
            LayoutShape::Map(_, pairs) => pairs.iter().for_each(|pair| self.everything_in(pair)),
        }
    }

    /// Range of a value in the text: a block scalar begins with its indicator (`|`), before its
    /// first line.
    fn typed_range(&self, pair: &LayoutPair) -> Range<usize> {
        let between = &self.text[pair.colon..pair.value.from];
        let sign = between.find(['|', '>']).filter(|_| between.contains('\n'));
        sign.map_or(pair.value.from, |sign| pair.colon + sign)..pair.value.to
    }
}

/// `${NAME}`, also after the word Bearer, is a reference to a secret and does not reveal it.
fn is_harmless(key: &str, text: &str) -> bool {
    let bare = match text.split_once(' ') {
        Some((word, rest)) if word.eq_ignore_ascii_case("bearer") => rest.trim(),
        _ => text,
    };
    expand::is_reference(bare) || (key, text) == ("database", "sqlite")
}

fn span(text: &str, at: &Range<usize>) -> SourceSpan {
    let place = |byte: usize| {
        let before = &text[..byte];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (line, before[start..].chars().count() + 1)
    };
    let (line, column) = place(at.start);
    let (end_line, end_column) = place(at.end);
    SourceSpan { line, column, end_line, end_column }
}

#[cfg(test)]
mod tests;
