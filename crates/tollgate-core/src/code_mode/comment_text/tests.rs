use super::{line, summary};

#[test]
fn a_summary_is_the_first_sentence_or_its_beginning() {
    for (text, expected) in [
        ("Gets one issue. It must exist.", "Gets one issue"),
        ("Gets one issue", "Gets one issue"),
        ("Gets one issue.\n\nArgs:\n  owner: whose", "Gets one issue"),
        ("Finds files (e.g. *.rs files). Fast.", "Finds files (e.g. *.rs files)"),
        ("Asks J. Smith. Then waits.", "Asks J. Smith"),
        ("Version 2.0 of it. Yes.", "Version 2.0 of it"),
        ("Really? Yes.", "Really?"),
        ("天気を返す。次の文。", "天気を返す。"),
        ("", ""),
    ] {
        assert_eq!(summary(text), expected, "{text}");
    }
    let long = summary(&"word ".repeat(100));
    assert!(long.ends_with("word…") && long.chars().count() <= 101, "{long}");
    assert_eq!(summary(&"x".repeat(300)).chars().count(), 101);
}

#[test]
fn no_text_leaves_its_line() {
    for (text, expected) in [
        ("a\nb\r\nc\u{2028}d\u{85}e\u{b}f", "a b c d e f"),
        ("\"\"\"\nimport os\n\"\"\"", "\"\"\" import os \"\"\""),
        ("x */ y <!-- z", "x */ y <!-- z"),
        ("pay \u{202e}eciohc\u{202c} now\u{200b}", "pay eciohc now"),
        ("\u{1b}[31mred\u{0}", "[31mred"),
        ("  spaced   out  ", "spaced out"),
    ] {
        assert_eq!(line(text, 100), expected);
    }
    assert_eq!(line("one two three", 9), "one two…");
}
