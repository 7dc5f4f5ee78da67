//! Turns untrusted descriptions into comments: one line each, without hidden characters, and of
//! limited length. Text without a line break cannot escape its comment.

use crate::tool::hidden_text::is_unseen;

/// Maximum characters of a summary in a listing.
const SUMMARY: usize = 100;

/// The first sentence if it is short, else its beginning.
pub(super) fn summary(text: &str) -> String {
    let text = line(text, 4 * SUMMARY);
    let end = sentence(&text);
    let first = text[..end].trim_end_matches(['.', ':', ';', ',', ' ']);
    truncate_at_word(first, SUMMARY)
}

/// One line of at most `limit` characters, with a mark if it was truncated.
pub(super) fn line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut letters = 0;
    for c in text.chars() {
        if c.is_whitespace() {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
                letters += 1;
            }
        } else if !is_unseen(c) {
            out.push(c);
            letters += 1;
        }
        if letters > limit {
            break;
        }
    }
    truncate_at_word(out.trim_end(), limit)
}

/// The end of the first sentence.
fn sentence(text: &str) -> usize {
    let ends = text.match_indices(['.', '!', '?', '。']).filter(|(at, mark)| {
        let before = &text[..*at];
        let after = &text[at + mark.len()..];
        let begins = after.strip_prefix(' ').is_some_and(|it| !it.starts_with(char::is_lowercase));
        let word = before.rsplit(' ').next().unwrap_or_default();
        // `e.g. this`, `J. Smith`
        let is_short = *mark == "." && (word.contains('.') || word.chars().count() == 1);
        *mark == "。" || (begins && !is_short) || after.is_empty()
    });
    ends.map(|(at, mark)| at + mark.len()).next().unwrap_or(text.len())
}

/// Truncates at a space if one is near the end.
fn truncate_at_word(text: &str, limit: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(limit) else { return text.to_owned() };
    let cut = &text[..end];
    let at = cut.rfind(' ').filter(|at| *at > end / 2).unwrap_or(end);
    format!("{}…", text[..at].trim_end_matches(['.', ':', ';', ',', ' ']))
}

#[cfg(test)]
mod tests;
