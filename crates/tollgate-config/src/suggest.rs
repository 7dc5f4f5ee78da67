//! "Did you mean" suggestions: the nearest valid word. Unlike names of tools
//! (`tollgate_core::nearest`), a common prefix alone is not a match.

/// The nearest of `known`, if it is near enough.
pub(super) fn nearest<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let folded = fold(typed);
    let limit = match folded.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    known
        .into_iter()
        .map(|word| (strsim::osa_distance(&folded, &fold(word)), word))
        .filter(|(distance, word)| *distance <= limit && *distance < word.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Normalizes a name: `apiKey`, `api_key` and `api-key` are equal.
fn fold(word: &str) -> String {
    word.chars().filter(|c| *c != '_' && *c != '-').flat_map(char::to_lowercase).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let known = ["command", "transport", "url", "env", "apiKey", "tools", "data", "database"];
        for (typed, expected) in [
            ("comand", Some("command")),
            ("commnad", Some("command")),
            ("Transport", Some("transport")),
            ("api_key", Some("apiKey")),
            ("uri", Some("url")),
            ("tool", Some("tools")),
            ("databse", Some("database")),
            ("password", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), expected, "{typed}");
        }
    }
}
