//! What schemas are taken, what they cost, and what is said about arguments that do not fit.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{BadSchema, Schema};

fn check(schema: &Value, instance: &Value) -> String {
    let schema = Schema::compile(schema).expect("a usable schema");
    match schema.check(instance) {
        Ok(()) => "ok".to_owned(),
        Err(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | "),
    }
}

fn refusal(schema: &Value) -> BadSchema {
    quickly(|| Schema::compile(schema)).expect_err("a refused schema")
}

/// Whatever it is, it must not take a noticeable time, even in a debug build.
#[expect(clippy::disallowed_methods, reason = "the test is about real time")]
fn quickly<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(2), "took {took:?}");
    done
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

#[test]
fn schemas_are_shared_between_threads() {
    fn is_shared<T: Send + Sync + Clone + std::fmt::Debug>() {}
    is_shared::<Schema>();
    assert!(format!("{:?}", Schema::compile(&json!(true)).unwrap()).contains("true"));
}

#[test]
fn ordinary_arguments_pass() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "expression": {"type": "string", "pattern": "^\\d+d\\d+$", "maxLength": 40},
            "times": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
            "tags": {"type": "array", "items": {"$ref": "#/definitions/tag"}}
        },
        "required": ["expression"],
        "additionalProperties": false,
        "definitions": {"tag": {"enum": ["attack", "damage"]}}
    });
    let fits = json!({"expression": "2d6", "times": 3, "tags": ["attack"]});
    assert_eq!(check(&schema, &fits), "ok");
    assert_eq!(check(&schema, &json!({"expression": "2d6"})), "ok");
}

#[test]
fn violations_say_where_what_was_expected_and_what_was_found() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "where to look"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "filter": {"type": "object", "properties": {
                "tags": {"type": "array", "items": {"type": ["string", "integer"]}}}}
        },
        "required": ["city"],
        "additionalProperties": false
    });
    for (arguments, expected) in [
        (json!({}), "`city` is missing (string: where to look)"),
        (json!({"city": 7}), "`city`: expected string, found number 7"),
        (json!({"city": "Rome", "days": 0}), "`days`: expected at least 1, found 0"),
        (
            json!({"city": "Rome", "unit": "kelvin"}),
            "`unit`: expected one of \"celsius\", \"fahrenheit\", found \"kelvin\"",
        ),
        (
            json!({"city": "Rome", "filter": {"tags": ["a", [1]]}}),
            "`filter.tags[1]`: expected integer or string, found array [1]",
        ),
        (json!({"city": "Rome", "dayz": 1}), "`dayz` is unknown, did you mean `days`?"),
        (
            json!({"city": "Rome", "q": 1}),
            "`q` is unknown; known are `city`, `days`, `unit`, `filter`",
        ),
        (json!([]), "expected object, found array []"),
        (json!(null), "expected object, found null null"),
    ] {
        assert_eq!(check(&schema, &arguments), expected, "{arguments}");
    }
}

#[test]
fn unknown_names_behind_a_reference_get_a_hint_too() {
    let schema = json!({
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/address"}},
        "$defs": {"address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": false
        }}
    });
    let said = check(&schema, &json!({"to": {"citty": "Rome"}}));
    assert!(said.contains("did you mean `city`?"), "{said}");
    assert!(said.contains("`to`: `city` is missing (string)"), "{said}");
}

#[test]
fn of_several_forms_the_nearest_one_is_explained() {
    let schema = object(&json!({"at": {"anyOf": [
        {"type": "string"},
        {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
         "required": ["x", "y"]}
    ]}}));
    let said = check(&schema, &json!({"at": {"x": 1}}));
    assert_eq!(said, "`at`: `y` is missing (number) (in the nearest of 2 forms)");
    let said = check(&schema, &json!({"at": 5}));
    assert_eq!(said, "`at`: fits none of the 2 allowed forms, found 5");
}

