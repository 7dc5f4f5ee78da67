use serde_json::{Value, json};

use super::{SchemaFitError, fit};
use crate::tools::{ConversionLossKind, ToolFormat};

fn fit_schema(schema: &Value, form: ToolFormat) -> Value {
    fit(schema, form, "/inputSchema").unwrap().schema.unwrap()
}

#[test]
fn a_schema_that_every_form_takes_stays_as_it_is() {
    let schema = json!({
        "type": "object",
        "properties": {
            "dice": {"type": "string", "pattern": "^\\d+d\\d+$", "description": "such as 2d6"},
            "times": {"type": ["integer", "null"], "minimum": 1, "default": 1},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": true},
            "where": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"x": {"type": "number"}}}]},
        },
        "required": ["dice"],
        "additionalProperties": false,
    });
    for form in [
        ToolFormat::Mcp,
        ToolFormat::OpenAi,
        ToolFormat::OpenAiResponses,
        ToolFormat::Anthropic,
        ToolFormat::Gemini,
    ] {
        let fitted = fit(&schema, form, "").unwrap();
        assert_eq!(fitted.schema.as_ref(), Some(&schema), "{form}");
        assert!(fitted.lost.is_empty());
    }
}

#[test]
fn b_sc_10_keys_that_a_form_does_not_take_are_renamed_there_and_back() {
    let schema = json!({
        "type": "object",
        "properties": {
            "$top": {"type": "integer"},
            "filter[name]": {"type": "object", "properties": {"a b": {"type": "string"}}, "required": ["a b"]},
            "fine-ish.key": {},
        },
        "required": ["$top"],
        "dependentRequired": {"$top": ["filter[name]"]},
        "default": {"$top": 3},
    });
    let made = fit(&schema, ToolFormat::Anthropic, "/inputSchema").unwrap();
    let properties = made.schema.as_ref().unwrap()["properties"].as_object().unwrap();
    let names: Vec<&String> = properties.keys().collect();
    assert!(names[0].starts_with("_top_") && names[1].starts_with("filter_name__"), "{names:?}");
    assert_eq!(names[2], "fine-ish.key");
    let schema = made.schema.as_ref().unwrap();
    assert_eq!(schema["required"], json!([names[0]]));
    assert_eq!(schema["dependentRequired"][names[0]], json!([names[1]]));
    assert_eq!(schema["default"], json!({names[0]: 3}));
    let inner = schema["properties"][names[1]]["required"][0].as_str().unwrap();
    let sent = json!({names[0]: 1, names[1]: {inner: "x"}, "other": [{inner: 2}]});
    assert_eq!(
        Value::Object(made.renames.arguments(sent.as_object().unwrap().clone())),
        json!({"$top": 1, "filter[name]": {"a b": "x"}, "other": [{"a b": 2}]})
    );
    assert!(made.lost.iter().all(|lost| lost.kind == ConversionLossKind::Renamed));
    assert_eq!(made.lost.len(), 3);
    assert_eq!(made.lost[2].at, "/inputSchema/properties/filter[name]/properties/a b");
    let gemini = fit_schema(&made.schema.unwrap(), ToolFormat::Gemini);
    assert!(gemini["properties"].as_object().unwrap().keys().all(|key| {
        key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && key.len() <= 64
    }));
}

#[test]
fn references_are_gathered_and_inlined_where_that_is_safer() {
    let schema = json!({
        "type": "object",
        "properties": {
            "from": {"$ref": "#/definitions/place", "description": "whence"},
            "to": {"$ref": "#/properties/from"},
        },
        "definitions": {"place": {"type": "string", "minLength": 3}, "unused": {}},
    });
    assert_eq!(
        fit_schema(&schema, ToolFormat::OpenAi),
        json!({
            "type": "object",
            "properties": {
                "from": {"description": "whence", "$ref": "#/$defs/place"},
                "to": {"$ref": "#/$defs/from"},
            },
            "$defs": {
                "place": {"type": "string", "minLength": 3},
                "from": {"description": "whence", "$ref": "#/$defs/place"},
            },
        })
    );
    assert_eq!(
        fit_schema(&schema, ToolFormat::Gemini)["properties"],
        json!({
            "from": {"description": "whence", "type": "string", "minLength": 3},
            "to": {"description": "whence", "type": "string", "minLength": 3},
        })
    );
}

#[test]
fn what_is_part_of_itself_keeps_its_references() {
    let schema = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "$defs": {
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}});
    for form in [ToolFormat::OpenAi, ToolFormat::Anthropic, ToolFormat::Gemini] {
        assert_eq!(fit_schema(&schema, form), schema, "{form}");
    }
}

#[test]
fn older_drafts_are_written_anew() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "id": "x",
        "type": "object",
        "properties": {
            "n": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}], "additionalItems": false},
            "r": {"$ref": "#/definitions/a", "minLength": 9},
        },
        "dependencies": {"n": ["pair"], "pair": {"required": ["r"]}},
        "definitions": {"a": {"type": "string"}},
    });
    assert_eq!(
        fit_schema(&schema, ToolFormat::Anthropic),
        json!({
            "type": "object",
            "properties": {
                "n": {"type": "number", "exclusiveMinimum": 0, "maximum": 9},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": false},
                "r": {"$ref": "#/$defs/a"},
            },
            "dependentRequired": {"n": ["pair"]},
            "dependentSchemas": {"pair": {"required": ["r"]}},
            "$defs": {"a": {"type": "string"}},
        })
    );
}

#[test]
fn lists_say_what_is_in_them_and_schemas_are_objects() {
    assert_eq!(
        fit_schema(
            &json!({"properties": {"a": {"type": "array"}, "b": true, "c": false, "d": {"type": ["array", "null"]}}}),
            ToolFormat::OpenAi
        ),
        json!({"type": "object", "properties": {
            "a": {"type": "array", "items": {}},
            "b": {},
            "c": {"not": {}},
            "d": {"type": ["array", "null"], "items": {}},
        }})
    );
}

#[test]
fn b_sc_05_schemas_beyond_all_bounds_are_refused() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    let wide: Value = (0..60_000).map(|at| at.to_string()).collect();
    for (schema, expected) in
        [(deep, SchemaFitError::TooDeep), (json!({"required": wide}), SchemaFitError::TooLarge)]
    {
        for form in ToolFormat::ALL {
            assert_eq!(fit(&schema, form, "").unwrap_err(), expected);
        }
    }
}

#[test]
fn b_sc_04_references_that_double_do_not_explode() {
    let mut definitions = serde_json::Map::new();
    for at in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        definitions.insert(format!("d{at}"), json!({"properties": {"a": next, "b": next}}));
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    let schema = json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    for form in ToolFormat::ALL {
        let text = fit_schema(&schema, form).to_string();
        assert!(text.len() < 500_000, "{form}: {} bytes", text.len());
    }
}
