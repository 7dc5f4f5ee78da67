use std::cell::OnceCell;

use super::characters::{LEADS, SUSPECT};
use super::{EscapeSequencePolicy, MAX_MARKS, RemovedCounts, clean, is_mark, strip};
use crate::tool::FindingKind;

/// Between letters of scripts in which characters may be orthography, and alone.
const AROUND: &[(&str, &str)] = &[("a", "b"), ("", ""), ("م", "ی"), ("字", "字"), ("❤", "🔥")];

#[test]
fn nothing_that_is_taken_out_begins_with_a_byte_that_is_passed_over() {
    for c in '\0'..=char::MAX {
        let mut bytes = [0; 4];
        let first = c.encode_utf8(&mut bytes).as_bytes()[0];
        let width = LEADS[usize::from(first)];
        if width == SUSPECT {
            continue;
        }
        assert_eq!(usize::from(width), c.len_utf8(), "{c:?}");
        assert!(!is_mark(c), "{c:?}");
        for (before, after) in AROUND {
            let text = format!("{before}{c}{after}");
            let rtl = OnceCell::new();
            let last = before.chars().next_back();
            let around =
                super::CharContext { text: &text, at: before.len(), c, before: last, rtl: &rtl };
            assert_eq!(around.hiding_kind(), None, "{c:?}");
        }
    }
}

#[test]
fn marks_are_bounded_on_each_letter_and_none_is_lost_below_that() {
    let stacked = |count: usize| format!("a{}b", "\u{301}\u{323}".repeat(count / 2));
    assert_eq!(clean(&stacked(MAX_MARKS)).0, stacked(MAX_MARKS));
    let flood = stacked(1_000);
    let (clean_text, kinds) = clean(&flood);
    assert_eq!(clean_text, stacked(MAX_MARKS));
    assert_eq!(kinds, [FindingKind::Combining]);
    // Others than the usual ones, and some hidden in between.
    assert_eq!(clean(&"ก\u{e49}".repeat(50)).0, "ก\u{e49}".repeat(50));
    assert!(clean(&format!("ก{}", "\u{e49}".repeat(50))).0.chars().count() == MAX_MARKS + 1);
    let mixed = format!("a{}", "\u{301}\u{200b}".repeat(50));
    assert_eq!(clean(&mixed).0, format!("a{}", "\u{301}".repeat(MAX_MARKS)));
}

#[test]
fn escape_sequences_go_whole_where_that_is_wanted() {
    for (text, expected) in [
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{9b}1;31mred", "red"),
        ("a\u{1b}]52;c;aGVsbG8=\u{7}b", "ab"),
        ("a\u{9d}52;c;aGVsbG8=\u{9c}b", "ab"),
        ("\u{1b}]8;;https://evil.example\u{1b}\\click\u{1b}]8;;\u{1b}\\", "click"),
        ("\u{1b}Pq#0\u{1b}\\x\u{1b}_apc\u{7}y\u{1b}(B", "xy"),
        // Not finished: what follows is text.
        ("\u{1b}]0;title and no end\nmore", "]0;title and no end\nmore"),
        ("\u{1b}[12", "[12"),
        ("\u{1b}", ""),
        ("\u{1b}Hello", "Hello"),
        ("\u{1b}[é", "[é"),
        ("bell\u{7} and \u{8}\u{c}", "bell and "),
    ] {
        let mut removed = RemovedCounts::default();
        let stripped = strip(text, EscapeSequencePolicy::Removed, &mut removed);
        assert_eq!(stripped.as_deref(), Some(expected), "{text:?}");
        assert_eq!(removed.kinds(), [FindingKind::Control], "{text:?}");
    }
}

#[test]
fn runs_of_unfinished_sequences_cost_no_more_than_their_length() {
    // Each would be looked for to the end of the text: 10^12 steps.
    for run in
        ["\u{1b}]".repeat(1_000_000), "\u{9d}".repeat(1_000_000), "\u{1b}[1;".repeat(500_000)]
    {
        let mut removed = RemovedCounts::default();
        assert!(strip(&run, EscapeSequencePolicy::Removed, &mut removed).is_some());
    }
}