#[test]
fn at_most_five_violations_are_told_and_none_is_long() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let many: serde_json::Map<_, _> =
        (0..400).map(|at| (format!("k{at}"), json!("x".repeat(500)))).collect();
    let schema = Schema::compile(&schema).unwrap();
    let found = schema.check(&Value::Object(many)).unwrap_err();
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|it| it.to_string().len() < 200), "{found:?}");
}

#[test]
fn a_great_many_violations_cost_little_room() {
    let schema = Schema::compile(&object(&json!({
        "rows": {"type": "array", "items": {"type": "integer"}}
    })))
    .unwrap();
    let rows = Value::Array(vec![json!("x"); 500_000]);
    let found = quickly(|| schema.check(&json!({"rows": rows}))).unwrap_err();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "does not match the schema");
}

#[test]
fn large_honest_arguments_pass_a_large_honest_schema() {
    let columns: serde_json::Map<_, _> = (0..300)
        .map(|at| (format!("c{at}"), json!({"anyOf": [{"type": "string"}, {"type": "number"}]})))
        .collect();
    let schema = Schema::compile(&object(&json!({
        "rows": {"type": "array", "items": {"type": "object", "properties": columns}}
    })))
    .unwrap();
    let row: serde_json::Map<_, _> = (0..300).map(|at| (format!("c{at}"), json!(at))).collect();
    let rows = Value::Array(vec![Value::Object(row); 100]);
    assert_eq!(schema.check(&json!({"rows": rows})), Ok(()));
}

#[test]
fn b_sc_01_roots_that_are_no_schema_are_refused() {
    for root in [json!(null), json!("object"), json!(7), json!([])] {
        assert!(matches!(refusal(&root), BadSchema::Invalid(_)), "{root}");
    }
    assert!(matches!(refusal(&json!({"type": 7})), BadSchema::Invalid(_)));
    assert!(matches!(refusal(&json!({"type": "objekt"})), BadSchema::Invalid(_)));
    assert!(matches!(refusal(&json!({"properties": []})), BadSchema::Invalid(_)));
}

#[test]
fn b_sc_02_references_stay_inside_and_end() {
    for outside in [
        "http://127.0.0.1:9/x",
        "https://example.com/schema#/$defs/a",
        "file:///etc/passwd",
        "//host/x",
        "other.json",
        "other.json#/a",
        "urn:x:y",
        "http://json-schema.org/draft-07/schema#",
        "",
    ] {
        let schema = object(&json!({"a": {"$ref": outside}}));
        assert!(matches!(refusal(&schema), BadSchema::Outside(_)), "{outside}");
    }
    for nowhere in ["#/nope", "#nope", "#/properties/a/$ref", "#/%zz", "#/%ff", "#/type"] {
        let schema = object(&json!({"a": {"$ref": nowhere}}));
        assert!(matches!(refusal(&schema), BadSchema::Nowhere(_)), "{nowhere}");
    }
    for endless in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"anyOf": [{"$ref": "#/$defs/a"}]}}}}),
        json!({"$dynamicAnchor": "x", "if": {"$dynamicRef": "#x"}}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
    ] {
        assert_eq!(refusal(&endless), BadSchema::Endless, "{endless}");
    }
}

