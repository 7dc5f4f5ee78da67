use serde_json::{Map, Value, json};

use super::and;

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other}"),
    }
}

/// One and two, what they are together, and what is left over.
fn check([one, two, merged, rest]: [Value; 4]) {
    let (found, left) = and(fields(one), fields(two));
    assert_eq!(Value::Object(found), merged);
    assert_eq!(left.map_or(Value::Null, Value::Object), rest);
}

#[test]
fn what_both_say_is_put_together() {
    check([
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({"properties": {"b": {}, "a": {"maxLength": 3}}, "required": ["b", "a"]}),
        json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}, "b": {}}, "required": ["a", "b"]}),
        Value::Null,
    ]);
    check([
        json!({"type": ["number", "null"], "minimum": 1, "maximum": 9}),
        json!({"type": "integer", "minimum": 3, "maximum": 5}),
        json!({"type": "integer", "minimum": 3, "maximum": 5}),
        Value::Null,
    ]);
    check([
        json!({"enum": [1, 2, 3], "description": "mine"}),
        json!({"enum": [2, 3, 4], "description": "theirs"}),
        json!({"enum": [2, 3], "description": "mine"}),
        Value::Null,
    ]);
}

#[test]
fn what_cannot_be_put_together_is_left_over() {
    check([
        json!({"type": "string", "pattern": "a"}),
        json!({"type": "integer", "pattern": "b"}),
        json!({"type": "string", "pattern": "a"}),
        json!({"type": "integer", "pattern": "b"}),
    ]);
    // A closed object does not know the properties of the other.
    check([
        json!({"properties": {"a": {}}, "additionalProperties": false}),
        json!({"properties": {"b": {}}}),
        json!({"properties": {"a": {}}, "additionalProperties": false}),
        json!({"properties": {"b": {}}}),
    ]);
    check([
        json!({"items": {"type": "string"}}),
        json!({"prefixItems": [{}], "items": false, "minItems": 1}),
        json!({"items": {"type": "string"}, "minItems": 1}),
        json!({"prefixItems": [{}], "items": false}),
    ]);
    check([
        json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        json!({"if": {"required": ["c"]}, "else": {"required": ["d"]}}),
        json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        json!({"if": {"required": ["c"]}, "else": {"required": ["d"]}}),
    ]);
}
