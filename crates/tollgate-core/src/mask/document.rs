//! The same in JSON: strings under the name of a secret are replaced, all others are looked
//! through. What is not replaced stays byte for byte. No recursion: depth costs nothing but memory.

use std::borrow::Cow;

use super::names::Family;
use super::{Cut, MARK, Masker};
use crate::json;

pub(super) fn masked(masker: &Masker, text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut cut = Cut::of(text);
    let mut inside: Vec<Inside> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let under = inside.last().and_then(|inside| inside.under);
        match byte {
            b'{' => inside.push(Inside { expects: Expects::Key, under: None }),
            b'[' => inside.push(Inside { expects: Expects::Item, under }),
            b'}' | b']' => drop(inside.pop()),
            b':' | b',' => {
                if let Some(top) = inside.last_mut() {
                    top.pass(*byte);
                }
            }
            b'"' => {
                let end = end_of_string(bytes, at);
                let string = decoded(&text[at..end]);
                match inside.last_mut() {
                    Some(top) if top.expects == Expects::Key => {
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
    cut.done()
}

/// An array or object that is not over yet.
struct Inside {
    expects: Expects,
    /// What the name of the current value says that it is.
    under: Option<Family>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    Key,
    Value,
    Item,
}

impl Inside {
    fn pass(&mut self, sign: u8) {
        self.expects = match (self.expects, sign) {
            (Expects::Item, _) => Expects::Item,
            (_, b':') => Expects::Value,
            (_, _) => Expects::Key,
        };
    }
}

fn value(masker: &Masker, under: Option<Family>, string: &str) -> Option<String> {
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

fn decoded(quoted: &str) -> Cow<'_, str> {
    let plain = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !plain.contains('\\') {
        return Cow::Borrowed(plain);
    }
    match serde_json::from_str(quoted) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(plain),
    }
}
