//! What is made up for which schema, and what is said where nothing can be.

use serde_json::{Value, json};

use super::{ProbeSynthesisError, arguments};
use crate::schema::Schema;

mod corpus;
mod hostile;
mod permission;
mod random;

/// What is made, as text; or why not.
fn made(schema: &Value) -> String {
    match make(schema) {
        Ok(value) => value.to_string(),
        Err(reason) => reason.to_string(),
    }
}

fn make(schema: &Value) -> Result<Value, ProbeSynthesisError> {
    let compiled = Schema::compile(schema).expect("a usable schema");
    let first = arguments(schema, &compiled);
    assert_eq!(first, arguments(schema, &compiled), "twice the same for {schema}");
    first
}

/// The same for one required field `x`.
fn field(schema: &Value) -> String {
    let whole = json!({"type": "object", "properties": {"x": schema}, "required": ["x"]});
    match make(&whole) {
        Ok(value) => value["x"].to_string(),
        Err(reason) => reason.to_string(),
    }
}

fn check(cases: &[(Value, &str)]) {
    for (schema, expected) in cases {
        assert_eq!(field(schema), *expected, "{schema}");
    }
}

#[test]
fn only_what_is_required_is_given() {
    let schema = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "filter": {"type": "object", "properties": {
                "tags": {"type": "array", "items": {"type": "string"}},
                "since": {"type": "string", "format": "date"}
            }, "required": ["since"]}
        },
        "required": ["query", "filter"]
    });
    assert_eq!(made(&schema), r#"{"query":"test","filter":{"since":"2026-01-01"}}"#);
    assert_eq!(made(&json!({"type": "object"})), "{}");
    assert_eq!(
        made(&json!({"type": "object", "required": ["a", "b"]})),
        r#"{"a":"test","b":"test"}"#
    );
}