#[test]
fn references_to_anchors_and_odd_places_work() {
    let schema = object(&json!({
        "a": {"$ref": "#num"},
        "b": {"$ref": "#/components/schemas/Na~1me%25"},
        "c": {"$ref": "#/$defs/list"}
    }));
    let mut schema = schema;
    schema["$defs"] = json!({
        "n": {"$anchor": "num", "type": "number"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/list"}}
    });
    schema["components"] = json!({"schemas": {"Na/me%": {"type": "string"}}});
    assert_eq!(check(&schema, &json!({"a": 1, "b": "x", "c": [[], [[]]]})), "ok");
    let said = check(&schema, &json!({"a": "x"}));
    assert_eq!(said, "`a`: expected number, found string \"x\"");
    assert!(check(&schema, &json!({"b": 1})).contains("expected string"));
    assert!(check(&schema, &json!({"c": [[1]]})).contains("`c[0][0]`"));
}

#[test]
fn b_sc_03_an_inner_id_cannot_rebase_references() {
    let schema = object(&json!({
        "a": {"$id": "http://evil.example/", "$defs": {"x": {"type": "string"}},
              "properties": {"b": {"$ref": "#/$defs/x"}}}
    }));
    assert_eq!(refusal(&schema), BadSchema::InnerId);
    // At the root it is only a name.
    let mut named = object(&json!({"a": {"$ref": "#/$defs/x"}}));
    named["$id"] = json!("http://json-schema.org/draft-07/schema#");
    named["$defs"] = json!({"x": {"type": "string"}});
    assert_eq!(check(&named, &json!({"a": "b"})), "ok");
}

#[test]
fn b_sc_04_doubling_chains_are_refused_before_they_cost_anything() {
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let mut definitions = serde_json::Map::new();
        for at in 0..30 {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            definitions.insert(format!("d{at}"), json!({keyword: [next, next]}));
        }
        definitions.insert("d30".to_owned(), json!({"type": "string"}));
        let schema = json!({"type": "object", "$ref": "#/$defs/d0", "$defs": definitions});
        assert_eq!(refusal(&schema), BadSchema::TooMuchWork, "{keyword}");
    }
}

#[test]
fn s_27_doubling_at_every_level_of_the_instance_is_stopped_by_its_depth() {
    let twice = json!({"anyOf": [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}}, "required": ["x"]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}}, "required": ["y"]},
        {"type": "integer"}
    ]});
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": twice}});
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!({"a": inner, "y": 1}));
    let schema = Schema::compile(&schema).unwrap();
    assert_eq!(quickly(|| schema.check(&nested(10))), Ok(()));
    let found = quickly(|| schema.check(&nested(60))).unwrap_err();
    assert!(found[0].to_string().contains("nested too deep"), "{found:?}");
    // The same without recursion: a long chain of definitions, two ways through each.
    let mut definitions = serde_json::Map::new();
    for at in 0..60 {
        let next = json!({"properties": {"a": {"$ref": format!("#/$defs/d{}", at + 1)}}});
        definitions.insert(format!("d{at}"), json!({"anyOf": [next, next]}));
    }
    definitions.insert("d60".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "allOf": [{"$ref": "#/$defs/d0"}], "$defs": definitions});
    let schema = quickly(|| Schema::compile(&schema)).unwrap();
    assert!(quickly(|| schema.check(&nested(59))).is_err());
}

#[test]
fn s_27_trees_and_grammars_that_people_write_are_not_stopped() {
    let tree = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "left": {"$ref": "#/$defs/node"},
                "right": {"$ref": "#/$defs/node"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}
            }
        }}
    });
    let deep = (0..50).fold(json!({"value": 1}), |inner, _| json!({"left": inner}));
    assert_eq!(check(&tree, &json!({"root": deep})), "ok");
    let filter = json!({
        "type": "object",
        "properties": {"where": {"$ref": "#/$defs/e"}},
        "$defs": {"e": {"oneOf": [
            {"type": "object", "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/e"}}},
             "required": ["and"], "additionalProperties": false},
            {"type": "object", "properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/e"}}},
             "required": ["or"], "additionalProperties": false},
            {"type": "object", "properties": {"not": {"$ref": "#/$defs/e"}},
             "required": ["not"], "additionalProperties": false},
            {"type": "object", "properties": {"field": {"type": "string"}, "is": {}},
             "required": ["field", "is"], "additionalProperties": false}
        ]}}
    });
    let leaf = json!({"field": "a", "is": 1});
    let deep = (0..20).fold(leaf.clone(), |inner, at| match at % 3 {
        0 => json!({"and": [inner, leaf]}),
        1 => json!({"or": [inner, leaf]}),
        _ => json!({"not": inner}),
    });
    assert_eq!(check(&filter, &json!({"where": deep})), "ok");
}

