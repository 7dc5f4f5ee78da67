//! JSON that nobody would call a schema.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::Schema;
use super::quickly;

/// JSON made of the words of schemas, in no sensible order.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(null)),
        any::<i8>().prop_map(|it| json!(it)),
        prop::sample::select(vec![
            "#",
            "#/$defs/a",
            "#a",
            "object",
            "string",
            "a",
            "^a*$",
            "(?=a)"
        ])
        .prop_map(|it| json!(it)),
    ];
    let words = vec![
        "$ref",
        "$defs",
        "$id",
        "$anchor",
        "$dynamicRef",
        "$dynamicAnchor",
        "a",
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
        "additionalProperties",
        "unevaluatedProperties",
        "unevaluatedItems",
        "prefixItems",
        "enum",
        "contains",
        "dependentSchemas",
        "dependencies",
        "propertyNames",
        "required",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "format",
        "$schema",
        "definitions",
        "const",
    ];
    soup(leaf, words)
}

/// Lists and objects of such leaves, within each other, under such keys.
pub(crate) fn soup(
    leaf: impl Strategy<Value = Value> + 'static,
    words: Vec<&'static str>,
) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(5, 48, 6, move |inner| {
        let key = prop::sample::select(words.clone());
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            4 => prop::collection::vec((key, inner), 0..6).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(key, it)| (key.to_owned(), it)).collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn s_27_no_schema_and_no_instance_brings_it_down(schema in any_schema(), instance in any_schema()) {
        if let Ok(schema) = quickly(|| Schema::compile(&schema))
            && let Err(found) = quickly(|| schema.check(&instance))
        {
            prop_assert!((1..=5).contains(&found.len()));
        }
    }
}
