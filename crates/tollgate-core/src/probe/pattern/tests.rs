use super::{literal_prefix, samples};

fn check(pattern: &str, least: usize, expected: &[&str]) {
    assert_eq!(samples(pattern, expected.len().max(1), least), expected, "{pattern}");
}

#[test]
fn samples_are_short_and_differ() {
    check("^abc$", 0, &["abc"]);
    check("^[a-z]+$", 0, &["a", "b", "c"]);
    check("^(red|green)$", 0, &["red", "green"]);
    check("^\\d{3}-\\w?$", 0, &["111-", "222-"]);
    check("^(?:a|b)(?<name>c{2,})$", 0, &["acc", "bcc"]);
    check("\\.json$", 0, &[".json"]);
    check("^[^a-z]$", 0, &["1", "2"]);
    check("^[\\d-]$", 0, &["1"]);
    check("^\\u0041\\x42\\u{43}$", 0, &["ABC"]);
    check("^[\\u0041-\\x43]{2}$", 0, &["AA", "BB", "CC"]);
    check("^x{$", 0, &["x{"]);
    check("^a{2,3}?$", 0, &["aa"]);
    check("^[α-ω]$", 0, &["α"]);
}

#[test]
fn samples_grow_to_the_length_that_is_asked_for() {
    check("^[a-z]+$", 4, &["aaaa"]);
    check("^([a-z]{2}-)+x$", 8, &["aa-aa-aa-x"]);
    check("^a{1,3}$", 3, &["aaa"]);
    assert_eq!(samples("b", 1, 3), ["baa", "aab"]);
}

#[test]
fn what_is_not_known_yields_nothing() {
    for pattern in
        ["(?=a)b", "(?<!a)b", "(", ")", "*", "[a", "\\", "\\1", "\\p{Han}", "(?i)a", "\\u00"]
    {
        assert!(samples(pattern, 3, 0).is_empty(), "{pattern}");
    }
}

#[test]
fn the_literal_prefix_ends_where_meaning_begins() {
    for (pattern, prefix) in [("^repo:.*$", "repo:"), ("abc", "abc"), ("^$", ""), ("^a+", "a")] {
        assert_eq!(literal_prefix(pattern), prefix);
    }
}
