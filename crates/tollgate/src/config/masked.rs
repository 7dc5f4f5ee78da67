//! A config that may be shown.
//!
//! Every secret typed into it is `***` and a fingerprint, references such as `${TOKEN}` stay. What is sent back gets its secrets again by their fingerprints, so
//! that saving an unedited text changes nothing. Who may see it is for others to say.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use ring::hmac;
use ring::rand::SystemRandom;
use serde_json::{Map, Value};
use tollgate_core::secret_values::MASK as MASKED_VALUE;

use super::diagnostic::{Place, Problems, Report, Span};
use super::edit::layout::{self, Node, Pair, Shape};
use super::edit::yaml::quoted;
use super::secrets::SecretValues;
use super::table::{Kind, Section, TOP, Text};
use super::{expand, tree};

/// What stands for a secret, before its fingerprint.
const MASK: &str = "***";
/// Hex digits of a fingerprint.
const DIGITS: usize = 12;

/// Makes fingerprints that mean something to this process only: nobody can try guesses on them.
pub struct Masks(hmac::Key);

/// A secret of a text and where it is typed.
struct Found {
    at: Range<usize>,
    said: String,
}

impl Masks {
    pub fn new() -> Self {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        Self(key.unwrap_or_else(|_| hmac::Key::new(hmac::HMAC_SHA256, &[])))
    }

    /// The text with its secrets covered. One that is not YAML is not shown at all: nobody can
    /// say where its secrets are.
    pub fn cover(&self, file: &Path, text: &str) -> Result<String, Report> {
        let found = secrets(file, text)?;
        Ok(spliced(text, found.iter().map(|it| (&it.at, quoted(&self.fingerprint(&it.said))))))
    }

    /// The text as it is to be saved: secrets that were covered are taken from `old`.
    pub fn uncover(&self, file: &Path, text: &str, old: &str) -> Result<String, Report> {
        refuse_masked(file, text, old)?;
        let known = self.known(file, old);
        let mut problems = Problems::default();
        let mut splices = Vec::new();
        for found in secrets(file, text)? {
            if !found.said.starts_with(MASK) {
                continue;
            }
            match known.get(&found.said) {
                Some(secret) => splices.push((found.at, quoted(secret))),
                None => {
                    problems
                        .error(
                            Place::At(span(text, &found.at)),
                            "",
                            "this covers no secret of the file",
                        )
                        .help("write the secret itself, or better a reference: `${NAME}`");
                }
            }
        }
        if problems.has_errors() {
            return Err(problems.into_report(&file.display().to_string(), text));
        }
        Ok(spliced(text, splices.iter().map(|(at, secret)| (at, secret.clone()))))
    }

    /// The same for one server's keys that are not part of a text yet.
    pub fn uncover_keys(
        &self,
        file: &Path,
        keys: &mut Map<String, Value>,
        old: &str,
    ) -> Result<(), Report> {
        refuse_masked(file, &Value::Object(keys.clone()).to_string(), old)?;
        let known = self.known(file, old);
        let mut strange = None;
        for value in keys.values_mut() {
            uncover(value, &known, &mut strange);
        }
        match strange {
            Some(said) => {
                let why = format!(
                    "`{said}` covers no secret of the file; write the secret itself, or better a reference: `${{NAME}}`"
                );
                Err(Report::about(&file.display().to_string(), why))
            }
            None => Ok(()),
        }
    }

    /// The secrets of a text by their fingerprints.
    fn known(&self, file: &Path, text: &str) -> HashMap<String, String> {
        let found = secrets(file, text).unwrap_or_default();
        found.into_iter().map(|it| (self.fingerprint(&it.said), it.said)).collect()
    }

