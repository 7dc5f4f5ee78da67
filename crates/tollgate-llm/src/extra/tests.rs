//! What comes back into an object, and what is left out.

use serde_json::json;

use super::*;

fn check(extra: Value, object: Value, dialect: Dialect, expected: &Value) {
    let (Value::Object(fields), Value::Object(mut object)) = (extra, object) else {
        panic!("two objects");
    };
    Extra::new(Dialect::OpenAiChat, fields).write_into(dialect, &mut object);
    assert_eq!(Value::Object(object), *expected);
}

#[test]
fn fields_come_back_where_nothing_stands() {
    let own = Dialect::OpenAiChat;
    check(json!({"a": 1, "b": 2}), json!({"b": 3}), own, &json!({"b": 3, "a": 1}));
    check(
        json!({"a": {"x": 1, "y": 2}}),
        json!({"a": {"y": 3}}),
        own,
        &json!({"a": {"y": 3, "x": 1}}),
    );
    check(
        json!({"a": [{"x": 1}, {"z": 1}]}),
        json!({"a": [{"y": 1}]}),
        own,
        &json!({"a": [{"y": 1, "x": 1}, {"z": 1}]}),
    );
    check(json!({"a": {"x": 1}}), json!({"a": null}), own, &json!({"a": null}));
}

#[test]
fn fields_of_another_dialect_are_left_out_and_can_be_named() {
    check(json!({"a": 1}), json!({}), Dialect::Gemini, &json!({}));
    let fields = Map::from_iter([("a".to_owned(), json!(1)), ("b".to_owned(), json!(2))]);
    let extra = Extra::new(Dialect::OpenAiChat, fields);
    let foreign: Vec<&str> = extra.foreign_to(Dialect::Gemini).map(|(key, _)| key).collect();
    assert_eq!(foreign, ["a", "b"]);
    assert_eq!(extra.foreign_to(Dialect::OpenAiChat).count(), 0);
}
