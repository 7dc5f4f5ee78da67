//! Schemas that were written to hurt. Each ends: with arguments that fit, or with a reason.

use serde_json::{Map, Value, json};

use super::super::{ProbeSynthesisError, arguments};
use super::{field, made, make};
use crate::schema::Schema;

#[test]
fn choices_that_never_fit_are_given_up() {
    let either = json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}]});
    let schema = json!({"type": "object", "allOf": vec![either; 20], "maxProperties": 0});
    assert_eq!(made(&schema), "generating arguments would take too long");
}

#[test]
fn recursion_that_grows_new_tasks_at_every_level_ends() {
    let mut definitions = Map::new();
    for at in 0..60 {
        let next = format!("#/$defs/d{}", at + 1);
        let schema =
            json!({"type": "object", "properties": {"a": {"$ref": next}}, "required": ["a"]});
        definitions.insert(format!("d{at}"), schema);
    }
    definitions.insert("d60".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "allOf": [{"$ref": "#/$defs/d0"}], "$defs": definitions});
    let text = made(&schema);
    assert!(
        text.ends_with("needs values nested deeper than 32 levels, which is too much for a probe"),
        "{text}"
    );
}

#[test]
fn doubling_trees_are_not_built() {
    let mut definitions = Map::new();
    for at in 0..30 {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        let schema =
            json!({"type": "object", "properties": {"a": next, "b": next}, "required": ["a", "b"]});
        definitions.insert(format!("d{at}"), schema);
    }
    definitions.insert("d30".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "allOf": [{"$ref": "#/$defs/d0"}], "$defs": definitions});
    assert_eq!(make(&schema), Err(ProbeSynthesisError::TooMuchWork));
}

#[test]
fn lists_of_lists_are_not_multiplied_out() {
    let inner = (0..6).fold(
        json!({"type": "integer"}),
        |inner, _| json!({"type": "array", "items": inner, "minItems": 900}),
    );
    assert_eq!(field(&inner), "generating arguments would take too long");
    let unique = json!({"type": "array", "items": {"type": "string", "minLength": 9_000}, "minItems": 999, "uniqueItems": true});
    assert_eq!(field(&unique), "generating arguments would take too long");
}

#[test]
fn a_great_many_required_fields_are_only_work() {
    let names: Vec<String> = (0..5_000).map(|at| format!("field{at}")).collect();
    let made = make(&json!({"type": "object", "required": names}));
    assert!(matches!(made, Ok(_) | Err(ProbeSynthesisError::TooMuchWork)));
    let names: Vec<String> = (0..300).map(|at| format!("field{at}")).collect();
    let made = make(&json!({"type": "object", "required": names})).expect("no trouble");
    assert_eq!(made.as_object().map(Map::len), Some(300));
}

#[test]
fn names_by_a_great_many_patterns_are_paid_for() {
    let patterns: Map<String, Value> =
        (0..300).map(|at| (format!("^(a|b|c)name{at}$"), json!({}))).collect();
    let of = |least: usize| {
        json!({"type": "object", "minProperties": least, "patternProperties": patterns,
            "additionalProperties": false})
    };
    assert_eq!(make(&of(1_000)), Err(ProbeSynthesisError::TooMuchWork));
    let made = make(&of(3)).expect("the first pattern will do");
    assert_eq!(made.as_object().map(Map::len), Some(3));
}

#[test]
fn patterns_that_explode_do_not() {
    for (pattern, expected) in [
        ("^(a{1,9}){1,9}$", "\"a\""),
        ("^((((a?)?)?)?)?b$", "\"b\""),
        ("^(a|b|c|d)*(e|f){3}$", "\"eee\""),
        (&format!("^{}b{}$", "(".repeat(40), ")".repeat(40)), "\"b\""),
    ] {
        assert_eq!(field(&json!({"type": "string", "pattern": pattern})), expected, "{pattern}");
    }
    let long = json!({"type": "string", "pattern": "^([ab]{0,9})+$", "minLength": 9_000});
    assert!(field(&long).len() >= 9_000);
    let none = json!({"type": "string", "pattern": "^$", "minLength": 9_000});
    assert_eq!(field(&none), "`/x` needs a text that matches `^$`");
}

#[test]
fn numbers_at_the_edge_of_what_there_is_do_no_harm() {
    for schema in [
        json!({"type": "integer", "multipleOf": 1e-300, "minimum": 3}),
        json!({"type": "number", "multipleOf": 1e300, "minimum": 1}),
        json!({"type": "number", "exclusiveMinimum": f64::MAX}),
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 5e-324}),
        json!({"type": "integer", "minimum": u64::MAX, "multipleOf": u64::MAX}),
        json!({"type": "integer", "allOf": [{"multipleOf": 999_999_999_999_999_989_u64}, {"multipleOf": 999_999_999_999_999_967_u64}], "minimum": 1}),
        json!({"type": "number", "minimum": 1.000_000_000_000_001, "maximum": 1.000_000_000_000_002}),
        json!({"type": "string", "minLength": 1e300}),
        json!({"type": "array", "minItems": 1e19, "contains": {}, "minContains": u64::MAX}),
        json!({"type": "object", "minProperties": u64::MAX}),
    ] {
        let whole = json!({"type": "object", "properties": {"x": schema}, "required": ["x"]});
        // Some of these are no schemas to the compiler; the maker must not care.
        let compiled = Schema::compile(&whole).or_else(|_| Schema::compile(&json!({}))).unwrap();
        let _made_or_not = arguments(&whole, &compiled);
    }
}

#[test]
fn a_schema_that_is_not_the_compiled_one_only_leads_to_a_reason() {
    let other = Schema::compile(&json!({"type": "object", "required": ["b"]})).unwrap();
    for schema in
        [json!(null), json!(7), json!([]), json!({"$ref": "#"}), json!({"type": 7, "required": 3})]
    {
        assert!(arguments(&schema, &other).is_err(), "{schema}");
    }
    let endless = json!({"allOf": [{"$ref": "#"}]});
    assert!(arguments(&endless, &other).is_err());
    assert_eq!(
        arguments(&json!({"required": ["a"]}), &other),
        Err(ProbeSynthesisError::Unfit("`b` is missing".to_owned()))
    );
}

#[test]
fn what_only_the_validator_understands_gets_a_reason() {
    let schema = json!({"type": "object", "required": ["a"], "unevaluatedProperties": false});
    assert_eq!(made(&schema), "the generated arguments do not fit the schema: `a` is unknown");
}

#[test]
fn names_and_patterns_of_any_length_stay_readable() {
    let name = "k~/".repeat(3_000);
    let schema = json!({"type": "object", "required": [name], "properties": {name: false}});
    let said = make(&schema).unwrap_err().to_string();
    assert!(said.chars().count() < 250, "{said}");
    let pattern = format!("^{}$", "\\p{Han}".repeat(100));
    assert!(field(&json!({"type": "string", "pattern": pattern})).chars().count() < 200);
    let types: Vec<Value> = vec![json!("string"), json!("null")];
    let schema = json!({"allOf": [{"type": types}, {"type": ["integer", "boolean"]}]});
    assert!(field(&schema).contains("its type must be"));
}
