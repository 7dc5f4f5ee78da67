//! Inputs that are meant to hurt: S-36 and the list B-DI.

use serde_json::json;

use super::{call, falling, parse, roll, roll_table};

/// Refused, at this column, for a reason with these words, and with an example that works.
async fn check_refused(expression: &str, column: usize, reason: &str) {
    let message = roll(expression, &[]).await.unwrap_err().message;
    assert!(message.contains(&format!("column {column}: ")), "`{expression}`: {message}");
    assert!(message.contains(reason), "`{expression}`: {message}");
    let (_, example) = message.rsplit_once("write it like `").expect("it shows an example");
    parse::parse(example.trim_end_matches('`')).expect("the example works");
}

#[tokio::test]
async fn b_di_01_dice_without_count_sides_or_sense_are_refused() {
    check_refused("", 1, "empty").await;
    check_refused(" ", 2, "empty").await;
    check_refused("d", 2, "number of sides").await;
    check_refused("d0", 2, "1 to 1000000 sides").await;
    check_refused("0d6", 1, "at least one die").await;
    check_refused("-1d6", 1, "found `-` where a number or dice is expected").await;
    check_refused("1d-6", 3, "number of sides").await;
}

#[tokio::test]
async fn b_di_02_huge_numbers_are_refused() {
    check_refused("999999999d999999999", 1, "more than 1000 dice").await;
    check_refused("1d9223372036854775808", 3, "larger than").await;
    check_refused("1d1000001", 3, "1 to 1000000 sides").await;
    check_refused("1e9d6", 2, "found `e` where").await;
    check_refused("600d6+401d6", 7, "more than 1000 dice").await;
    check_refused("1001d6", 1, "more than 1000 dice").await;
}

#[tokio::test]
async fn b_di_03_loose_and_foreign_operators_are_refused() {
    check_refused("1d6+", 5, "it ends where a number or dice is expected").await;
    check_refused("+", 1, "found `+` where").await;
    check_refused("1d6++1", 5, "found `+` where").await;
    check_refused("1d6/0", 4, "not `/`").await;
    check_refused("1d6%0", 4, "not `%`").await;
    check_refused("1d6*", 5, "it ends where").await;
}

#[tokio::test]
async fn b_di_04_a_mountain_of_brackets_is_refused() {
    check_refused(&"(".repeat(100_000), 257, "100000 bytes").await;
    check_refused(&"(".repeat(256), 1, "brackets").await;
}

#[tokio::test]
async fn b_di_05_other_scripts_and_trailing_words_are_refused() {
    check_refused("1d6;rm", 4, "found `;` where").await;
    check_refused("1d6\n2d6", 4, "one line").await;
    check_refused("１ｄ６", 1, "`１` is not one of the digits 0 to 9").await;
    check_refused("1d６", 3, "`６` is not one of the digits 0 to 9").await;
    check_refused("١d٦", 1, "is not one of the digits 0 to 9").await;
    check_refused("1ｄ6", 2, "`ｄ` is not an ASCII letter or sign").await;
    check_refused("2d6 − 1", 5, "`−` is not an ASCII letter or sign").await;
    check_refused("2d6\u{202e}", 4, "`\\u{202e}` is not an ASCII letter").await;
    check_refused("1d6r６", 5, "not one of the digits").await;
    check_refused("1d6 2d6", 5, "found `2` where").await;
    assert!(roll("1D6", &[3]).await.is_ok());
}

#[tokio::test]
async fn b_di_06_endless_or_empty_modifiers_are_refused() {
    check_refused("2d6kh3", 4, "cannot keep 3 of 2").await;
    check_refused("2d6kh0", 4, "at least one").await;
    check_refused("2d6dl2", 4, "leaves no die").await;
    check_refused("1d1!", 4, "forever").await;
    check_refused("100d6r<7", 6, "forever").await;
    check_refused("1d1r1", 4, "forever").await;
    check_refused("2d6r<9223372036854775807", 4, "forever").await;
    check_refused("2d6r>9223372036854775807", 4, "never shows").await;
}

#[tokio::test]
async fn b_di_07_totals_that_could_overflow_are_refused() {
    check_refused("1000d1000000*9223372036854775807", 1, "could exceed").await;
    check_refused("9223372036854775807+1", 1, "could exceed").await;
    check_refused("9223372036854775807-1d6*9223372036854775807", 1, "could exceed").await;
    let reply = roll("9223372036854775807", &[]).await.unwrap();
    assert_eq!(reply.structured.unwrap()["total"], json!(i64::MAX));
}

#[tokio::test]
async fn b_di_08_a_mebibyte_of_expression_is_refused() {
    check_refused(&"1d6+".repeat(262_144), 257, "1048576 bytes").await;
    check_refused(&"é".repeat(200), 257, "400 bytes").await;
}

#[tokio::test]
async fn b_di_09_table_names_that_are_none_are_answered_with_those_that_are() {
    let long = "x".repeat(100_000);
    for name in ["../x", "nope", "Wild_Magic", "", "wild_magic\0", &long] {
        let message = roll_table(name, 1).await.unwrap_err().message;
        let known = "use one of `random_encounter`, `treasure_hoard`, `wild_magic`";
        assert!(message.ends_with(known), "{message}");
        assert!(message.len() < 200, "{message}");
    }
}

#[tokio::test]
async fn an_expression_that_is_no_string_is_refused() {
    for given in [json!(null), json!(6), json!(["2d6"]), json!({ "d": 6 })] {
        let failure = call("roll", &falling(&[]), json!({ "expression": given })).await;
        assert_eq!(failure.unwrap_err().message, "`expression` is required and must be a string");
    }
}