    fn fingerprint(&self, secret: &str) -> String {
        let tag = hmac::sign(&self.0, secret.as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{MASK}{}", &hex[..DIGITS])
    }
}

impl Default for Masks {
    fn default() -> Self {
        Self::new()
    }
}

/// A secret that stands where none is expected, such as in a comment, was masked by its value when the
/// text was shown. Nobody can say any more which one it was, and it must not be lost by saving.
fn refuse_masked(file: &Path, text: &str, old: &str) -> Result<(), Report> {
    if !text.contains(MASKED_VALUE) || old.contains(MASKED_VALUE) {
        return Ok(());
    }
    let why = format!(
        "`{MASKED_VALUE}` stands for a secret that is not known here; write the secret itself, or better a reference: `${{NAME}}`"
    );
    Err(Report::about(&file.display().to_string(), why))
}

/// In every text of it, however deep; `strange` is one that covers nothing.
fn uncover(value: &mut Value, known: &HashMap<String, String>, strange: &mut Option<String>) {
    match value {
        Value::String(said) if is_covered(said) => match known.get(said) {
            Some(secret) => secret.clone_into(said),
            None => *strange = Some(said.clone()),
        },
        Value::Array(items) => items.iter_mut().for_each(|it| uncover(it, known, strange)),
        Value::Object(inner) => inner.values_mut().for_each(|it| uncover(it, known, strange)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_covered(said: &str) -> bool {
    let digits = said.strip_prefix(MASK);
    digits.is_some_and(|it| it.len() == DIGITS && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn spliced<'a>(text: &str, parts: impl Iterator<Item = (&'a Range<usize>, String)>) -> String {
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

/// In the order of the text, each once.
fn secrets(file: &Path, text: &str) -> Result<Vec<Found>, Report> {
    let mut problems = Problems::default();
    tree::parse(text, &mut problems);
    if problems.has_errors() {
        return Err(problems.into_report(&file.display().to_string(), text));
    }
    let Some(root) = layout::parse(text) else { return Ok(Vec::new()) };
    let mut search = Search { text, anchors: HashMap::new(), found: Vec::new() };
    search.note(&root);
    search.section(&root, &TOP);
    let mut found = search.found;
    found.sort_by_key(|it| it.at.start);
    found.dedup_by(|one, other| one.at.start < other.at.end);
    Ok(found)
}

struct Search<'a> {
    text: &'a str,
    anchors: HashMap<usize, &'a Node>,
    found: Vec<Found>,
}

impl<'a> Search<'a> {
    /// Which nodes aliases stand for.
    fn note(&mut self, node: &'a Node) {
        if node.anchor != 0 {
            self.anchors.insert(node.anchor, node);
        }
        match &node.shape {
            Shape::Scalar(_) | Shape::Alias(_) => {}
            Shape::List(_, items) => items.iter().for_each(|item| self.note(item)),
            Shape::Map(_, pairs) => pairs.iter().for_each(|pair| self.note(&pair.value)),
        }
    }

    fn section(&mut self, node: &'a Node, section: &'static Section) {
        let Shape::Map(_, pairs) = &node.shape else { return self.everything(node) };
        for pair in pairs {
            match section.key(&pair.key) {
                Some(key) => self.value(pair, &key.kind),
                None if pair.key == "<<" => self.merged(&pair.value, section),
                // An entry of a list of named things.
                None if pair.key == "name" => {}
                // Nobody knows what it is: `toekn` may be anything.
                None => self.everything_in(pair),
            }
        }
    }

    /// What is merged in is looked at where it stands; written here it belongs here.
    fn merged(&mut self, node: &'a Node, section: &'static Section) {
        match &node.shape {
            Shape::Map(..) => self.section(node, section),
            Shape::List(_, items) => items.iter().for_each(|item| self.merged(item, section)),
            Shape::Scalar(_) | Shape::Alias(_) => {}
        }
    }

    fn value(&mut self, pair: &'a Pair, kind: &'static Kind) {
        match kind {
            Kind::Words => return self.words(&pair.value),
            Kind::List(_) if pair.key == "args" => return self.words(&pair.value),
            Kind::Text(Text::Plain) => return self.address(&pair.value),
            _ => {}
        }
        if !kind.holds_secrets() {
            return;
        }
        match (kind, &pair.value.shape) {
            (Kind::Text(Text::Secret), Shape::Scalar(_) | Shape::Alias(_)) => self.secret(pair),
            (Kind::Table(inner), Shape::Map(_, pairs)) => {
                pairs.iter().for_each(|pair| self.value(pair, inner));
            }
            (Kind::Section(section) | Kind::SectionOr(section, _), Shape::Map(..)) => {
                self.section(&pair.value, section)
            }
            (Kind::Named(section), Shape::Map(_, pairs)) => {
                for pair in pairs {
                    self.inner(&pair.value, section);
                }
            }
            (Kind::Named(section) | Kind::Entries(section), Shape::List(_, items)) => {
                for item in items {
                    self.inner(item, section);
                }
            }
            // Found where it is typed.
            (_, Shape::Alias(_)) => {}
            _ => self.everything_in(pair),
        }
    }

    /// Words of a command that are secret; of a command in one text the whole of it.
    fn words(&mut self, node: &'a Node) {
        let found = |words: &[String]| SecretValues::default().note_words(words);
        match &node.shape {
            Shape::Scalar(said) => {
                let words = shell_words::split(said).unwrap_or_default();
                if found(&words).contains(&true) || is_covered(said) {
                    self.hide(node, said);
                }
            }
            Shape::List(_, items) => {
                let text = |item: &Node| match &item.shape {
                    Shape::Scalar(said) => said.clone(),
                    _ => String::new(),
                };
                let words: Vec<String> = items.iter().map(text).collect();
                for (item, is_secret) in items.iter().zip(found(&words)) {
                    match &item.shape {
                        Shape::Scalar(said) if is_secret || is_covered(said) => {
                            self.hide(item, said)
                        }
                        _ => {}
                    }
                }
            }
            Shape::Alias(_) | Shape::Map(..) => {}
        }
    }

    /// An address with a password or a token in it.
    fn address(&mut self, node: &'a Node) {
        let Shape::Scalar(said) = &node.shape else { return };
        let mut values = SecretValues::default();
        values.note_url(said);
        if !values.is_empty() || is_covered(said) {
            self.hide(node, said);
        }
    }

    /// What has references in it says where secrets are, not what they are.
    fn hide(&mut self, node: &'a Node, said: &str) {
        if !expand::has_variable(said) {
            self.found.push(Found { at: node.from..node.to, said: said.to_owned() });
        }
    }

    fn inner(&mut self, node: &'a Node, section: &'static Section) {
        match &node.shape {
            Shape::Alias(_) => {}
            _ if node.is_empty() => {}
            _ => self.section(node, section),
        }
    }

    fn secret(&mut self, pair: &'a Pair) {
        match &pair.value.shape {
            Shape::Scalar(said) if !pair.value.is_empty() && !is_harmless(&pair.key, said) => {
                let at = self.typed(pair);
                self.found.push(Found { at, said: said.clone() });
            }
            Shape::Alias(anchor) => {
                if let Some(node) = self.anchors.get(anchor).copied() {
                    self.everything(node);
                }
            }
            Shape::Scalar(_) | Shape::List(..) | Shape::Map(..) => {}
        }
    }

    fn everything_in(&mut self, pair: &'a Pair) {
        match &pair.value.shape {
            Shape::Scalar(_) => self.secret(pair),
            _ => self.everything(&pair.value),
        }
    }

    fn everything(&mut self, node: &'a Node) {
        match &node.shape {
            Shape::Scalar(said) if !node.is_empty() && !is_harmless("", said) => {
                self.found.push(Found { at: node.from..node.to, said: said.clone() });
            }
            Shape::Scalar(_) | Shape::Alias(_) => {}
            Shape::List(_, items) => items.iter().for_each(|item| self.everything(item)),
            Shape::Map(_, pairs) => pairs.iter().for_each(|pair| self.everything_in(pair)),
        }
    }

    /// Where a value is typed: a block (`|`) begins with its sign, before its first line.
    fn typed(&self, pair: &Pair) -> Range<usize> {
        let between = &self.text[pair.colon..pair.value.from];
        let sign = between.find(['|', '>']).filter(|_| between.contains('\n'));
        sign.map_or(pair.value.from, |sign| pair.colon + sign)..pair.value.to
    }
}

/// `${NAME}` says where a secret is, not what it is; with the word Bearer before it as well.
fn is_harmless(key: &str, said: &str) -> bool {
    let bare = match said.split_once(' ') {
        Some((word, rest)) if word.eq_ignore_ascii_case("bearer") => rest.trim(),
        _ => said,
    };
    expand::is_reference(bare) || (key, said) == ("database", "sqlite")
}

fn span(text: &str, at: &Range<usize>) -> Span {
    let place = |byte: usize| {
        let before = &text[..byte];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (line, before[start..].chars().count() + 1)
    };
    let ((line, column), (end_line, end_column)) = (place(at.start), place(at.end));
    Span { line, column, end_line, end_column }
}

#[cfg(test)]
mod tests;
