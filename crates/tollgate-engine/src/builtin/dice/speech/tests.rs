//! The sentences, as they are read aloud.

use super::super::parse::parse;
use super::super::roll::roll;
use super::sentence;

fn check(expression: &str, falls: &[u32], text: &str) {
    let mut falls = falls.iter().copied();
    let rolled = roll(&parse(expression).unwrap(), &mut |_| falls.next().unwrap_or(1));
    assert_eq!(sentence(expression, &rolled), text);
}

#[test]
fn a_sum_names_its_dice_and_its_total() {
    check("2d6+3", &[4, 2], "2d6+3: 4 and 2, plus 3, makes 9.");
    check("4d8-1", &[1, 2, 3, 8], "4d8-1: 1, 2, 3 and 8, minus 1, makes 13.");
    check("1d8+2d6", &[5, 3, 4], "1d8+2d6: 5, plus 3 and 4, makes 12.");
}

#[test]
fn a_single_die_is_said_once() {
    check("d20", &[17], "d20: 17.");
    check("7", &[], "7: 7.");
    check("4dF", &[1, 2, 3, 3], "4dF: -1, 0, 1 and 1, makes 1.");
}

#[test]
fn dropped_dice_are_said_in_brackets() {
    check("adv+5", &[4, 15], "adv+5: 15 (without 4), plus 5, makes 20.");
    check("2d6r1", &[1, 2, 3], "2d6r1: 2 and 3 (without 1), makes 5.");
}

#[test]
fn factors_are_summed_before_they_are_multiplied() {
    check("2d6*10", &[1, 2], "2d6*10: the sum of 1 and 2 times 10, makes 30.");
    check("1d6*10", &[4], "1d6*10: 4 times 10, makes 40.");
}

#[test]
fn many_dice_are_not_read_out_one_by_one() {
    check("100d6", &[], "100d6: 100 dice with a sum of 100, makes 100.");
}
