//! Schemas that were written to be much work: little of it is done, and what is told stays true.

use serde_json::{Map, Value, json};

use super::{book, raw, tool};
use crate::code_mode::classes::TypedDictSet;
use crate::code_mode::schema_layers::{JsonTypeSet, SchemaLayers, SchemaRoot};
use crate::code_mode::schema_reader::SchemaTypeReader;
use crate::code_mode::type_detail::TypeDetail;

/// Steps that ordinary schemas stay below, and those after which nothing more is read.
const ORDINARY: usize = 2_000;
const ALL: usize = 20_000;

/// Texts behind alternatives of alternatives, `wide` at each of eight steps.
fn fan(wide: usize) -> Value {
    let mut all = Map::new();
    for level in 0..8 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        all.insert(format!("l{level}"), json!({"anyOf": vec![next; wide]}));
    }
    all.insert("l8".to_owned(), json!({"type": "string"}));
    json!({"$ref": "#/$defs/l0", "$defs": all})
}

fn check_kinds(schema: &Value, expected: JsonTypeSet) -> usize {
    let root = SchemaRoot::new(schema);
    assert_eq!(SchemaLayers::of(&root, schema).kinds(), expected, "{:.200}", schema.to_string());
    root.count_steps()
}

#[test]
fn alternatives_of_alternatives_are_followed_as_far_as_there_are_steps() {
    let text = check_kinds(&json!({"type": "string"}), JsonTypeSet::STRING);
    assert_eq!(text, 1);
    assert!(check_kinds(&fan(2), JsonTypeSet::STRING) < ORDINARY);
    // A hundred million, if all were followed. Of those that are not, anything may be true.
    assert_eq!(check_kinds(&fan(10), JsonTypeSet::ALL), ALL);
    let nested = json!({"anyOf": [fan(1)["$defs"]["l8"], {"type": "null"}]});
    assert!(check_kinds(&nested, JsonTypeSet::STRING | JsonTypeSet::NULL) < 10);
}

#[test]
fn nothing_is_looked_through_for_each_that_refers_to_it() {
    let values: Vec<String> = (0..11_000).map(|at| at.to_string()).collect();
    let long = "x".repeat(60_000);
    let names: Value = (0..2_000).map(|at| (format!("p{at}"), json!({}))).collect();
    for shared in [
        json!({"enum": values}),
        json!({"type": vec!["string"; 11_000]}),
        json!({"required": values, "type": "object", "properties": names}),
        json!({"type": "string", "description": long}),
        json!({"$ref": format!("#{long}")}),
        json!({"allOf": vec![json!({"$ref": "#there"}); 500]}),
    ] {
        let one = json!({"allOf": [{"$ref": "#/$defs/it"}], "title": "One"});
        let fields: Map<String, Value> =
            (0..2_000).map(|at| (format!("f{at}"), one.clone())).collect();
        let schema = json!({
            "type": "object",
            "properties": fields,
            "$defs": {"it": shared, "there": {"$anchor": "there"}},
        });
        let root = SchemaRoot::new(&schema);
        let mut classes = TypedDictSet::default();
        let fields = schema["properties"].as_object().unwrap().values();
        let mut reader = SchemaTypeReader::new(&root, &mut classes, TypeDetail::Full);
        for field in fields {
            reader.read(field, "field");
            reader.remark(field);
            SchemaLayers::of(&root, field).kinds();
        }
        assert_eq!(root.count_steps(), ALL);
    }
}

#[test]
fn calls_of_such_tools_keep_all_their_arguments() {
    let mut fields: Map<String, Value> =
        (0..100).map(|at| (format!("f{at}"), json!({"$ref": "#/$defs/l0"}))).collect();
    fields.insert("last".to_owned(), json!({"type": "string"}));
    let mut hostile = tool("t", &fields.into());
    hostile["inputSchema"]["$defs"] = fan(2)["$defs"].clone();
    let book = book(&[("s", vec![hostile])]);
    // Of the first it is known that it takes no null; of the last it is not any more.
    let named = raw(r#"{"f0":null,"f1":"a","last":null}"#);
    let found = book.arguments(0, &[], &named).unwrap();
    assert_eq!(found.get(), r#"{"f1":"a","last":null}"#);
    assert!(book.read("s", None, &|_| None).unwrap().contains("f0: "));
}

#[test]
fn ordinary_schemas_are_read_to_their_end() {
    let values: Vec<String> = (0..40).map(|at| format!("v{at}")).collect();
    let one = json!({
        "anyOf": [{"$ref": "#/$defs/Kind"}, {"type": "null"}],
        "description": "What kind it has. ".repeat(20),
    });
    let fields: Map<String, Value> = (0..60).map(|at| (format!("f{at}"), one.clone())).collect();
    let schema = json!({
        "type": "object",
        "properties": fields,
        "$defs": {"Kind": {"allOf": [{"type": "string"}, {"enum": values}]}},
    });
    let root = SchemaRoot::new(&schema);
    let mut classes = TypedDictSet::default();
    let mut reader = SchemaTypeReader::new(&root, &mut classes, TypeDetail::Full);
    for field in schema["properties"].as_object().unwrap().values() {
        let typed = reader.read(field, "f").to_string();
        assert!(typed.starts_with(r#"Literal["v0", "#) && typed.ends_with("| None"), "{typed}");
        assert!(reader.remark(field).unwrap().starts_with("What kind"));
        assert_eq!(SchemaLayers::of(&root, field).kinds(), JsonTypeSet::STRING | JsonTypeSet::NULL);
    }
    assert!(root.count_steps() < ORDINARY, "{}", root.count_steps());
}
