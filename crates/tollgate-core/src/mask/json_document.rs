//! Masks secrets in JSON: strings under a secret's name are replaced, all others are scanned.
//! Everything else stays byte for byte. Not recursive: depth costs only memory.

use std::borrow::Cow;

use super::names::SecretFamily;
use super::{MARK, SecretMasker, TextReplacer};
use crate::json;

pub(super) fn mask_document(masker: &SecretMasker, text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut cut = TextReplacer::of(text);
    let mut inside: Vec<OpenContainer> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let under = inside.last().and_then(|inside| inside.under);
        match byte {
            b'{' => inside.push(OpenContainer { expects: ExpectedToken::Key, under: None }),
            b'[' => inside.push(OpenContainer { expects: ExpectedToken::Item, under }),
            b'}' | b']' => drop(inside.pop()),
            b':' | b',' => {
                if let Some(top) = inside.last_mut() {
                    top.pass(*byte);
                }
            }
            b'"' => {
                let end = end_of_string(bytes, at);
                let string = decode_string(&text[at..end]);
                match inside.last_mut() {
                    Some(top) if top.expects == ExpectedToken::Key => {
                        top.under = masker.names.family(&string);
                    }
                    _ => {
                        if let Some(value) = value(masker, under, &string) {
                            cut.put(at..end, |out| json::push_string(out, &value));
                        }
                    }
                }
                at = end;
                continue;
            }
            b'-' | b'0'..=b'9' => {
                let end = end_of_number(bytes, at);
                if under == Some("password") || under == Some("redacted") {
                    let mark = super::mark(under.unwrap_or_default());
                    cut.put(at..end, |out| json::push_string(out, &mark));
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    cut.finish()
}

/// An array or object that is still open.
struct OpenContainer {
    expects: ExpectedToken,
    /// The kind of secret that the current key announces.
    under: Option<SecretFamily>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedToken {
    Key,
    Value,
    Item,
}

impl OpenContainer {
    fn pass(&mut self, sign: u8) {
        self.expects = match (self.expects, sign) {
            (ExpectedToken::Item, _) => ExpectedToken::Item,
            (_, b':') => ExpectedToken::Value,
            (_, _) => ExpectedToken::Key,
        };
    }
}

fn value(masker: &SecretMasker, under: Option<SecretFamily>, string: &str) -> Option<String> {
    match under {
        Some(_) if string.is_empty() || string.starts_with(MARK) => None,
        Some(family) => Some(super::mark(family)),
        None => masker.text(string),
    }
}

fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn end_of_number(bytes: &[u8], begin: usize) -> usize {
    let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    begin + bytes[begin..].iter().take_while(is_part).count()
}

fn decode_string(quoted: &str) -> Cow<'_, str> {
    let plain = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !plain.contains('\\') {
        return Cow::Borrowed(plain);
    }
    match serde_json::from_str(quoted) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(plain),
    }
}
