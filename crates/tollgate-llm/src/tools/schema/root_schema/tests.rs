use serde_json::{Value, json};

use crate::tools::ToolFormat;
use crate::tools::schema::{SchemaFitError, fit};

/// What becomes of a schema for OpenAI, and what is only told.
fn check([schema, expected]: [Value; 2], told: &[&str]) {
    let fitted = fit(&schema, ToolFormat::OpenAi, "").unwrap();
    assert_eq!(fitted.schema, Some(expected));
    assert_eq!(fitted.notes, told);
    assert_eq!(fitted.lost.len(), told.len());
}

#[test]
fn parts_of_the_root_that_all_hold_become_one_object() {
    check(
        [
            json!({
                "allOf": [{"$ref": "#/$defs/page"}, {"properties": {"q": {"type": "string"}}, "required": ["q"]}],
                "$defs": {"page": {"type": "object", "properties": {"page": {"type": "integer"}}}},
                "unevaluatedProperties": false,
            }),
            json!({
                "type": "object",
                "$defs": {"page": {"type": "object", "properties": {"page": {"type": "integer"}}}},
                "properties": {"page": {"type": "integer"}, "q": {"type": "string"}},
                "required": ["q"],
                "additionalProperties": false,
            }),
        ],
        &[],
    );
}

#[test]
fn alternatives_become_one_object_with_the_choice_in_words() {
    check(
        [
            json!({
                "type": "object",
                "description": "Finds somebody.",
                "oneOf": [
                    {"properties": {"by": {"const": "name"}, "name": {"type": "string"}}, "required": ["by", "name"]},
                    {"properties": {"by": {"const": "id"}, "id": {"type": "integer"}}, "required": ["by", "id"]},
                ],
            }),
            json!({
                "type": "object",
                "description": "Finds somebody.",
                "properties": {"by": {"enum": ["name", "id"]}, "name": {"type": "string"}, "id": {"type": "integer"}},
                "required": ["by"],
            }),
        ],
        &["exactly one of (by \"name\", with by, name) or (by \"id\", with by, id)"],
    );
    check(
        [
            json!({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({
                "type": "object",
                "properties": {"a": {}, "b": {}},
            }),
        ],
        &["any of (with a) or (with b)"],
    );
}

#[test]
fn only_objects_can_be_arguments() {
    for (schema, expected) in [
        (json!({"type": "string"}), SchemaFitError::NotOfObjects),
        (json!({"type": 7}), SchemaFitError::NotOfObjects),
        (json!(true), SchemaFitError::NotASchema),
        (json!("object"), SchemaFitError::NotASchema),
    ] {
        assert_eq!(fit(&schema, ToolFormat::OpenAi, "").unwrap_err(), expected, "{schema}");
    }
    check([json!({"type": ["null", "object"]}), json!({"type": "object", "properties": {}})], &[]);
    check([json!({}), json!({"type": "object", "properties": {}})], &[]);
}

#[test]
fn b_sc_02_references_in_circles_come_to_an_end() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {
            "a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}, {"required": ["x"]}]}}}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"oneOf": [{"$ref": "#"}]}),
    ] {
        for form in ToolFormat::ALL {
            fit(&schema, form, "").unwrap();
        }
    }
}
