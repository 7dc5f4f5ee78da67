//! Schemas that nobody thought of: there and back they mean the same, or it is said what they lost.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use proptest::test_runner::Config;
use serde_json::{Map, Value, json};
use tollgate_core::schema::Schema;

use crate::tools::{ConversionLossKind, StrictToolFormat, ToolFormat, convert, convert_strictly};

/// Names that some forms take and others do not.
const KEYS: [&str; 6] = ["a", "b", "c-d", "$e", "f[g]", "h i"];

fn leaf() -> impl Strategy<Value = Value> {
    let texts = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "minLength": 2, "maxLength": 4})),
        Just(json!({"type": "string", "pattern": "^x"})),
        Just(json!({"type": "string", "format": "date-time", "description": "when"})),
        Just(json!({"type": "string", "format": "email"})),
        Just(json!({"enum": ["x", "xy"]})),
        Just(json!({"type": "string", "enum": ["", "x"]})),
        Just(json!({"const": "x"})),
        Just(json!({"type": ["string", "null"], "enum": ["x", null]})),
    ];
    let numbers = prop_oneof![
        Just(json!({"type": "integer", "minimum": 0, "exclusiveMaximum": 3})),
        Just(json!({"type": "number", "exclusiveMinimum": 0})),
        Just(json!({"type": "integer", "multipleOf": 2})),
        Just(json!({"enum": [1, 2.5, "x", null]})),
        Just(json!({"type": ["integer", "string", "null"]})),
    ];
    let others = prop_oneof![
        Just(json!({"type": "boolean"})),
        Just(json!({"type": "null"})),
        Just(json!({"type": "object"})),
        Just(json!({"type": "array"})),
        Just(json!({})),
        Just(json!(true)),
        Just(json!({"minimum": 1})),
        Just(json!({"not": {"type": "string"}})),
        Just(json!({"$ref": "#/$defs/small"})),
        Just(json!({"$ref": "#/$defs/self", "description": "again"})),
    ];
    prop_oneof![texts, numbers, others]
}

fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            object(inner.clone()),
            (inner, any::<bool>()).prop_map(|(items, unique)| {
                json!({"type": "array", "items": items, "uniqueItems": unique, "maxItems": 3})
            }),
            two.clone().prop_map(
                |(one, two)| json!({"type": "array", "prefixItems": [one, two], "items": false})
            ),
            two.clone()
                .prop_map(|(one, two)| json!({"anyOf": [one, two], "description": "either"})),
            two.clone().prop_map(|(one, two)| json!({"oneOf": [one, two]})),
            two.clone().prop_map(|(one, two)| json!({"allOf": [one, two]})),
            two.prop_map(|(one, two)| json!({"if": one, "then": two})),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let named = prop::collection::vec((0..KEYS.len(), inner, any::<bool>()), 0..4);
    (named, 0..4_u8).prop_map(|(named, closed)| {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (key, schema, is_needed) in named {
            if properties.insert(KEYS[key].to_owned(), schema).is_none() && is_needed {
                required.push(KEYS[key]);
            }
        }
        let mut object = json!({"type": "object", "properties": properties, "required": required});
        match closed {
            0 => object["additionalProperties"] = json!(false),
            1 => object["additionalProperties"] = json!({"type": "string"}),
            _ => {}
        }
        object
    })
}

/// A tool's arguments: sometimes of several forms at once.
fn arguments() -> impl Strategy<Value = Value> {
    let root = (object(schema()), object(schema()), 0..6_u8);
    root.prop_map(|(mut root, other, how)| {
        match how {
            0 => root["oneOf"] = json!([other, {"required": ["b"]}]),
            1 => root["allOf"] = json!([other]),
            2 => root["anyOf"] = json!([other, {"$ref": "#/$defs/self"}]),
            _ => {}
        }
        root["$defs"] = json!({
            "small": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            "self": {"type": "object", "properties": {"next": {"$ref": "#/$defs/self"}}},
        });
        root
    })
}

/// Values that nearly fit a schema, as the seed has it.
fn instance(schema: &Value, root: &Value, seed: &mut u64, depth: usize) -> Value {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let roll = usize::try_from(*seed >> 40).unwrap();
    let odd = [
        json!("x"),
        json!(1),
        json!(2.5),
        json!(null),
        json!(true),
        json!([]),
        json!({"n": 1}),
        json!("xyz"),
    ];
    let Some(fields) = schema.as_object().filter(|_| depth < 8 && roll % 7 != 0) else {
        return odd[roll % odd.len()].clone();
    };
    let below = |schema: &Value, seed: &mut u64| instance(schema, root, seed, depth + 1);
    if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
        return below(target, seed);
    }
    for choice in ["enum", "anyOf", "oneOf", "allOf", "prefixItems"] {
        let Some(list) = fields.get(choice).and_then(Value::as_array) else { continue };
        return match choice {
            "enum" => list[roll % list.len()].clone(),
            "prefixItems" => list.iter().map(|it| below(it, seed)).collect(),
            _ => below(&list[roll % list.len()], seed),
        };
    }
    let kind = match fields.get("type") {
        Some(Value::Array(kinds)) => kinds[roll % kinds.len()].as_str().unwrap_or_default(),
        Some(kind) => kind.as_str().unwrap_or_default(),
        None => "",
    };
    match kind {
        "object" => {
            let named = fields.get("properties").and_then(Value::as_object);
            let mut made = Map::new();
            for (at, (key, schema)) in named.into_iter().flatten().enumerate() {
                if (roll >> at) % 4 != 0 {
                    made.insert(key.clone(), below(schema, seed));
                }
            }
            if roll % 5 == 1 {
                made.insert("more".to_owned(), odd[roll % odd.len()].clone());
            }
            Value::Object(made)
        }
        "array" => {
            let items = fields.get("items").unwrap_or(&Value::Null);
            (0..roll % 4).map(|_| below(items, seed)).collect()
        }
        "string" => ["x", "xy", "", "abcdef"][roll % 4].into(),
        "integer" | "number" => {
            [json!(0), json!(1), json!(2), json!(3), json!(-4), json!(2.0)][roll % 6].clone()
        }
        "boolean" => (roll % 2 == 0).into(),
        "null" => Value::Null,
        _ => odd[roll % odd.len()].clone(),
    }
}

