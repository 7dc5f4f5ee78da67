use serde_json::{Value, json};

use crate::tools::schema::fit_strict;

/// What becomes of one argument that need not be sent.
fn check([schema, expected]: [Value; 2], told: &[&str]) {
    let schema = json!({"type": "object", "properties": {"x": schema}});
    let bound = fit_strict(&schema, "").unwrap();
    assert_eq!(
        bound.schema,
        Some(
            json!({"type": "object", "required": ["x"], "properties": {"x": expected}, "additionalProperties": false})
        ),
        "{schema}"
    );
    let lost: Vec<&str> = bound.lost.iter().map(|it| it.at.as_str()).collect();
    assert_eq!(lost, told, "{schema}");
}

#[test]
fn every_property_is_sent_and_null_stands_for_nothing() {
    let schema = json!({
        "type": "object",
        "properties": {
            "dice": {"type": "string"},
            "times": {"type": "integer", "minimum": 1},
            "who": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
        "required": ["dice"],
    });
    let bound = fit_strict(&schema, "").unwrap();
    assert_eq!(
        bound.schema.unwrap(),
        json!({
            "type": "object",
            "required": ["dice", "times", "who"],
            "properties": {
                "dice": {"type": "string"},
                "times": {"type": ["integer", "null"], "minimum": 1},
                "who": {
                    "type": ["object", "null"],
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}},
                    "additionalProperties": false,
                },
            },
            "additionalProperties": false,
        })
    );
    let sent = json!({"dice": "2d6", "times": null, "who": {"name": null}});
    let own = bound.renames.arguments(sent.as_object().unwrap().clone());
    assert_eq!(Value::Object(own), json!({"dice": "2d6", "who": {"name": null}}));
}

#[test]
fn what_cannot_bind_is_told_in_words() {
    check(
        [
            json!({"type": "string", "minLength": 2, "format": "uri", "default": "ab"}),
            json!({"type": ["string", "null"], "description": "(limits: minLength 2; format \"uri\"; default \"ab\")"}),
        ],
        &["/properties/x/minLength", "/properties/x/format", "/properties/x/default"],
    );
    check(
        [
            json!({"oneOf": [{"type": "string"}, {"const": 3}], "description": "either"}),
            json!({"description": "either", "anyOf": [{"type": "string"}, {"type": "integer", "enum": [3]}, {"type": "null"}]}),
        ],
        &["/properties/x/oneOf"],
    );
    check(
        [
            json!({"allOf": [{"type": "number"}, {"minimum": 3}]}),
            json!({"type": ["number", "null"], "minimum": 3}),
        ],
        &[],
    );
    check(
        [
            json!({"enum": ["a", "b"]}),
            json!({"type": ["string", "null"], "enum": ["a", "b", null]}),
        ],
        &[],
    );
    check(
        [
            json!({"type": ["string", "integer"], "minimum": 1, "pattern": "a"}),
            json!({"anyOf": [{"type": "string", "pattern": "a"}, {"type": "integer", "minimum": 1}, {"type": "null"}]}),
        ],
        &[],
    );
}

#[test]
fn of_two_lists_of_values_what_is_in_both_is_left() {
    check(
        [
            json!({"allOf": [{"const": "x"}, {"enum": ["x", "xy"]}]}),
            json!({"type": ["string", "null"], "enum": ["x", null]}),
        ],
        &[],
    );
}

#[test]
fn what_is_open_cannot_bind_a_model() {
    for (schema, expected) in [
        (
            json!({"properties": {"x": {"const": "a", "enum": ["b"]}}}),
            "no value can satisfy it, at `/properties/x`",
        ),
        (json!({"properties": {"x": {}}}), "it may be anything, at `/properties/x`"),
        (json!({"properties": {"x": true}}), "it may be anything, at `/properties/x`"),
        (
            json!({"properties": {"x": {"type": "object"}}}),
            "it is an object of any keys, at `/properties/x`",
        ),
        (
            json!({"properties": {"x": {"type": "array"}}}),
            "it is a list of anything, at `/properties/x`",
        ),
        (json!({"additionalProperties": {"type": "string"}}), "it is an object of any keys, at ``"),
    ] {
        let told = fit_strict(&schema, "").unwrap_err().to_string();
        assert_eq!(told, format!("the schema cannot be strict: {expected}"));
    }
    let deep = (0..12).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "object", "properties": {"a": inner}}),
    );
    assert!(fit_strict(&deep, "").unwrap_err().to_string().contains("nested too deep"));
    assert!(fit_strict(&json!({}), "").is_ok(), "one that takes nothing binds");
}

#[test]
fn references_stand_alone_or_are_replaced() {
    let schema = json!({"type": "object", "properties": {
        "a": {"$ref": "#/$defs/node"}, "b": {"$ref": "#/$defs/node", "description": "second"}},
        "required": ["a", "b"],
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}});
    let bound = fit_strict(&schema, "").unwrap().schema.unwrap();
    assert_eq!(bound["properties"]["a"], json!({"$ref": "#/$defs/node"}));
    assert_eq!(bound["properties"]["b"]["description"], "second");
    let next = &bound["$defs"]["node"]["properties"]["next"];
    assert_eq!(*next, json!({"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}));
}
