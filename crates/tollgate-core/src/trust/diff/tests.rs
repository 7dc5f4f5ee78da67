use serde_json::json;

use super::*;

/// `pointer: before -> after`, a line each; `(none)` for what is not there.
fn check(before: &Value, after: &Value, expected: &str) {
    let changes = diff(&before.to_string(), &after.to_string()).unwrap();
    let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "(none)".to_owned());
    let lines =
        changes.iter().map(|it| format!("{}: {} -> {}", it.at, side(&it.before), side(&it.after)));
    assert_eq!(lines.collect::<Vec<_>>().join("\n"), expected);
}

#[test]
fn every_changed_place_is_named_by_its_pointer() {
    let before = json!({"name": "t", "a/b": [1, 2, 3], "gone": null, "same": {"x": [true]}});
    let after = json!({"name": "u", "a/b": [1, 5], "same": {"x": [true]}, "new": {"k": 1}});
    check(
        &before,
        &after,
        "/name: t -> u\n/a~1b/1: 2 -> 5\n/a~1b/2: 3 -> (none)\n/gone: null -> (none)\n/new: (none) -> {\"k\":1}",
    );
    check(&before, &before, "");
    check(&json!({"a": 1, "b": 2}), &json!({"b": 2, "a": 1}), "");
    check(&json!([1]), &json!("x"), ": [1] -> x");
}

#[test]
fn s_25_one_byte_of_a_nested_description_is_shown_in_its_surroundings() {
    let long = |c: char| format!("{}{c}{}", "head ".repeat(500), " tail".repeat(500));
    let tool = |text: String| json!({"inputSchema": {"properties": {"p": {"description": text}}}});
    let changes = diff(&tool(long('a')).to_string(), &tool(long('b')).to_string()).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].at, "/inputSchema/properties/p/description");
    let before = changes[0].before.clone().unwrap();
    let after = changes[0].after.clone().unwrap();
    assert!(before.len() < 200 && before.contains("head a tail"), "{before}");
    assert!(after.starts_with('…') && after.contains("head b tail") && after.ends_with('…'));
}

#[test]
fn hidden_characters_and_twins_become_visible() {
    check(
        &json!({"d": "pay"}),
        &json!({"d": "p\u{200b}ay\u{1b}[0m"}),
        "/d: pay -> p\\u{200b}ay\\u{1b}[0m",
    );
    check(&json!({"d": "pay"}), &json!({"d": "p\u{430}y"}), "/d: pay -> p\\u{430}y");
    check(&json!({"d": "Привет"}), &json!({"d": "Привет, мир\n"}), "/d: Привет -> Привет, мир\\n");
    check(&json!({"k": 1}), &json!({"k": 1, "\u{202e}k": 2}), "/\\u{202e}k: (none) -> 2");
}

#[test]
fn a_diff_is_bounded_whatever_was_sent() {
    let many = |of: i64| json!((0..5_000).map(|at| at * of).collect::<Vec<_>>());
    let changes = diff(&many(2).to_string(), &many(3).to_string()).unwrap();
    assert_eq!(changes.len(), MAX_CHANGES);
    let changes = diff("{}", &json!({"x": "y".repeat(100_000)}).to_string()).unwrap();
    assert!(changes[0].after.as_ref().unwrap().chars().count() <= MAX_SIDE_CHARS + 1);
    assert!(diff("{", "{}").is_err());
}
