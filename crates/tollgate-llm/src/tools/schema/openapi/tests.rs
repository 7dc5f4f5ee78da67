use serde_json::json;

use super::read;

#[test]
fn geminis_schemas_are_read_as_json_schema() {
    assert_eq!(
        read(&json!({
            "type": "OBJECT",
            "properties": {
                "b": {"type": "STRING", "format": "enum", "enum": ["x", "y"], "nullable": true},
                "a": {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "1", "example": [7]},
                "c": {"any_of": [{"type": "NUMBER"}, {"type": "BOOLEAN"}], "nullable": true},
                "d": {"type": "TYPE_UNSPECIFIED", "nullable": false},
            },
            "propertyOrdering": ["a", "b"],
            "required": ["a"],
        })),
        json!({
            "type": "object",
            "properties": {
                "a": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "examples": [[7]]},
                "b": {"type": ["string", "null"], "enum": ["x", "y", null]},
                "c": {"anyOf": [{"type": "number"}, {"type": "boolean"}, {"type": "null"}]},
                "d": {},
            },
            "required": ["a"],
        })
    );
}
