//! What strangers wrote, made fit to be said back.

/// At most `limit` characters of `text`, with a mark if there were more.
pub fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn only_what_is_longer_is_cut_and_marked() {
        for (text, expected) in
            [("", ""), ("abc", "abc"), ("äöü", "äöü"), ("abcd", "abc…"), ("äöü語", "äöü…")]
        {
            assert_eq!(shortened(text, 3), expected);
        }
    }
}
