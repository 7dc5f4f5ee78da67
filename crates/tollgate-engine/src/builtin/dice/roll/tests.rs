//! How dice fall, with every fall written down.

use super::super::parse::parse;
use super::{ExtraRolls, RollResult, roll};

fn fall(expression: &str, falls: &[u32]) -> RollResult {
    let mut falls = falls.iter().copied();
    let rolled = roll(&parse(expression).unwrap(), &mut |sides| {
        let fall = falls.next().expect("more dice fell than were written down");
        assert!((1..=sides).contains(&fall));
        fall
    });
    assert_eq!(falls.next(), None, "`{expression}` left dice over");
    rolled
}

fn check(expression: &str, falls: &[u32], retained: &[i64], dropped: &[i64], total: i64) {
    let rolled = fall(expression, falls);
    assert_eq!(rolled.kept_faces(), retained, "`{expression}`");
    assert_eq!(rolled.dropped_faces(), dropped, "`{expression}`");
    assert_eq!(rolled.total, total, "`{expression}`");
}

#[test]
fn dice_add_up_in_the_order_they_are_written() {
    check("2d6+3", &[4, 2], &[4, 2], &[], 9);
    check("1d4-2d6+10", &[1, 6, 5], &[1, 6, 5], &[], 0);
    check("1d6*10", &[3], &[3], &[], 30);
    check("2+3*1d4-1d4*2", &[4, 1], &[4, 1], &[], 12);
    check("1-1d6", &[6], &[6], &[], -5);
}

#[test]
fn kept_dice_keep_their_order() {
    check("4d6kh2", &[5, 1, 6, 2], &[5, 6], &[1, 2], 11);
    check("4d6kl2", &[5, 1, 6, 2], &[1, 2], &[5, 6], 3);
    check("4d6dl1", &[5, 1, 6, 2], &[5, 6, 2], &[1], 13);
    check("4d6dh1", &[5, 1, 6, 2], &[5, 1, 2], &[6], 8);
    check("adv", &[3, 18], &[18], &[3], 18);
    check("dis", &[3, 18], &[3], &[18], 3);
    check("2d20kh1", &[7, 7], &[7], &[7], 7);
}

#[test]
fn the_largest_face_brings_another_die() {
    check("2d6!", &[6, 6, 1, 4], &[6, 6, 1, 4], &[], 17);
    check("2d6!kh1", &[6, 3, 4], &[6], &[3, 4], 6);
}

#[test]
fn rerolled_faces_count_no_more() {
    check("2d6r<3", &[1, 2, 5, 4], &[5, 4], &[1, 2], 9);
    check("2d6ro1", &[1, 1, 4], &[1, 4], &[1], 5);
    check("1d6r6!", &[6, 2], &[2], &[6], 2);
}

#[test]
fn fate_dice_go_from_minus_one_to_one() {
    check("4dF", &[1, 2, 3, 3], &[-1, 0, 1, 1], &[], 1);
    check("4dF*2", &[1, 1, 1, 1], &[-1, -1, -1, -1], &[], -8);
}

#[test]
fn percentile_dice_have_a_hundred_sides() {
    check("d%", &[100], &[100], &[], 100);
}

#[test]
fn explosions_and_rerolls_end_at_a_limit() {
    for expression in ["1d2!", "1d2r1", "2d2!r1", "1000d2!", "100d1000000r<1000000"] {
        let face = if expression.contains('!') { 2 } else { 1 };
        let rolled = roll(&parse(expression).unwrap(), &mut |_| face);
        assert_eq!(rolled.extra, ExtraRolls::RanOut, "`{expression}`");
        assert!(
            rolled.kept_faces().len() + rolled.dropped_faces().len() <= 2_000,
            "`{expression}`"
        );
    }
    assert_eq!(fall("2d6!", &[1, 2]).extra, ExtraRolls::Enough);
}
