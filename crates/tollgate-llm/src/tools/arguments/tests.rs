use serde_json::{Value, json};

use super::{MAX_BYTES, parse};

fn reads(text: &str, expected: Value) {
    assert_eq!(parse(text).map(Value::Object), Ok(expected), "{text}");
}

fn describe(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn what_means_one_thing_is_read_however_it_is_wrapped() {
    reads(r#"{"a": 1, "b": {"c": [2]}}"#, json!({"a": 1, "b": {"c": [2]}}));
    for nothing in ["", "  \n", "{}", "null", "```json\n```", "```\n{}\n```"] {
        reads(nothing, json!({}));
    }
    reads("```json\n{\"a\": 1}\n```", json!({"a": 1}));
    reads("```{\"a\": 1}```", json!({"a": 1}));
    reads(r#""{\"a\": 1}""#, json!({"a": 1}));
    reads(r#"{"a": [1, 2,], "b": ",}",}"#, json!({"a": [1, 2], "b": ",}"}));
    reads("{\"a\": 1\n,\n}", json!({"a": 1}));
    reads(r#"{"a": "```", "ä": "\"}"}"#, json!({"a": "```", "ä": "\"}"}));
}

#[test]
fn b_ch_06_what_cannot_be_read_is_told_with_its_place() {
    for (text, expected) in [
        (
            "{'a': 'b'}",
            "the arguments are not valid JSON: key must be a string at line 1 column 2, at ▸ in \
             `{▸'a': 'b'}`; send one JSON object",
        ),
        (
            r#"{"a": NaN}"#,
            "the arguments are not valid JSON: expected value at line 1 column 7, at ▸ in \
             `{\"a\": ▸NaN}`; send one JSON object",
        ),
        (
            r#"{"a": 1, "a": 2}"#,
            "duplicate key `a` in the arguments; send one JSON object with each key once",
        ),
        ("[1, 2]", "the arguments are a list; send one JSON object, such as {\"name\": \"value\"}"),
        ("7", "the arguments are a number; send one JSON object, such as {\"name\": \"value\"}"),
        (
            "\"roll a die\"",
            "the arguments are a text; send one JSON object, such as {\"name\": \"value\"}",
        ),
    ] {
        assert_eq!(describe(text), expected);
    }
    for broken in [
        "roll 2d6",
        r#"{"a": 1"#,
        r#"{"a": "half a str"#,
        r#"{"a": 1}{"a": 2}"#,
        r#"{"a": 1} and {"b": 2}"#,
        "{,}",
        "{\"a\": 1,,}",
        "[,]",
        "{\"a\": Infinity}",
        "{\"a\": 0x10}",
        "{a: 1}",
        "```json\n{\"a\": 1}",
        "{\"a\": 1} // done",
        "\u{0}",
    ] {
        assert!(describe(broken).starts_with("the arguments are not valid JSON: "), "{broken}");
    }
}

#[test]
fn b_ch_06_arguments_that_are_too_large_or_too_deep_are_told_so() {
    let deep = format!("{}1{}", "{\"a\":".repeat(1_000), "}".repeat(1_000));
    assert!(describe(&deep).contains("nested deeper than 128 levels"), "{}", describe(&deep));
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(MAX_BYTES));
    assert!(describe(&large).contains("the limit is 1048576"));
    let just = format!("{{\"a\": \"{}\"}}", "x".repeat(MAX_BYTES - 9));
    assert!(parse(&just).is_ok());
}

#[test]
fn what_a_model_is_told_is_short_whatever_it_wrote() {
    for text in
        ["é".repeat(100_000), format!("{{\"a\": {}", "ü".repeat(9_000)), "\n".repeat(500) + "x"]
    {
        assert!(describe(&text).len() < 500, "{}", describe(&text));
    }
    let key = "k".repeat(5_000);
    assert!(describe(&format!("{{\"{key}\": 1, \"{key}\": 2}}")).len() < 300);
}
