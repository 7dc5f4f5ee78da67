//! Reads errors of providers that do not speak their own dialect: proxies before them answer with
//! pages of HTML, or with nothing. Used by every dialect's reader of errors.

use crate::format::Fault;

/// Characters of a foreign body that are shown.
const SHOWN: usize = 200;

/// As far as the status tells.
pub fn fault(status: u16) -> Fault {
    match status {
        401..=403 => Fault::Key,
        404 => Fault::Model,
        413 => Fault::TooLong,
        429 => Fault::TooOften,
        408 => Fault::Provider,
        400..=499 => Fault::Request,
        _ => Fault::Provider,
    }
}

/// A sentence for a body that holds none: its text without tags, cut short.
pub fn without_words(status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN * 20)]);
    let mut bare = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                bare.push(' ');
            }
            c if inside || c.is_control() && !c.is_whitespace() => {}
            c => bare.push(c),
        }
    }
    let words: Vec<&str> = bare.split_whitespace().collect();
    let words: String = words.join(" ").chars().take(SHOWN).collect();
    if words.is_empty() {
        format!("the provider answered with status {status} and said nothing")
    } else {
        format!("the provider answered with status {status}: {words}")
    }
}
