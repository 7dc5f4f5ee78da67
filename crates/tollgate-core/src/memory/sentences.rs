//! Sentence splitting, and reduction of text to a single line. Each speaker has one line, so that
//! no text can forge an utterance of someone else with a line break.

use std::ops::Range;

/// Sentence terminators, and characters that may follow them.
const ENDS: &[char] = &['.', '!', '?', '…'];
const WIDE_ENDS: &[char] = &['。', '！', '？', '｡'];
const CLOSING: &[char] = &['"', '\'', '”', '’', '»', ')', ']'];

/// Without line breaks and control characters; runs of spaces are collapsed.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|it: char| it.is_whitespace() || it.is_control()) {
        if !word.is_empty() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    line
}

/// The ranges of the sentences of a line, without the spaces between them.
pub(super) fn sentences(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut letters = line.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let is_wide = WIDE_ENDS.contains(&letter);
        if !is_wide && !ENDS.contains(&letter) {
            continue;
        }
        let mut end = at + letter.len_utf8();
        while let Some((at, next)) =
            letters.next_if(|(_, it)| ENDS.contains(it) || CLOSING.contains(it))
        {
            end = at + next.len_utf8();
        }
        // `3.5` and `e.g.,` do not end a sentence.
        let closed = is_wide || letters.peek().is_none_or(|(_, it)| *it == ' ');
        if closed && !is_short_form(&line[from..end]) {
            push(line, from..end, &mut found);
            from = end;
        }
    }
    push(line, from..line.len(), &mut found);
    found
}

fn push(line: &str, part: Range<usize>, found: &mut Vec<Range<usize>>) {
    let text = &line[part.clone()];
    let start = part.start + (text.len() - text.trim_start().len());
    if start < part.end {
        found.push(start..part.end);
    }
}

/// `Mr.` and `J.` do not end a sentence.
fn is_short_form(sentence: &str) -> bool {
    let last = sentence.rsplit(' ').next().unwrap_or(sentence);
    let Some(word) = last.strip_suffix('.') else { return false };
    let one_letter = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    one_letter || ["Mr", "Mrs", "Ms", "Dr", "St", "Lt", "Capt", "vs"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::{one_line, sentences};

    fn check(text: &str, expected: &[&str]) {
        let line = one_line(text);
        let found: Vec<&str> = sentences(&line).into_iter().map(|it| &line[it]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn sentences_end_where_they_are_closed() {
        check("One. Two!  Three?", &["One.", "Two!", "Three?"]);
        check("\"Run!\" she said. Then...nothing", &["\"Run!\"", "she said.", "Then...nothing"]);
        check("It costs 3.5 gold, e.g., here", &["It costs 3.5 gold, e.g., here"]);
        check("Mr. J. Smith came. He left.", &["Mr. J. Smith came.", "He left."]);
        check("龍が来た。逃げろ！", &["龍が来た。", "逃げろ！"]);
        check("no end", &["no end"]);
        check("... !", &["...", "!"]);
        check("", &[]);
    }

    #[test]
    fn a_text_is_one_line() {
        assert_eq!(one_line(" a\n\nGM: b\t\0c\u{2028} d "), "a GM: b c d");
    }
}
