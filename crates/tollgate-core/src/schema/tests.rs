//! What schemas are taken, what they cost, and what is said about arguments that do not fit.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Schema, SchemaError};

mod hostile;
pub(crate) mod random;

fn check(schema: &Value, instance: &Value) -> String {
    let schema = Schema::compile(schema).expect("a usable schema");
    match schema.check(instance) {
        Ok(()) => "ok".to_owned(),
        Err(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "),
    }
}

fn refusal(schema: &Value) -> SchemaError {
    quickly(|| Schema::compile(schema)).expect_err("a refused schema")
}

/// Whatever it is, it must not take a noticeable time, even in a debug build.
#[expect(clippy::disallowed_methods, reason = "the test is about real time")]
fn quickly<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "took {took:?}");
    done
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

#[test]
fn schemas_are_shared_between_threads() {
    fn is_shared<T: Send + Sync + Clone + std::fmt::Debug>() {}
    is_shared::<Schema>();
    assert!(format!("{:?}", Schema::compile(&json!(true)).unwrap()).contains("true"));
}

#[test]
fn ordinary_arguments_pass() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "expression": {"type": "string", "pattern": "^\\d+d\\d+$", "maxLength": 40},
            "times": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
            "tags": {"type": "array", "items": {"$ref": "#/definitions/tag"}}
        },
        "required": ["expression"],
        "additionalProperties": false,
        "definitions": {"tag": {"enum": ["attack", "damage"]}}
    });
    let fits = json!({"expression": "2d6", "times": 3, "tags": ["attack"]});
    assert_eq!(check(&schema, &fits), "ok");
    assert_eq!(check(&schema, &json!({"expression": "2d6"})), "ok");
}

#[test]
fn violations_say_where_what_was_expected_and_what_was_found() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "where to look"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "filter": {"type": "object", "properties": {
                "tags": {"type": "array", "items": {"type": ["string", "integer"]}}}}
        },
        "required": ["city"],
        "additionalProperties": false
    });
    for (arguments, expected) in [
        (json!({}), "`city` is missing (string: where to look)"),
        (json!({"city": 7}), "`city`: expected string, found number 7"),
        (json!({"city": "Rome", "days": 0}), "`days`: expected at least 1, found 0"),
        (
            json!({"city": "Rome", "unit": "kelvin"}),
            "`unit`: expected one of \"celsius\", \"fahrenheit\", found \"kelvin\"",
        ),
        (
            json!({"city": "Rome", "filter": {"tags": ["a", [1]]}}),
            "`filter.tags[1]`: expected integer or string, found array [1]",
        ),
        (json!({"city": "Rome", "dayz": 1}), "`dayz` is unknown, did you mean `days`?"),
        (
            json!({"city": "Rome", "q": 1}),
            "`q` is unknown; known are `city`, `days`, `unit`, `filter`",
        ),
        (json!([]), "expected object, found array []"),
        (json!(null), "expected object, found null null"),
    ] {
        assert_eq!(check(&schema, &arguments), expected, "{arguments}");
    }
}

#[test]
fn unknown_names_behind_a_reference_get_a_hint_too() {
    let schema = json!({
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/address"}},
        "$defs": {"address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": false
        }}
    });
    let text = check(&schema, &json!({"to": {"citty": "Rome"}}));
    assert!(text.contains("did you mean `city`?"), "{text}");
    assert!(text.contains("`to`: `city` is missing (string)"), "{text}");
}

#[test]
fn of_several_forms_the_nearest_one_is_explained() {
    let schema = object(&json!({"at": {"anyOf": [
        {"type": "string"},
        {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
         "required": ["x", "y"]}
    ]}}));
    let text = check(&schema, &json!({"at": {"x": 1}}));
    assert_eq!(text, "`at`: `y` is missing (number) (in the nearest of 2 forms)");
    let text = check(&schema, &json!({"at": 5}));
    assert_eq!(text, "`at`: fits none of the 2 allowed forms, found 5");
}

#[test]
fn at_most_five_violations_are_told_and_none_is_long() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let many: serde_json::Map<_, _> =
        (0..400).map(|at| (format!("k{at}"), json!("x".repeat(500)))).collect();
    let schema = Schema::compile(&schema).unwrap();
    let found = schema.check(&Value::Object(many)).unwrap_err();
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|it| it.to_string().len() < 200), "{found:?}");
}

#[test]
fn a_great_many_violations_cost_little_room() {
    let schema = Schema::compile(&object(&json!({
        "rows": {"type": "array", "items": {"type": "integer"}}
    })))
    .unwrap();
    let rows = Value::Array(vec![json!("x"); 500_000]);
    let found = quickly(|| schema.check(&json!({"rows": rows}))).unwrap_err();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "does not match the schema");
}

#[test]
fn large_honest_arguments_pass_a_large_honest_schema() {
    let columns: serde_json::Map<_, _> = (0..300)
        .map(|at| (format!("c{at}"), json!({"anyOf": [{"type": "string"}, {"type": "number"}]})))
        .collect();
    let schema = Schema::compile(&object(&json!({
        "rows": {"type": "array", "items": {"type": "object", "properties": columns}}
    })))
    .unwrap();
    let row: serde_json::Map<_, _> = (0..300).map(|at| (format!("c{at}"), json!(at))).collect();
    let rows = Value::Array(vec![Value::Object(row); 100]);
    assert_eq!(schema.check(&json!({"rows": rows})), Ok(()));
}
