//! Random schemas: those that can be satisfied by the way they were made get arguments that fit;
//! for all others there is an answer of some kind.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::arguments;
use crate::schema::Schema;
use crate::schema::tests::random::soup;

/// Schemas that some value fits, by construction.
fn satisfiable() -> impl Strategy<Value = Value> {
    let number = (-1_000_i64..1_000, 0_i64..500, 1_i64..40, any::<bool>()).prop_map(
        |(low, room, step, is_integer)| {
            let kind = if is_integer { "integer" } else { "number" };
            json!({"type": kind, "minimum": low, "maximum": low + room + step, "multipleOf": step})
        },
    );
    let fraction = (0_i64..100, 1_i64..50).prop_map(|(low, room)| {
        let part = |it: i64| f64::from(i32::try_from(it).unwrap_or(0)) / 100.0;
        json!({"type": "number", "exclusiveMinimum": part(low), "maximum": part(low + room)})
    });
    let text = (0_usize..30, 0_usize..30).prop_map(
        |(least, room)| json!({"type": "string", "minLength": least, "maxLength": least + room}),
    );
    let formats = ["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "hostname", "odd"];
    let format = prop::sample::select(formats.to_vec())
        .prop_map(|format| json!({"type": "string", "format": format}));
    let patterns =
        ["^[a-z]{3,9}$", "^\\d+$", "^(a|b)-[0-9A-F]+$", "x", "^v\\d+\\.\\d+$", "[^/]+/[^/]+"];
    let pattern = (prop::sample::select(patterns.to_vec()), 0_usize..4).prop_map(
        |(pattern, least)| json!({"type": "string", "pattern": pattern, "minLength": least}),
    );
    let leaf = prop_oneof![
        number,
        fraction,
        text,
        format,
        pattern,
        Just(json!({"type": "boolean"})),
        Just(json!({"type": ["null", "integer"]})),
        Just(json!({"enum": ["a", 2, null]})),
        Just(json!({"const": [1, {"a": "b"}]})),
        Just(json!({"$ref": "#/$defs/tree"})),
        Just(json!({"$ref": "#/$defs/name"})),
        Just(json!({"not": {"type": "string"}})),
        Just(json!({})),
        Just(json!(true)),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let fields = prop::collection::vec((inner.clone(), any::<bool>()), 0..5);
        let object = (fields, any::<bool>()).prop_map(|(fields, is_closed)| {
            let mut object = json!({"type": "object", "properties": {}, "required": []});
            for (at, (schema, is_required)) in fields.into_iter().enumerate() {
                object["properties"][format!("f{at}")] = schema;
                if is_required {
                    object["required"].as_array_mut().unwrap().push(json!(format!("f{at}")));
                }
            }
            if is_closed {
                object["additionalProperties"] = json!(false);
            }
            object
        });
        let list = (inner.clone(), 0_usize..4)
            .prop_map(|(items, least)| json!({"type": "array", "items": items, "minItems": least}));
        let pair = prop::collection::vec(inner.clone(), 1..4).prop_map(|items| {
            json!({"type": "array", "minItems": items.len(), "prefixItems": items, "items": false})
        });
        let either =
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(one, two, is_first)| {
                let hopeless = json!({"type": "integer", "minimum": 3, "maximum": 2});
                if is_first {
                    json!({"anyOf": [hopeless, one, two]})
                } else {
                    json!({"anyOf": [one, hopeless]})
                }
            });
        let exactly_one = (inner.clone(), inner.clone()).prop_map(|(one, two)| {
            let tagged = |tag: &str, schema: Value| {
                json!({"type": "object", "required": ["tag", "value"],
                "properties": {"tag": {"const": tag}, "value": schema}})
            };
            json!({"oneOf": [tagged("one", one), tagged("two", two)]})
        });
        let all = inner.prop_map(|schema| json!({"allOf": [schema, true, {"description": "so"}]}));
        prop_oneof![4 => object, 2 => list, 1 => pair, 1 => either, 1 => exactly_one, 1 => all]
    })
}

fn whole(schema: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {"x": schema},
        "required": ["x"],
        "$defs": {
            "name": {"type": "string", "minLength": 1},
            "tree": {"type": "object", "required": ["kids"],
                "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                    "up": {"$ref": "#/$defs/tree"}}}
        }
    })
}

const WORDS: &[&str] = &[
    "$ref",
    "$defs",
    "$anchor",
    "$dynamicRef",
    "a",
    "b",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "properties",
    "patternProperties",
    "items",
    "type",
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "prefixItems",
    "enum",
    "contains",
    "dependentSchemas",
    "dependentRequired",
    "dependencies",
    "propertyNames",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "pattern",
    "format",
    "const",
    "default",
    "examples",
    "minContains",
    "maxContains",
];

/// The words of schemas in any order, some of them nonsense.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!(null)),
        (-3_i64..9).prop_map(|it| json!(it)),
        Just(json!(0.5)),
        prop::sample::select(vec![
            "#",
            "#/$defs/a",
            "#a",
            "object",
            "string",
            "array",
            "integer",
            "number",
            "a",
            "b",
            "^a*$",
            "[b-d]+x",
            "date",
            "uri",
        ])
        .prop_map(|it| json!(it)),
    ];
    soup(leaf, WORDS.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_can_be_satisfied_is(schema in satisfiable()) {
        let schema = whole(&schema);
        let compiled = Schema::compile(&schema).expect("made to be usable");
        let made = arguments(&schema, &compiled);
        prop_assert!(made.is_ok(), "{}: {}", schema, made.unwrap_err());
        prop_assert_eq!(compiled.check(&made.unwrap()), Ok(()));
    }

    #[test]
    fn whatever_is_made_fits_and_nothing_brings_it_down(schema in anything()) {
        let schema = json!({"type": "object", "properties": {"a": schema}, "required": ["a"],
            "$defs": {"a": {"type": "integer"}}});
        match Schema::compile(&schema) {
            Ok(compiled) => if let Ok(made) = arguments(&schema, &compiled) {
                prop_assert_eq!(compiled.check(&made), Ok(()));
            },
            // Even what was refused must not hurt.
            Err(_) => drop(arguments(&schema, &Schema::compile(&json!(true)).unwrap())),
        }
    }
}