#[test]
fn b_sc_05_size_depth_and_number_have_limits() {
    let deep = (0..33).fold(json!({"type": "string"}), |inner, _| object(&json!({"a": inner})));
    assert!(matches!(refusal(&deep), BadSchema::TooDeep { .. }));
    let deep = (0..31).fold(json!({"type": "string"}), |inner, _| object(&json!({"a": inner})));
    assert!(Schema::compile(&deep).is_ok());
    let data = (0..200).fold(json!(1), |inner, _| json!([inner]));
    assert!(matches!(refusal(&json!({"default": data})), BadSchema::TooDeep { .. }));
    let many: serde_json::Map<_, _> = (0..2_100).map(|at| (format!("p{at}"), json!({}))).collect();
    let many = object(&Value::Object(many));
    assert!(matches!(refusal(&many), BadSchema::TooManySubschemas { .. }));
    let long = json!({"enum": (0..100_000).collect::<Vec<_>>()});
    assert!(matches!(refusal(&long), BadSchema::TooLong { .. }));
}

#[test]
fn b_sc_06_patterns_run_in_linear_time_or_not_at_all() {
    let schema = object(&json!({"a": {"type": "string", "pattern": "^(a+)+$"}}));
    let text = "a".repeat(50_000) + "!";
    assert!(quickly(|| check(&schema, &json!({"a": text}))).contains("matches `^(a+)+$`"));
    for pattern in ["(?=a)b", "(?<!a)b", "(a)\\1", "(", "(a{1,1000}){1,1000}", "[z-a]"] {
        let schema = object(&json!({"a": {"pattern": pattern}}));
        assert!(matches!(refusal(&schema), BadSchema::Invalid(_)), "{pattern}");
        let schema = json!({"patternProperties": {pattern: {}}});
        assert!(matches!(refusal(&schema), BadSchema::Invalid(_)), "{pattern}");
    }
    let long = object(&json!({"a": {"pattern": "a".repeat(1025)}}));
    assert!(matches!(refusal(&long), BadSchema::LongPattern { .. }));
    let many: Vec<_> =
        (0..1500).map(|at| json!({"pattern": format!("\\p{{L}}{{99}}{at}")})).collect();
    assert!(matches!(refusal(&json!({"prefixItems": many})), BadSchema::Invalid(_)));
}

#[test]
fn b_sc_07_dynamic_references_and_cross_products_end() {
    let tree = json!({
        "type": "object", "$dynamicAnchor": "node",
        "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}}
    });
    let deep = (0..40).fold(json!({}), |inner, _| json!({"children": [inner]}));
    assert_eq!(check(&tree, &deep), "ok");
    assert!(check(&tree, &json!({"children": [1]})).contains("expected object"));
    let mut cross = json!({"properties": {"a": {}}});
    for at in 0..14 {
        let pair = [cross.clone(), json!({"properties": {format!("p{at}"): {}}})];
        cross = json!({"anyOf": pair, "unevaluatedProperties": false});
    }
    if let Ok(schema) = quickly(|| Schema::compile(&cross)) {
        let _ = quickly(|| schema.check(&json!({"a": 1, "p3": 2, "zz": 3})));
    }
}

