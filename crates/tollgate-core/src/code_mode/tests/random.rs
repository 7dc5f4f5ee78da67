//! Whatever a stranger's schema says: text stays bounded and on its lines, and no argument is lost.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use super::raw;
use crate::code_mode::arguments::arguments;
use crate::code_mode::classes::TypedDictSet;
use crate::code_mode::parameters::{ParameterNeed, Parameters};
use crate::code_mode::result_shape::ResultShape;
use crate::code_mode::schema_layers::SchemaRoot;
use crate::code_mode::schema_reader::SchemaTypeReader;
use crate::code_mode::type_detail::TypeDetail;
use crate::schema::tests::random::schemas;

/// JSON made of the words of schemas, in no sensible order.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        "\\PC{0,12}|[\\n\"\u{202e}#\\\\]{0,5}".prop_map(|it| json!(it)),
        prop::sample::select(vec!["array", "null"]).prop_map(|it| json!(it)),
    ];
    schemas(
        leaf,
        &["b c", "line\nbreak", "class", "maximum", "maxItems", "title", "description", "default"],
    )
}

/// The schema of a tool: an object with such schemas in it.
fn any_input() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        "[a-c]{1,2}",
        "[a-c][-. ][a-c]",
        "\\PC{1,6}",
        Just("from".to_owned()),
        Just("a_b".to_owned()),
    ];
    let fields = prop::collection::vec((name, any_schema(), any::<bool>()), 0..8);
    (fields, any::<Option<bool>>(), any_schema()).prop_map(|(fields, others, definition)| {
        let required: Vec<&String> = fields.iter().filter(|it| it.2).map(|it| &it.0).collect();
        let properties: Map<String, Value> =
            fields.iter().map(|(name, schema, _)| (name.clone(), schema.clone())).collect();
        let mut schema = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "$defs": {"a": definition},
        });
        if let Some(others) = others {
            schema["additionalProperties"] = json!(others);
        }
        schema
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(("[a-e]{1,2}|\\PC{0,4}", inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn is_one_line(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202e}'))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_schema_is_a_type_on_one_line(schema in any_schema()) {
        for detail in [TypeDetail::Brief, TypeDetail::Full] {
            let mut classes = TypedDictSet::default();
            let root = SchemaRoot::new(&schema);
            let typed = SchemaTypeReader::new(&root, &mut classes, detail).read(&schema, "name");
            let typed = typed.to_string();
            prop_assert!(is_one_line(&typed), "{}", typed);
            prop_assert!(typed.len() < 10_000);
            let mut out = String::new();
            classes.write_new(&mut out);
            prop_assert!(out.len() < 100_000);
            for line in out.lines() {
                prop_assert!(is_one_line(line), "{:?}", line);
                prop_assert!(line.starts_with("class ") || line.starts_with("    "), "{:?}", line);
            }
        }
    }

    #[test]
    fn any_parameters_have_a_name_each(schema in any_input()) {
        let parameters = Parameters::of(&schema);
        let names = parameters.all().iter().map(|it| it.identifier.as_str());
        let mut names: Vec<&str> = names.collect();
        for parameter in parameters.all() {
            let found = parameters.find(&parameter.name);
            prop_assert!(found.is_some_and(|it| it.name == parameter.name));
        }
        let required = parameters.all().iter().filter(|it| it.need == ParameterNeed::Required).count();
        let first = parameters.all().iter().take(required);
        prop_assert!(first.into_iter().all(|it| it.need == ParameterNeed::Required));
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), parameters.all().len());
    }

    #[test]
    fn no_value_is_lost_or_invented(
        schema in any_input(),
        positional in prop::collection::vec(any_value(), 0..4),
        named in prop::collection::vec((any::<Index>(), any::<bool>(), any_value()), 0..5),
        strange in prop::collection::vec(("[a-z]{3}", any_value()), 0..2),
    ) {
        let parameters = Parameters::of(&schema);
        let mut fields: Map<String, Value> = strange.into_iter().collect();
        for (which, own, value) in named.into_iter().filter(|_| !parameters.all().is_empty()) {
            let parameter = which.get(parameters.all());
            let name = if own { &parameter.name } else { &parameter.identifier };
            fields.insert(name.clone(), value);
        }
        let texts: Vec<_> = positional.iter().map(|it| raw(&it.to_string())).collect();
        let named = raw(&Value::Object(fields.clone()).to_string());
        if let Ok(found) = arguments(&parameters, &texts, &named) {
            let found: Map<String, Value> = serde_json::from_str(found.get()).unwrap();
            let given = given(&parameters, &positional, &fields);
            prop_assert!(given.iter().any(|given| is_same(given, &found)), "{:?}", found);
        }
    }

    #[test]
    fn any_results_have_a_shape(one in any_value(), two in any_value(), three in any_value()) {
        let mut shape = ResultShape::of(&one);
        shape.merge(ResultShape::of(&two));
        prop_assert!(shape.admits(&ResultShape::of(&one)) && shape.admits(&ResultShape::of(&two)));
        let text = shape.render("Thing");
        prop_assert!(text.lines().all(is_one_line));
        if shape.admits(&ResultShape::of(&three)) {
            prop_assert_eq!(shape.render("Thing"), text);
        }
    }
}

/// The arguments by their names in the schema: one dictionary alone may mean one of two things.
fn given(
    parameters: &Parameters,
    positional: &[Value],
    named: &Map<String, Value>,
) -> Vec<Map<String, Value>> {
    let own = |(name, value): (&String, &Value)| {
        let own = parameters.find(name).map_or(name.clone(), |it| it.name.clone());
        (own, value.clone())
    };
    let by_place = parameters.all().iter().zip(positional);
    let by_place = by_place.map(|(it, value)| (it.name.clone(), value.clone()));
    let mut all = vec![by_place.chain(named.iter().map(own)).collect()];
    if let [Value::Object(whole)] = positional
        && named.is_empty()
    {
        all.push(whole.iter().map(own).collect());
    }
    all
}

/// Nulls may be left out; nothing else may.
fn is_same(given: &Map<String, Value>, found: &Map<String, Value>) -> bool {
    let mut retained = given.iter().filter(|(name, it)| !it.is_null() || found.contains_key(*name));
    retained.clone().count() == found.len()
        && retained.all(|(name, it)| found.get(name) == Some(it))
}