fn config() -> Config {
    let default = Config::default();
    Config { cases: default.cases.max(300), failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn there_and_back_means_the_same_or_says_what_it_lost(schema in arguments(), mut seed in any::<u64>()) {
        let tool = json!({"name": "t", "inputSchema": schema});
        let Ok(original) = Schema::compile(&schema) else { return Ok(()) };
        for form in ToolFormat::ALL {
            let there = convert(&tool, ToolFormat::Mcp, form).unwrap();
            let back = convert(&there.definition, form, ToolFormat::Mcp).unwrap();
            let again = &back.definition["inputSchema"];
            let is_whole = [&there, &back].iter().all(|it| it.lost.iter().all(|lost| lost.kind != ConversionLossKind::Limit));
            let compiled = Schema::compile(again).map_err(|bad| format!("{form}: {bad} {again}")).unwrap();
            if !is_whole {
                continue;
            }
            for _ in 0..20 {
                let Value::Object(sent) = instance(again, again, &mut seed, 0) else { continue };
                let own = Value::Object(there.arguments(sent.clone()));
                let sent = Value::Object(sent);
                assert_eq!(
                    original.check(&own).is_ok(),
                    compiled.check(&sent).is_ok(),
                    "{form}: {own} by {schema}, and {sent} by {again}"
                );
            }
        }
    }

    #[test]
    fn what_binds_a_model_lets_nothing_through_that_the_tool_refuses(schema in arguments(), mut seed in any::<u64>()) {
        let tool = json!({"name": "t", "inputSchema": schema});
        let Ok(original) = Schema::compile(&schema) else { return Ok(()) };
        let Ok(made) = convert_strictly(&tool, ToolFormat::Mcp, StrictToolFormat::OpenAi) else { return Ok(()) };
        let bound = &made.definition["function"]["parameters"];
        let compiled = Schema::compile(bound).map_err(|bad| format!("{bad} {bound}")).unwrap();
        let is_whole = made.lost.iter().all(|lost| lost.kind != ConversionLossKind::Limit);
        for _ in 0..20 {
            let Value::Object(sent) = instance(bound, bound, &mut seed, 0) else { continue };
            if is_whole && compiled.check(&Value::Object(sent.clone())).is_ok() {
                let own = Value::Object(made.arguments(sent.clone()));
                let refused = original.check(&own).err();
                assert!(refused.is_none(), "{own} by {schema}, sent {sent:?} by {bound}: {refused:?}");
            }
        }
        let again = convert_strictly(&made.definition, ToolFormat::OpenAi, StrictToolFormat::OpenAi).unwrap();
        assert_eq!(again.definition, made.definition);
    }

    #[test]
    fn what_fits_a_form_is_not_changed_again(schema in arguments()) {
        let tool = json!({"name": "t", "inputSchema": schema});
        for form in ToolFormat::ALL {
            let once = convert(&tool, ToolFormat::Mcp, form).unwrap();
            assert_eq!(once, convert(&tool, ToolFormat::Mcp, form).unwrap());
            let twice = convert(&once.definition, form, form).unwrap();
            assert_eq!(once.definition, twice.definition, "{form}");
        }
    }

    #[test]
    fn b_sc_01_nothing_breaks_on_what_is_no_schema(odd in hostile()) {
        let tool = json!({"name": "t", "description": "d", "inputSchema": odd, "parameters": odd, "input_schema": odd});
        for from in ToolFormat::ALL {
            for to in ToolFormat::ALL {
                if let Ok(converted) = convert(&tool, from, to) {
                    assert!(converted.definition.to_string().len() < 1_000_000);
                }
            }
        }
    }
}

/// JSON in which keywords stand where they should and where they should not.
fn hostile() -> impl Strategy<Value = Value> {
    const WORDS: [&str; 30] = [
        "type",
        "properties",
        "items",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "$ref",
        "$defs",
        "required",
        "additionalProperties",
        "format",
        "description",
        "nullable",
        "prefixItems",
        "if",
        "then",
        "minimum",
        "exclusiveMinimum",
        "dependencies",
        "definitions",
        "$schema",
        "$anchor",
        "patternProperties",
        "propertyOrdering",
        "object",
        "x",
        "default",
    ];
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..WORDS.len()).prop_map(|at| Value::from(WORDS[at])),
        Just(json!("#")),
        Just(json!("#/$defs/x")),
        Just(json!("#/properties/x")),
        Just(json!("http://json-schema.org/draft-04/schema#")),
    ];
    scalar.prop_recursive(6, 64, 6, |inner| {
        let keyed = prop::collection::vec(((0..WORDS.len()), inner.clone()), 0..6);
        prop_oneof![
            3 => keyed.prop_map(|pairs| {
                Value::Object(pairs.into_iter().map(|(at, value)| (WORDS[at].to_owned(), value)).collect())
            }),
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::Array),
        ]
    })
}
