//! Where a failure is, and what it says.

use crate::rehearsal::{FENCE, rehearse};

/// Line, column and text of the place where a program fails.
#[track_caller]
fn check_place(source: &str, line: u32, column: u32, text: &str) {
    let ran = rehearse(source, FENCE);
    let failed = ran.failed();
    let found = (failed.line, failed.column, failed.text.as_deref());
    assert_eq!(found, (Some(line), Some(column), Some(text)), "{}", ran.transcript());
}

#[test]
fn a_failure_has_its_place() {
    check_place("x = 1\ny = x + 'a'", 2, 5, "y = x + 'a'");
    check_place("def f(a):\n    return a['k']\nx = 1\nf({})", 2, 12, "    return a['k']");
    check_place("x = (1,\n  2 +)", 2, 6, "  2 +)");
    check_place("x = 1\r\ny = z", 2, 5, "y = z");
    check_place("if True:\n  x = nope", 2, 7, "  x = nope");
    check_place("é = '😀' + nope", 1, 1, "é = '😀' + nope");
    check_place("x = '😀' + nope", 1, 11, "x = '😀' + nope");
    check_place("fail('why')", 1, 1, "fail('why')");
}

#[test]
fn a_long_line_or_message_is_cut() {
    let ran = rehearse(&format!("x = nope + '{}'", "a".repeat(1000)), FENCE);
    assert_eq!(ran.failed().text.as_ref().expect("a text").chars().count(), 201);
    let ran = rehearse("fail('é' * 100000)", FENCE);
    assert_eq!(ran.failed().message.chars().count(), 2001);
}

#[test]
fn fail_says_what_the_program_says() {
    assert_eq!(
        rehearse("fail('no', 'issue', 5)", FENCE).transcript(),
        "! runtime 1: fail: no issue 5"
    );
}

#[test]
fn what_fails_while_it_runs_is_no_mistake_of_syntax() {
    let text = "1\n! runtime 2: cannot parse `abc` as an integer in base 10";
    assert_eq!(rehearse("print(1)\nx = int('abc')", FENCE).transcript(), text);
    let text = "! syntax 2: unparenthesized tuple with trailing comma";
    assert_eq!(rehearse("print(1)\nx, *y = [1]", FENCE).transcript(), text);
}

#[test]
fn messages_have_only_words_of_the_program() {
    for (source, text) in [
        (
            "range(1000000000000)",
            "! runtime 1: the number 1000000000000 is too large here; the limit is 2147483647",
        ),
        (
            "x = 'a' * 10000000000",
            "! runtime 1: the number 10000000000 is too large here; the limit is 2147483647",
        ),
        ("def f(a): pass\nf()", "! runtime 2: missing parameter `a` for call to `f`"),
        (
            "def f(a): pass\nf(1, 2)",
            "! runtime 2: found 1 extra positional argument(s) for call to f",
        ),
    ] {
        assert_eq!(rehearse(source, FENCE).transcript(), text, "{source}");
    }
}

#[test]
fn a_dict_that_is_updated_with_itself_fails_the_program_only() {
    let text = "! runtime: a dict or a set was changed from within one of its own values";
    assert_eq!(rehearse("d = {}\nd.update([d])", FENCE).transcript(), text);
}

#[test]
fn odd_sources_get_a_place_as_well() {
    // b_st_14: NUL, tabs, carriage returns
    for (source, text) in [
        ("x = 1\0", "! syntax 1: invalid input `\0`"),
        ("if 1:\n\tx = 1", "! syntax 1: tabs are not allowed"),
        ("x = 'a\n", "! syntax 1: unfinished string literal"),
        ("  x = 1", "! syntax 1: unexpected new indentation block, expected expression"),
        ("if 1:\n    x = 1\n  y = 2", "! syntax 2: incorrect indentation"),
        ("x = ", "! syntax 1: unexpected new line, expected expression"),
        ("x = 08", "! syntax 1: integer cannot have leading 0, got `08`"),
        ("break", "! syntax 1: `break` cannot be used outside of a `for` loop"),
        ("return 1", "! syntax 1: `return` cannot be used outside of a `def` function"),
        ("f(a=1, a=2)", "! syntax 1: repeated named argument"),
    ] {
        assert_eq!(rehearse(source, FENCE).transcript(), text, "{source:?}");
    }
    assert_eq!(rehearse("x = 1\r\nresult = x\r\n", FENCE).transcript(), "= 1");
}
