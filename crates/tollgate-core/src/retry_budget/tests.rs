use super::*;

/// `.` is a call, `!` wants a second attempt; gives a digit for each `!`: granted or not.
fn check(script: &str, expected: &str) {
    let budget = RetryBudget::default();
    let mut granted = String::new();
    for step in script.chars() {
        match step {
            '.' => budget.earn(),
            _ => granted.push(if budget.spend() { '1' } else { '0' }),
        }
    }
    assert_eq!(granted, expected, "{script}");
}

#[test]
fn one_second_attempt_is_lent_and_paid_back_before_the_next() {
    check(".!", "1");
    check(".!.!", "10");
    check(".!........!", "10");
    check(".!.........!", "11");
    check(&format!("{}!!!", ".".repeat(10)), "110");
}

#[test]
fn ten_are_saved_at_most() {
    check(&format!("{}{}", ".".repeat(10_000), "!".repeat(12)), "111111111100");
}