#[test]
fn what_the_author_wrote_down_comes_first() {
    check(&[
        (json!({"const": {"a": [1]}}), r#"{"a":[1]}"#),
        (json!({"enum": ["b", "a"]}), r#""b""#),
        (json!({"type": "string", "enum": [1, "a"]}), r#""a""#),
        (json!({"type": "string", "default": "d", "examples": ["e"]}), r#""d""#),
        (json!({"type": "string", "default": null, "examples": [7, "e"]}), r#""e""#),
        (json!({"type": "integer", "default": 99, "maximum": 10}), "1"),
        (json!({"type": "string", "example": "x-1"}), r#""x-1""#),
        (
            json!({"const": "a", "enum": ["b"]}),
            "`/x` cannot be satisfied: none of its enum values fits",
        ),
    ]);
}

#[test]
fn numbers_keep_to_limits_and_steps() {
    check(&[
        (json!({"type": "integer"}), "1"),
        (json!({"type": "number"}), "1"),
        (json!({"type": "integer", "minimum": 5}), "5"),
        (json!({"type": "integer", "exclusiveMinimum": 5}), "6"),
        (json!({"type": "integer", "maximum": -3}), "-3"),
        (json!({"type": "integer", "maximum": 0}), "0"),
        (json!({"type": "integer", "exclusiveMaximum": -3}), "-4"),
        (json!({"type": "integer", "minimum": 2.5}), "3"),
        (json!({"type": "integer", "minimum": -2.5, "maximum": -0.5}), "-2"),
        (json!({"type": "integer", "minimum": 10, "multipleOf": 7}), "14"),
        (json!({"type": "integer", "multipleOf": 1.5, "minimum": 1}), "3"),
        (
            json!({"type": "integer", "allOf": [{"multipleOf": 4}, {"multipleOf": 6}], "minimum": 1}),
            "12",
        ),
        (json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}), "0.1"),
        (json!({"type": "number", "minimum": 0.25, "maximum": 0.5}), "0.25"),
        (
            json!({"type": "number", "exclusiveMinimum": 0.3, "multipleOf": 0.1, "maximum": 0.9}),
            "0.4",
        ),
        (json!({"type": "number", "minimum": 1e-9, "maximum": 2e-9}), "1e-9"),
        (json!({"type": "number", "minimum": 1e300}), "1e+300"),
        (json!({"type": "integer", "minimum": 9_007_199_254_740_993_i64}), "9007199254740993"),
        (json!({"type": "integer", "minimum": u64::MAX}), "18446744073709551615"),
        (json!({"type": "integer", "maximum": i64::MIN}), "-9223372036854775808"),
        (
            json!({"type": "integer", "minimum": 5, "maximum": 3}),
            "`/x` cannot be satisfied: minimum 5 is above maximum 3",
        ),
        (
            json!({"type": "number", "exclusiveMinimum": 2, "maximum": 2}),
            "`/x` cannot be satisfied: exclusiveMinimum 2 allows no value up to maximum 2",
        ),
        (
            json!({"type": "integer", "minimum": 8, "maximum": 13, "multipleOf": 7}),
            "`/x` cannot be satisfied: no multiple of `multipleOf` lies within its limits",
        ),
        (
            json!({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}),
            "`/x` cannot be satisfied: no whole number lies within its limits",
        ),
    ]);
}

#[test]
fn a_flag_of_draft_4_makes_a_limit_exclusive() {
    let schema = json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 4, "exclusiveMinimum": true}},
        "required": ["n"]});
    assert_eq!(made(&schema), r#"{"n":5}"#);
}

#[test]
fn texts_keep_to_lengths_and_formats() {
    check(&[
        (json!({"type": "string"}), r#""test""#),
        (json!({"type": "string", "maxLength": 2}), r#""te""#),
        (json!({"type": "string", "maxLength": 0}), r#""""#),
        (json!({"type": "string", "minLength": 6}), r#""testte""#),
        (json!({"type": "string", "format": "date"}), r#""2026-01-01""#),
        (json!({"type": "string", "format": "date-time"}), r#""2026-01-01T00:00:00Z""#),
        (json!({"type": "string", "format": "time"}), r#""00:00:00Z""#),
        (json!({"type": "string", "format": "duration"}), r#""PT1S""#),
        (json!({"type": "string", "format": "email"}), r#""test@example.com""#),
        (json!({"type": "string", "format": "hostname"}), r#""example.com""#),
        (json!({"type": "string", "format": "ipv4"}), r#""192.0.2.1""#),
        (json!({"type": "string", "format": "ipv6"}), r#""2001:db8::1""#),
        (json!({"type": "string", "format": "uri"}), r#""https://example.com/""#),
        (json!({"type": "string", "format": "uri-reference"}), r#""/test""#),
        (json!({"type": "string", "format": "uuid"}), r#""00000000-0000-4000-8000-000000000000""#),
        (json!({"type": "string", "format": "json-pointer"}), r#""/test""#),
        (json!({"type": "string", "format": "regex"}), r#""test""#),
        (json!({"type": "string", "format": "made-up"}), r#""test""#),
        (json!({"type": "string", "contentEncoding": "base64"}), r#""dGVzdA==""#),
        (json!({"type": "string", "format": "date", "maxLength": 4}), r#""test""#),
        (
            json!({"type": "string", "minLength": 5, "maxLength": 3}),
            "`/x` cannot be satisfied: minLength 5 is above maxLength 3",
        ),
        (
            json!({"type": "string", "minLength": 1_000_000_000}),
            "`/x` needs a text of 1000000000 characters, which is too much for a probe",
        ),
    ]);
}

#[test]
fn patterns_that_people_write_are_met() {
    check(&[
        (json!({"type": "string", "pattern": "^[A-Z]{40}$"}), &format!("\"{}\"", "A".repeat(40))),
        (json!({"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"}), r#""1111-11-11""#),
        (json!({"type": "string", "pattern": "^(asc|desc)$"}), r#""asc""#),
        (json!({"type": "string", "pattern": "^[a-z]+$", "minLength": 6}), r#""testte""#),
        (json!({"type": "string", "pattern": "^[a-z]+-[0-9]+$", "minLength": 9}), r#""aaaa-1111""#),
        (json!({"type": "string", "pattern": "-"}), r#""-""#),
        (json!({"type": "string", "pattern": "-", "minLength": 3}), r#""-aa""#),
        (json!({"type": "string", "pattern": "^repo:"}), r#""repo:""#),
        (json!({"type": "string", "pattern": "^#([0-9a-fA-F]{3}){1,2}$"}), r##""#aaa""##),
        (json!({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "1$"}]}), r#""a1""#),
        (
            json!({"type": "string", "pattern": "^[A-Z]{40}$", "maxLength": 3}),
            "`/x` needs a text that matches `^[A-Z]{40}$`",
        ),
        (
            json!({"type": "string", "pattern": "^\\p{Han}$"}),
            "`/x` needs a text that matches `^\\p{Han}$`",
        ),
    ]);
}

#[test]
fn lists_have_the_items_that_are_demanded() {
    check(&[
        (json!({"type": "array"}), "[]"),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 2}),
            r#"["test","test"]"#,
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 3, "uniqueItems": true}),
            r#"["test","test2","test3"]"#,
        ),
        (
            json!({"type": "array", "items": {"type": "string", "maxLength": 1}, "minItems": 3, "uniqueItems": true}),
            r#"["t","a","b"]"#,
        ),
        (
            json!({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": true}),
            r#"["a","b"]"#,
        ),
        (
            json!({"type": "array", "items": {"type": "integer", "minimum": 4}, "minItems": 3, "uniqueItems": true}),
            "[4,5,6]",
        ),
        (
            json!({"type": "array", "items": {"type": "string", "format": "uuid"}, "minItems": 2, "uniqueItems": true}),
            r#"["00000000-0000-4000-8000-000000000000","00000000-0000-4000-8000-000000000001"]"#,
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "integer"}, {"const": "b"}], "minItems": 2}),
            r#"[1,"b"]"#,
        ),
        (json!({"type": "array", "contains": {"const": 7}}), "[7]"),
        (
            json!({"type": "array", "contains": {"const": 7}, "minContains": 2, "minItems": 3, "items": {"type": "integer"}}),
            "[7,7,1]",
        ),
        (json!({"type": "array", "contains": {"const": 7}, "minContains": 0}), "[]"),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}], "contains": {"type": "integer"}}),
            r#"["test",1]"#,
        ),
        (
            json!({"type": "array", "items": {"type": "boolean"}, "minItems": 3, "uniqueItems": true}),
            "no value found that fits `/x/2`",
        ),
        (
            json!({"type": "array", "minItems": 3, "maxItems": 2}),
            "`/x` cannot be satisfied: minItems 3 is above maxItems 2",
        ),
        (
            json!({"type": "array", "minItems": 5_000_000}),
            "`/x` needs 5000000 items, which is too much for a probe",
        ),
        (
            json!({"type": "array", "items": false, "minItems": 1}),
            "`/x/0` cannot be satisfied: nothing is allowed there",
        ),
    ]);
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {"x": {"type": "array", "items": [{"const": 1}],
            "additionalItems": {"const": 2}, "minItems": 3}}, "required": ["x"]});
    assert_eq!(made(&old), r#"{"x":[1,2,2]}"#);
}

#[test]
fn fields_bring_others_with_them() {
    check(&[
        (
            json!({"type": "object", "required": ["a"], "dependentRequired": {"a": ["b"], "b": ["c"]}}),
            r#"{"a":"test","b":"test","c":"test"}"#,
        ),
        (
            json!({"type": "object", "required": ["a"], "dependentSchemas": {"a": {
                "properties": {"n": {"type": "integer"}}, "required": ["n"]}}}),
            r#"{"a":"test","n":1}"#,
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}, "minProperties": 2}),
            r#"{"a":1,"b":false}"#,
        ),
        (
            json!({"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}),
            r#"{"test":1,"test2":1}"#,
        ),
        (
            json!({"type": "object", "minProperties": 1, "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false}),
            r#"{"x-":1}"#,
        ),
        (
            json!({"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[A-Z]{2}$"}}),
            r#"{"AA":"test"}"#,
        ),
        (
            json!({"type": "object", "required": ["x-a"], "patternProperties": {"^x-": {"type": "integer"}}}),
            r#"{"x-a":1}"#,
        ),
        (
            json!({"type": "object", "required": ["a"], "properties": {"b": {}}, "additionalProperties": false}),
            "`/x` cannot be satisfied: `a` is required and not allowed",
        ),
        (
            json!({"type": "object", "required": ["a", "b"], "maxProperties": 1}),
            "`/x` cannot be satisfied: 2 fields are required, maxProperties is 1",
        ),
        (
            json!({"type": "object", "minProperties": 100_000}),
            "`/x` needs 100000 fields, which is too much for a probe",
        ),
    ]);
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "required": ["a"], "dependencies": {"a": ["b"], "b": {"required": ["c"]}}});
    assert_eq!(made(&old), r#"{"a":"test","b":"test","c":"test"}"#);
}

#[test]
fn of_several_forms_the_first_that_can_be_made_is_taken() {
    check(&[
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), r#""test""#),
        (json!({"anyOf": [{"type": "null"}, {"type": "string"}]}), "null"),
        (json!({"type": ["null", "string"]}), r#""test""#),
        (json!({"type": ["null"]}), "null"),
        (json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}), "0.1"),
        (json!({"oneOf": [{"type": "integer"}, {"type": "integer", "minimum": 0}]}), "-1"),
        (
            json!({"anyOf": [{"type": "integer", "minimum": 9, "maximum": 1}, {"const": "b"}]}),
            r#""b""#,
        ),
        (json!({"anyOf": [false, {"const": "b"}]}), r#""b""#),
        (
            json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}},
                "anyOf": [{"required": ["b"]}, {"required": ["a"]}]}),
            r#"{"b":false}"#,
        ),
        (
            json!({"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "integer"}}},
                {"properties": {"a": {"minimum": 3}}}]}),
            r#"{"a":3}"#,
        ),
        (
            json!({"anyOf": [{"type": "string", "pattern": "^\\p{Han}$"}, {"type": "integer", "minimum": 2, "maximum": 1}]}),
            "`/x` needs a text that matches `^\\p{Han}$`",
        ),
        (
            json!({"type": "string", "allOf": [{"type": "integer"}]}),
            "`/x` cannot be satisfied: its type must be \"string\" and \"integer\" at the same \
             time",
        ),
    ]);
}

#[test]
fn what_must_not_be_is_avoided() {
    check(&[
        (json!({"type": "string", "not": {"const": "test"}}), r#""test2""#),
        (json!({"type": "integer", "not": {"enum": [0, 1, 2]}}), "3"),
        (json!({"not": {"type": "string"}}), "1"),
        (json!({"not": {"type": ["string", "number", "boolean"]}}), "{}"),
        (json!({"type": "boolean", "not": {"const": false}}), "true"),
        (json!({"type": "boolean", "not": {}}), "no value found that fits `/x`"),
        (json!(false), "the whole cannot be satisfied: `x` is required and not allowed"),
    ]);
}

#[test]
fn conditions_hold() {
    let schema = json!({
        "type": "object",
        "properties": {"kind": {"enum": ["file", "url"]}, "path": {"type": "string"}, "url": {"type": "string", "format": "uri"}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "file"}}},
        "then": {"required": ["path"]},
        "else": {"required": ["url"]}
    });
    assert_eq!(made(&schema), r#"{"kind":"file","path":"test"}"#);
    check(&[
        (
            json!({"type": "integer", "if": {"minimum": 5}, "then": {"multipleOf": 7}, "else": {"const": 2}}),
            "2",
        ),
        (
            json!({"type": "integer", "minimum": 6, "if": {"minimum": 5}, "then": {"multipleOf": 7}}),
            "7",
        ),
    ]);
}

#[test]
fn references_are_followed() {
    let schema = json!({
        "type": "object",
        "properties": {
            "at": {"$ref": "#/$defs/point", "description": "where"},
            "unit": {"$ref": "#unit"}
        },
        "required": ["at", "unit"],
        "$defs": {
            "point": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"$ref": "#/$defs/point/properties/x"}}, "required": ["x", "y"]},
            "unit": {"$anchor": "unit", "enum": ["m", "km"]}
        }
    });
    assert_eq!(made(&schema), r#"{"at":{"x":1,"y":1},"unit":"m"}"#);
    // Beside a reference other keywords count since 2019-09, and did not before.
    let beside = |dialect: &str| {
        json!({"$schema": dialect, "type": "object", "required": ["n"],
            "properties": {"n": {"$ref": "#/definitions/n", "const": "no number"}},
            "definitions": {"n": {"type": "integer"}}})
    };
    assert_eq!(made(&beside("http://json-schema.org/draft-07/schema#")), r#"{"n":1}"#);
    let text = made(&beside("https://json-schema.org/draft/2020-12/schema"));
    assert_eq!(text, "`/n` cannot be satisfied: none of its enum values fits");
}

#[test]
fn recursive_schemas_end() {
    let tree = |required: Value| {
        json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"],
            "$defs": {"node": {"type": "object", "properties": {
                "value": {"type": "integer"},
                "left": {"$ref": "#/$defs/node"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}
            }, "required": required}}})
    };
    assert_eq!(made(&tree(json!(["value", "children"]))), r#"{"tree":{"value":1,"children":[]}}"#);
    let text = made(&tree(json!(["value", "left"])));
    assert_eq!(text, "`/tree/left` is infinitely recursive");
    let filter = json!({
        "type": "object", "properties": {"where": {"$ref": "#/$defs/e"}}, "required": ["where"],
        "$defs": {"e": {"oneOf": [
            {"type": "object", "properties": {"not": {"$ref": "#/$defs/e"}}, "required": ["not"], "additionalProperties": false},
            {"type": "object", "properties": {"and": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/e"}}}, "required": ["and"], "additionalProperties": false},
            {"type": "object", "properties": {"field": {"type": "string"}, "is": {}}, "required": ["field", "is"], "additionalProperties": false}
        ]}}
    });
    assert_eq!(made(&filter), r#"{"where":{"field":"test","is":"test"}}"#);
    let itself = json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]});
    assert_eq!(made(&itself), "`/a` is infinitely recursive");
}
