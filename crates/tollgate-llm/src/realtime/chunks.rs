//! Splits spoken text into chunks that a protocol accepts, at sentence ends where possible.

/// Chunks of at most `most` bytes, in order; only whitespace between them is dropped.
pub(super) fn chunks(text: &str, most: usize) -> Vec<&str> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while rest.len() > most {
        let (piece, after) = rest.split_at(cut(rest, most));
        found.push(piece.trim_end());
        rest = after.trim_start();
    }
    if !rest.is_empty() {
        found.push(rest);
    }
    found
}

/// Where to split a text that is too long: after a sentence, else after a word, else anywhere.
fn cut(text: &str, most: usize) -> usize {
    let room = &text[..text.floor_char_boundary(most)];
    // A character larger than the limit is still emitted.
    let Some(last) = room.char_indices().next_back() else {
        return text.chars().next().map_or(text.len(), char::len_utf8);
    };
    let sentence = room.char_indices().rev().find(|(at, sign)| {
        let end = at + sign.len_utf8();
        matches!(sign, '.' | '!' | '?' | '\n') && text[end..].starts_with(char::is_whitespace)
            || matches!(sign, '。' | '！' | '？')
    });
    let word = || room.char_indices().rev().find(|(_, sign)| sign.is_whitespace());
    match sentence.or_else(word) {
        Some((at, sign)) => at + sign.len_utf8(),
        None => last.0 + last.1.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::chunks;

    #[test]
    fn texts_are_cut_behind_sentences_then_words_then_anywhere() {
        for (text, most, expected) in [
            ("", 10, &[][..]),
            ("  ", 10, &[]),
            ("Short.", 10, &["Short."]),
            ("One here. Two here. Three.", 20, &["One here. Two here.", "Three."]),
            ("3.14 is pi and more", 9, &["3.14 is", "pi and", "more"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("äöüß", 3, &["ä", "ö", "ü", "ß"]),
            ("😀😀", 1, &["😀", "😀"]),
            ("あ。い。う", 8, &["あ。", "い。", "う"]),
        ] {
            assert_eq!(chunks(text, most), expected, "{text}");
        }
    }
}
