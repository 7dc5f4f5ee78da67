//! Schemas and arguments of strangers: what is refused, and what everything costs.

use serde_json::{Value, json};

use super::super::{Schema, SchemaError};
use super::{check, object, quickly, refusal};

#[test]
fn b_sc_01_roots_that_are_no_schema_are_refused() {
    for root in [json!(null), json!("object"), json!(7), json!([])] {
        assert!(matches!(refusal(&root), SchemaError::Invalid(_)), "{root}");
    }
    assert!(matches!(refusal(&json!({"type": 7})), SchemaError::Invalid(_)));
    assert!(matches!(refusal(&json!({"type": "objekt"})), SchemaError::Invalid(_)));
    assert!(matches!(refusal(&json!({"properties": []})), SchemaError::Invalid(_)));
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
        assert!(matches!(refusal(&schema), SchemaError::Outside(_)), "{outside}");
    }
    for nowhere in ["#/nope", "#nope", "#/properties/a/$ref", "#/%zz", "#/%ff", "#/type"] {
        let schema = object(&json!({"a": {"$ref": nowhere}}));
        assert!(matches!(refusal(&schema), SchemaError::Nowhere(_)), "{nowhere}");
    }
    for endless in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"anyOf": [{"$ref": "#/$defs/a"}]}}}}),
        json!({"$dynamicAnchor": "x", "if": {"$dynamicRef": "#x"}}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
    ] {
        assert_eq!(refusal(&endless), SchemaError::Endless, "{endless}");
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
    let text = check(&schema, &json!({"a": "x"}));
    assert_eq!(text, "`a`: expected number, found string \"x\"");
    assert!(check(&schema, &json!({"b": 1})).contains("expected string"));
    assert!(check(&schema, &json!({"c": [[1]]})).contains("`c[0][0]`"));
}

#[test]
fn b_sc_03_an_inner_id_cannot_rebase_references() {
    let schema = object(&json!({
        "a": {"$id": "http://evil.example/", "$defs": {"x": {"type": "string"}},
              "properties": {"b": {"$ref": "#/$defs/x"}}}
    }));
    assert_eq!(refusal(&schema), SchemaError::InnerId);
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
        assert_eq!(refusal(&schema), SchemaError::TooMuchWork, "{keyword}");
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
    assert!(matches!(refusal(&deep), SchemaError::TooDeep { .. }));
    let deep = (0..31).fold(json!({"type": "string"}), |inner, _| object(&json!({"a": inner})));
    assert!(Schema::compile(&deep).is_ok());
    let data = (0..200).fold(json!(1), |inner, _| json!([inner]));
    assert!(matches!(refusal(&json!({"default": data})), SchemaError::TooDeep { .. }));
    let many: serde_json::Map<_, _> = (0..2_100).map(|at| (format!("p{at}"), json!({}))).collect();
    let many = object(&Value::Object(many));
    assert!(matches!(refusal(&many), SchemaError::TooManySubschemas { .. }));
    let long = json!({"enum": (0..100_000).collect::<Vec<_>>()});
    assert!(matches!(refusal(&long), SchemaError::TooLong { .. }));
}

#[test]
fn b_sc_06_patterns_run_in_linear_time_or_not_at_all() {
    let schema = object(&json!({"a": {"type": "string", "pattern": "^(a+)+$"}}));
    let text = "a".repeat(50_000) + "!";
    assert!(quickly(|| check(&schema, &json!({"a": text}))).contains("matches `^(a+)+$`"));
    for pattern in ["(?=a)b", "(?<!a)b", "(a)\\1", "(", "(a{1,1000}){1,1000}", "[z-a]"] {
        let schema = object(&json!({"a": {"pattern": pattern}}));
        assert!(matches!(refusal(&schema), SchemaError::Invalid(_)), "{pattern}");
        let schema = json!({"patternProperties": {pattern: {}}});
        assert!(matches!(refusal(&schema), SchemaError::Invalid(_)), "{pattern}");
    }
    let long = object(&json!({"a": {"pattern": "a".repeat(1025)}}));
    assert!(matches!(refusal(&long), SchemaError::LongPattern { .. }));
    let many: Vec<_> =
        (0..1500).map(|at| json!({"pattern": format!("\\p{{L}}{{99}}{at}")})).collect();
    assert!(matches!(refusal(&json!({"prefixItems": many})), SchemaError::Invalid(_)));
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
        assert!(matches!(refusal(&schema), SchemaError::Dialect(_)), "{unknown}");
    }
    // In draft-04 the limit is exclusive by a flag beside it; in 2020-12 that is no schema.
    let draft4 = json!({"$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"maximum": 3, "exclusiveMaximum": true}}});
    assert!(check(&draft4, &json!({"a": 3})).contains("less than 3"));
    assert!(matches!(
        refusal(&object(&json!({"a": {"maximum": 3, "exclusiveMaximum": true}}))),
        SchemaError::Invalid(_)
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
    let text = check(&schema, &json!({"__proto__": 1, "a/b~c": 2, "k".repeat(10_000): 3}));
    assert!(
        text.contains("`__proto__`") && text.contains("`a/b~c`") && text.len() < 1000,
        "{text}"
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
        let text = check(&schema, &json!({name: 1}));
        assert!(text.contains("expected string, found number 1"), "{name}: {text}");
    }
}

#[test]
fn b_sc_11_a_schema_that_nothing_fits_is_usable() {
    let text = check(&json!({"not": {}}), &json!({"a": 1}));
    assert_eq!(text, "has a form that is not allowed, found {\"a\":1}");
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
    assert!(matches!(refusal(&chain(400, in_place)), SchemaError::LongPath { .. }));
    assert!(matches!(refusal(&chain(400, below)), SchemaError::LongPath { .. }));
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
