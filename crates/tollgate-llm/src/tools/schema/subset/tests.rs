use serde_json::{Value, json};

use crate::tools::ToolFormat;
use crate::tools::schema::fit;

/// What becomes of one argument for Gemini's live API, and what is lost.
fn check([schema, expected]: [Value; 2], lost: &[&str]) {
    let schema = json!({"type": "object", "properties": {"x": schema}});
    let fitted = fit(&schema, ToolFormat::GeminiLive, "").unwrap();
    assert_eq!(
        fitted.schema,
        Some(json!({"type": "OBJECT", "properties": {"x": expected}})),
        "{schema}"
    );
    let told: Vec<String> = fitted.lost.iter().map(ToString::to_string).collect();
    assert_eq!(told, lost, "{schema}");
}

#[test]
fn what_the_part_knows_is_kept() {
    check(
        [
            json!({"type": "string", "minLength": 1, "pattern": "a", "title": "T", "default": "a", "examples": ["a", "b"]}),
            json!({"type": "STRING", "minLength": 1, "pattern": "a", "title": "T", "default": "a", "example": "a"}),
        ],
        &[],
    );
    check(
        [
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "minProperties": 1}),
            json!({"type": "OBJECT", "properties": {"a": {"type": "BOOLEAN"}}, "minProperties": 1, "required": ["a"]}),
        ],
        &[],
    );
    check([json!({"type": "object"}), json!({"type": "OBJECT"})], &[]);
    check([json!({"type": ["string", "null"]}), json!({"type": "STRING", "nullable": true})], &[]);
    check(
        [
            json!({"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "exclusiveMaximum": 20.0}),
            json!({"type": "INTEGER", "minimum": 1, "maximum": 9}),
        ],
        &[],
    );
    check([json!({"type": "string", "required": ["a"]}), json!({"type": "STRING"})], &[]);
}

#[test]
fn choices_are_of_texts() {
    check([json!({"const": "a"}), json!({"type": "STRING", "enum": ["a"]})], &[]);
    check(
        [
            json!({"enum": ["a", null, "b"]}),
            json!({"type": "STRING", "enum": ["a", "b"], "nullable": true}),
        ],
        &[],
    );
    check(
        [
            json!({"enum": [1, 2], "description": "how many"}),
            json!({"type": "INTEGER", "description": "how many (limits: enum [1,2])"}),
        ],
        &["/properties/x/enum: `enum` is only in the description"],
    );
    check(
        [
            json!({"enum": ["a", 1]}),
            json!({"anyOf": [
                {"type": "STRING", "enum": ["a"]},
                {"type": "INTEGER", "description": "(limits: enum [1])"},
            ]}),
        ],
        &["/properties/x/enum: `enum` is only in the description"],
    );
    check(
        [
            json!({"type": "string", "enum": ["", "a"]}),
            json!({"type": "STRING", "description": "(limits: enum [\"\",\"a\"])"}),
        ],
        &["/properties/x/enum: `enum` is only in the description"],
    );
}

#[test]
fn alternatives_stand_alone() {
    check(
        [
            json!({"description": "when", "type": ["string", "integer", "null"], "minimum": 3}),
            json!({"anyOf": [
                {"type": "STRING", "nullable": true, "description": "when"},
                {"type": "INTEGER", "minimum": 3, "description": "when"},
            ]}),
        ],
        &[],
    );
    check(
        [
            json!({"oneOf": [{"type": "string"}, {"type": "null"}], "maxLength": 3}),
            json!({"type": "STRING", "maxLength": 3, "nullable": true}),
        ],
        &[],
    );
    check(
        [
            json!({"oneOf": [{"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"}]}),
            json!({"anyOf": [{"type": "STRING", "pattern": "a"}, {"type": "STRING", "pattern": "b"}]}),
        ],
        &["/properties/x/oneOf: `oneOf` is loosened: several alternatives may match"],
    );
    check(
        [
            json!({"allOf": [{"type": "string"}, {"maxLength": 3}, {"allOf": [{"minLength": 1}]}]}),
            json!({"type": "STRING", "maxLength": 3, "minLength": 1}),
        ],
        &[],
    );
}

#[test]
fn what_has_no_words_is_told_in_words() {
    check(
        [
            json!({"type": "array", "items": {"type": "number", "multipleOf": 5}, "uniqueItems": true}),
            json!({
                "type": "ARRAY",
                "items": {"type": "NUMBER", "description": "(limits: multipleOf 5)"},
                "description": "(limits: uniqueItems true)",
            }),
        ],
        &[
            "/properties/x/uniqueItems: `uniqueItems` is only in the description",
            "/properties/x/items/multipleOf: `multipleOf` is only in the description",
        ],
    );
    check(
        [
            json!({"type": "object", "additionalProperties": {"type": "string"}, "description": "labels"}),
            json!({"type": "OBJECT", "description": "labels (limits: additionalProperties {\"type\":\"string\"})"}),
        ],
        &["/properties/x/additionalProperties: `additionalProperties` is only in the description"],
    );
    check(
        [
            json!({"type": "string", "format": "email", "readOnly": true, "x-order": 3}),
            json!({"type": "STRING", "description": "(limits: format \"email\")"}),
        ],
        &[
            "/properties/x/format: `format` is only in the description",
            "/properties/x/readOnly: `readOnly` is omitted",
            "/properties/x/x-order: `x-order` is omitted",
        ],
    );
    check(
        [
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
            json!({
                "type": "ARRAY",
                "maxItems": 2,
                "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
                "description": "(limits: prefixItems [{\"type\":\"string\"},{\"type\":\"integer\"}])",
            }),
        ],
        &["/properties/x/prefixItems: `prefixItems` is only in the description"],
    );
}

#[test]
fn a_tool_that_takes_nothing_has_no_schema_and_no_list_of_needs_is_empty() {
    for schema in
        [json!({}), json!({"type": "object", "properties": {}, "additionalProperties": false})]
    {
        let fitted = fit(&schema, ToolFormat::GeminiLive, "").unwrap();
        assert_eq!(fitted.schema, None);
    }
    let schema = json!({"properties": {"a": {"type": "string"}}, "required": []});
    let fitted = fit(&schema, ToolFormat::GeminiLive, "").unwrap().schema.unwrap();
    assert!(fitted.get("required").is_none());
    let schema = json!({"additionalProperties": {"type": "string"}});
    let fitted = fit(&schema, ToolFormat::GeminiLive, "").unwrap();
    assert_eq!(fitted.notes, ["additionalProperties {\"type\":\"string\"}"]);
}

#[test]
fn what_is_part_of_itself_is_described() {
    let schema = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "$defs": {
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}});
    let fitted = fit(&schema, ToolFormat::GeminiLive, "").unwrap();
    assert_eq!(
        fitted.schema.unwrap()["properties"]["tree"]["properties"]["next"],
        json!({"description": "(limits: the same form as `node` further up)", "type": "OBJECT"})
    );
    assert_eq!(fitted.lost[0].at, "/properties/tree/properties/next/$ref");
}

#[test]
fn every_value_has_a_type() {
    for schema in
        [json!({}), json!(true), json!({"not": {"type": "string"}}), json!({"type": "array"})]
    {
        let schema = json!({"properties": {"x": schema}, "required": ["y"]});
        let fitted = fit(&schema, ToolFormat::GeminiLive, "").unwrap().schema.unwrap();
        for name in ["x", "y"] {
            let written = &fitted["properties"][name];
            let is_told = written.get("type").is_some() || written.get("anyOf").is_some();
            assert!(is_told, "{written}");
        }
    }
}
