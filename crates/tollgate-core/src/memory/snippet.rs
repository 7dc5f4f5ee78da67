//! Search snippets: the part of a text that matches a query, on one line, with matches between
//! `**`. Asterisks of the text itself are replaced by a look-alike.

use std::ops::Range;

/// Approximate characters of a snippet.
const WIDTH: usize = 240;
/// Of those, characters before the first match.
const LEAD: usize = 60;

/// A match of a query word.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TermMatch {
    /// Byte range in the text.
    pub(super) at: Range<usize>,
    /// Which word.
    pub(super) term: usize,
    pub(super) rarity: f32,
}

/// `matches` are in text order. Without matches the beginning of the text is shown.
pub(super) fn snippet(text: &str, matches: &[TermMatch]) -> String {
    let window = window(text, matches);
    let mut line = SnippetLine { text: String::new(), after_space: true };
    if window.start > 0 {
        line.text.push('…');
    }
    let mut from = window.start;
    let inside = |it: &Range<usize>| it.start >= window.start && it.end <= window.end;
    for found in apart(matches).into_iter().filter(inside) {
        line.push_plain(&text[from..found.start]);
        line.push_marked(&text[found.clone()]);
        from = found.end;
    }
    line.push_plain(&text[from..window.end]);
    let mut line = line.text.trim_end().to_owned();
    if window.end < text.trim_end().len() {
        line.push('…');
    }
    line
}

/// The window with the most matches.
fn window(text: &str, matches: &[TermMatch]) -> Range<usize> {
    if text.len() <= WIDTH {
        return 0..text.len();
    }
    let mut best = (0.0, 0);
    for (index, first) in matches.iter().enumerate() {
        let reach = first.at.start + WIDTH - LEAD;
        let mut seen: u64 = 0;
        let mut worth = 0.0;
        for found in matches[index..].iter().take_while(|it| it.at.end <= reach).take(WIDTH) {
            let bit = 1_u64.checked_shl(u32::try_from(found.term).unwrap_or(u32::MAX)).unwrap_or(0);
            // Another word adds more than a repeated one.
            worth += if seen & bit == 0 { found.rarity } else { found.rarity / 10.0 };
            seen |= bit;
        }
        if worth > best.0 {
            best = (worth, first.at.start);
        }
    }
    let start = back(text, best.1, LEAD);
    let end = forth(text, start, WIDTH);
    // At the end of a text there is more room before the match.
    let start = if end == text.len() { back(text, end, WIDTH) } else { start };
    let first = matches.iter().find(|it| it.at.start == best.1).map_or(start, |it| it.at.start);
    at_word(text, start.min(first), first)..before_word(text, end, first)
}

/// The position `count` characters earlier.
fn back(text: &str, from: usize, count: usize) -> usize {
    text[..from].char_indices().rev().nth(count - 1).map_or(0, |(at, _)| at)
}

/// The position `count` characters later.
fn forth(text: &str, from: usize, count: usize) -> usize {
    text[from..].char_indices().nth(count).map_or(text.len(), |(at, _)| from + at)
}

/// The start of the next word, if it is before `latest`.
fn at_word(text: &str, from: usize, latest: usize) -> usize {
    if from == 0 || text[..from].ends_with(char::is_whitespace) {
        return from;
    }
    let space = text[from..latest].find(char::is_whitespace);
    let after =
        space.map(|at| from + at).map(|at| at + text[at..].len() - text[at..].trim_start().len());
    after.filter(|at| *at <= latest).unwrap_or(from)
}

/// The end of the last whole word, if it is after `earliest`.
fn before_word(text: &str, to: usize, earliest: usize) -> usize {
    if to == text.len() || text[to..].starts_with(char::is_whitespace) {
        return to;
    }
    text[earliest..to].rfind(char::is_whitespace).map_or(to, |at| earliest + at)
}

/// Merges matches that overlap or touch (parts of words, bigrams).
fn apart(matches: &[TermMatch]) -> Vec<Range<usize>> {
    let mut apart: Vec<Range<usize>> = Vec::new();
    for found in matches {
        match apart.last_mut() {
            Some(last) if found.at.start <= last.end => last.end = last.end.max(found.at.end),
            _ => apart.push(found.at.clone()),
        }
    }
    apart
}

struct SnippetLine {
    text: String,
    after_space: bool,
}

impl SnippetLine {
    fn push_plain(&mut self, text: &str) {
        for letter in text.chars() {
            if letter.is_whitespace() || letter.is_control() {
                if !self.after_space {
                    self.text.push(' ');
                }
                self.after_space = true;
            } else {
                self.text.push(if letter == '*' { '∗' } else { letter });
                self.after_space = false;
            }
        }
    }

    fn push_marked(&mut self, text: &str) {
        self.text.push_str("**");
        self.push_plain(text);
        self.text.push_str("**");
    }
}

#[cfg(test)]
mod tests;
