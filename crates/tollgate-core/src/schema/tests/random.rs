//! JSON that nobody would call a schema.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::Schema;
use super::quickly;

/// Words of schemas that all who read them know.
const WORDS: &[&str] = &[
    "$ref",
    "$defs",
    "$anchor",
    "a",
    "allOf",
    "anyOf",
    "oneOf",
    "properties",
    "patternProperties",
    "items",
    "prefixItems",
    "type",
    "additionalProperties",
    "enum",
    "const",
    "required",
    "minimum",
    "minLength",
    "pattern",
    "format",
    "definitions",
    "then",
    "else",
];

/// JSON made of the words of schemas, in no sensible order.
fn any_schema() -> impl Strategy<Value = Value> {
    let patterns = prop::sample::select(vec!["^a*$", "(?=a)"]).prop_map(|it| json!(it));
    let words = &[
        "$id",
        "$dynamicRef",
        "$dynamicAnchor",
        "not",
        "if",
        "unevaluatedProperties",
        "unevaluatedItems",
        "contains",
        "dependentSchemas",
        "dependencies",
        "propertyNames",
        "multipleOf",
        "$schema",
    ];
    schemas(patterns, words)
}

/// JSON made of what all schemas are made of, of such leaves and under such words too.
pub(crate) fn schemas(
    further: impl Strategy<Value = Value> + 'static,
    words: &'static [&'static str],
) -> impl Strategy<Value = Value> {
    let texts = prop::sample::select(vec!["#", "#/$defs/a", "#a", "object", "string", "a"]);
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(null)),
        any::<i8>().prop_map(|it| json!(it)),
        texts.prop_map(|it| json!(it)),
        further,
    ];
    soup(leaf, [WORDS, words].concat())
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
