//! Fallback decoder for error responses that are not in the provider's dialect: proxies in front of
//! it answer with HTML pages or empty bodies. Used by the error readers of all dialects.

use crate::format::ProviderFault;

/// Maximum characters quoted from a foreign body.
const MAX_QUOTED_BODY_CHARS: usize = 200;

/// Cause of the error, judged by the status alone.
pub fn fault(status: u16) -> ProviderFault {
    match status {
        401..=403 => ProviderFault::Key,
        404 => ProviderFault::Model,
        413 => ProviderFault::TooLong,
        429 => ProviderFault::TooOften,
        408 => ProviderFault::Provider,
        400..=499 => ProviderFault::Request,
        _ => ProviderFault::Provider,
    }
}

/// Error message for a body without one: its text without tags, truncated.
pub fn without_words(status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(MAX_QUOTED_BODY_CHARS * 20)]);
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
    let words: String = words.join(" ").chars().take(MAX_QUOTED_BODY_CHARS).collect();
    if words.is_empty() {
        format!("the provider answered with status {status} and an empty body")
    } else {
        format!("the provider answered with status {status}: {words}")
    }
}