#[test]
fn b_sc_08_known_dialects_are_honoured_and_unknown_ones_refused() {
    for known in [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2020-12/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-04/schema#",
    ] {
        assert_eq!(check(&json!({"$schema": known, "type": "object"}), &json!({})), "ok");
    }
    for unknown in [
        json!("http://json-schema.org/draft-03/schema#"),
        json!("https://example.com/dialect"),
        json!("file:///etc/passwd"),
        json!(""),
        json!(7),
    ] {
        let schema = json!({"$schema": unknown, "type": "object"});
        assert!(matches!(refusal(&schema), BadSchema::Dialect(_)), "{unknown}");
    }
    // In draft-04 the limit is exclusive by a flag beside it; in 2020-12 that is no schema.
    let draft4 = json!({"$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"maximum": 3, "exclusiveMaximum": true}}});
    assert!(check(&draft4, &json!({"a": 3})).contains("less than 3"));
    assert!(matches!(
        refusal(&object(&json!({"a": {"maximum": 3, "exclusiveMaximum": true}}))),
        BadSchema::Invalid(_)
    ));
}

#[test]
fn b_sc_10_odd_property_names_and_values_do_no_harm() {
    let schema = object(&json!({
        "__proto__": {"type": "string"},
        "": {"type": "integer", "default": "not an integer"},
        "k".repeat(10_000): {"type": "boolean"},
        "a/b~c": {"const": "x".repeat(20_000)}
    }));
    assert_eq!(check(&schema, &json!({"__proto__": "x", "": 1})), "ok");
    let said = check(&schema, &json!({"__proto__": 1, "a/b~c": 2, "k".repeat(10_000): 3}));
    assert!(
        said.contains("`__proto__`") && said.contains("`a/b~c`") && said.len() < 1000,
        "{said}"
    );
}

#[test]
fn b_sc_10_properties_may_be_called_like_keywords() {
    for name in ["$ref", "$id", "id", "$schema", "$anchor", "pattern", "type", "items", "$defs"] {
        let schema = json!({
            "type": "object",
            "properties": {name: {"type": "string"}, "other": {"$ref": "#/$defs/other"}},
            "required": [name],
            "default": {"$ref": "http://127.0.0.1:9/", "$id": "http://x/", "$schema": "x"},
            "examples": [{"$ref": "#/nope"}],
            "$defs": {"other": {"const": {"$ref": "http://127.0.0.1:9/"}}}
        });
        assert_eq!(check(&schema, &json!({name: "x"})), "ok", "{name}");
        let said = check(&schema, &json!({name: 1}));
        assert!(said.contains("expected string, found number 1"), "{name}: {said}");
    }
}

#[test]
fn b_sc_11_a_schema_that_nothing_fits_is_usable() {
    let said = check(&json!({"not": {}}), &json!({"a": 1}));
    assert_eq!(said, "has a form that is not allowed, found {\"a\":1}");
    assert_eq!(check(&json!(false), &json!(1)), "is not allowed here");
}

#[test]
fn s_27_long_chains_of_references_do_not_eat_the_stack() {
    let chain = |length: usize, link: fn(Value) -> Value| {
        let mut definitions = serde_json::Map::new();
        for at in 0..length {
            let next = link(json!({"$ref": format!("#/$defs/d{}", at + 1)}));
            definitions.insert(format!("d{at}"), next);
        }
        definitions.insert(format!("d{length}"), json!({"type": "object"}));
        json!({"type": "object", "allOf": [{"$ref": "#/$defs/d0"}], "$defs": definitions})
    };
    let in_place = |next| json!({"allOf": [next]});
    let below = |next| json!({"properties": {"a": next}});
    assert!(matches!(refusal(&chain(400, in_place)), BadSchema::LongPath { .. }));
    assert!(matches!(refusal(&chain(400, below)), BadSchema::LongPath { .. }));
    // The longest that are allowed, on the stack that a worker thread has.
    let check = move || {
        let schema = Schema::compile(&chain(80, in_place)).expect("short enough");
        assert!(schema.check(&json!({})).is_ok());
        let schema = Schema::compile(&chain(80, below)).expect("short enough");
        let deep = (0..100).fold(json!({}), |inner, _| json!({"a": inner}));
        assert!(schema.check(&deep).is_ok());
        let again = json!({"properties": {"a": {"$ref": "#"}}});
        let recursive = (0..6).fold(again, |inner, _| json!({"allOf": [inner]}));
        let schema = Schema::compile(&recursive).expect("short enough");
        let deep = (0..126).fold(json!({}), |inner, _| json!({"a": inner}));
        assert!(schema.check(&deep).is_ok());
    };
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(check).unwrap();
    thread.join().expect("the stack was enough");
}

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
