//! What a program writes between the brackets, and what the tool is given.

use serde_json::{Value, json};

use super::{book, raw, tool};

fn issue() -> Value {
    json!({
        "owner!": {"type": "string"},
        "number!": {"type": "integer"},
        "max-results": {"type": "integer"},
        "since": {"type": ["string", "null"]},
        "labels": {"type": "array", "items": {"type": "string"}},
    })
}

fn check_tool(definition: Value, positional: &[&str], named: &str, expected: &str) {
    let book = book(&[("hub", vec![definition])]);
    let positional: Vec<_> = positional.iter().map(|it| raw(it)).collect();
    let found = match book.arguments(0, &positional, &raw(named)) {
        Ok(found) => found.get().to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected, "{positional:?} {named}");
}

fn check(positional: &[&str], named: &str, expected: &str) {
    check_tool(tool("get", &issue()), positional, named, expected);
}

#[test]
fn by_name_by_place_or_in_one_dictionary() {
    check(&[], r#"{"owner":"a","number":1}"#, r#"{"owner":"a","number":1}"#);
    check(&[r#""a""#, "1"], "{}", r#"{"owner":"a","number":1}"#);
    check(&[r#""a""#], r#"{"number":1}"#, r#"{"owner":"a","number":1}"#);
    check(&[r#"{"owner":"a","number":1}"#], "{}", r#"{"owner":"a","number":1}"#);
    check(&[r#""a""#, "1", "5"], "{}", r#"{"owner":"a","number":1,"max-results":5}"#);
    check(&[], "{}", "{}");
}

#[test]
fn a_name_that_no_program_can_write_has_two_spellings() {
    check(&[], r#"{"max_results":3}"#, r#"{"max-results":3}"#);
    check(&[], r#"{"max-results":3}"#, r#"{"max-results":3}"#);
    check(&[r#"{"max_results":3}"#], "{}", r#"{"max-results":3}"#);
}

#[test]
fn none_is_left_out_where_null_is_not_taken() {
    check(&[], r#"{"max_results":null,"labels":null}"#, "{}");
    check(&[], r#"{"since":null}"#, r#"{"since":null}"#);
    check(&[], r#"{"owner":null}"#, r#"{"owner":null}"#);
    check_tool(tool("any", &json!({"x": {}})), &["null"], "{}", r#"{"x":null}"#);
}

#[test]
fn values_stay_the_text_that_they_were() {
    let big = r#"{"owner":"\u00e9\n","number":123456789012345678901234567890}"#;
    check(&[], big, big);
    check(
        &[],
        r#"{"number":1.10e+2,"labels":[ 1,  {"a":1,"a":2}]}"#,
        r#"{"number":1.10e+2,"labels":[ 1,  {"a":1,"a":2}]}"#,
    );
}

#[test]
fn mistakes_are_told_with_the_signature() {
    let it = "; it is hub.get(owner: str, number: int, *, max_results: int = ..., \
        since: str | None = None, labels: list[str] = ...)";
    let check = |positional: &[&str], named: &str, expected: &str| {
        check(positional, named, &format!("hub.get: {expected}{it}"));
    };
    check(
        &["1", "2", "3", "4", "5", "6"],
        "{}",
        "6 positional arguments were given, but there are 5 parameters",
    );
    check(&["1"], r#"{"owner":2}"#, "`owner` was given twice");
    check(&["1", "2", "null"], r#"{"max_results":2}"#, "`max-results` was given twice");
    check(&["1", "2", "null"], r#"{"max-results":null}"#, "`max_results` was given twice");
    check(&[], r#"{"max-results":1,"max_results":2}"#, "`max-results` was given twice");
    check(&[], r#"{"nubmer":1}"#, "there is no parameter `nubmer`; did you mean `number`?");
    check(&[], r#"{"quality":1}"#, "there is no parameter `quality`");
    check(&[], r#"{"owner":1,"owner":2}"#, "the arguments cannot be read: duplicate key `owner`");
    check(
        &[],
        "[]",
        "the arguments cannot be read: invalid type: sequence, expected an object at line 1 column 0",
    );
    check(&[r#"{"nubmer":1}"#], "{}", "there is no parameter `nubmer`; did you mean `number`?");
}

#[test]
fn one_dictionary_is_the_first_parameter_only_where_that_must_be_meant() {
    let update =
        |first: &str| tool("update", &json!({first: {"type": "object"}, "id": {"type": "string"}}));
    let check = |first: &str, given: &str, expected: &str| {
        check_tool(update(first), &[given], "{}", expected);
    };
    check("record!", r#"{"name":"x"}"#, r#"{"record":{"name":"x"}}"#);
    check("record!", r#"{"record":{},"id":"1"}"#, r#"{"record":{},"id":"1"}"#);
    check("record!", r#"{"id":"1"}"#, r#"{"record":{"id":"1"}}"#);
    check("record!", "{}", r#"{"record":{}}"#);
    check("record", "{}", "{}");
    check("record", r#"{"id":"1"}"#, r#"{"id":"1"}"#);
    check("record", r#"{"name":"x"}"#, r#"{"record":{"name":"x"}}"#);
    // With a second argument there is no doubt.
    check_tool(
        update("record!"),
        &[r#"{"id":"1"}"#, r#""2""#],
        "{}",
        r#"{"record":{"id":"1"},"id":"2"}"#,
    );
}

#[test]
fn names_that_the_schema_does_not_have_pass_where_it_says_so() {
    let schema = |schema: Value| json!({"name": "f", "inputSchema": schema});
    let open = schema(json!({"type": "object"}));
    check_tool(open.clone(), &[], r#"{"a":1,"b":null}"#, r#"{"a":1,"b":null}"#);
    check_tool(open, &[r#"{"a":1}"#], "{}", r#"{"a":1}"#);
    let typed = schema(json!({
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "additionalProperties": {"type": "string"},
    }));
    check_tool(typed, &[r#""x""#], r#"{"b":"y"}"#, r#"{"a":"x","b":"y"}"#);
    let closed = schema(json!({"type": "object", "additionalProperties": false}));
    check_tool(closed, &[], r#"{"a":1}"#, "hub.f: there is no parameter `a`; it is hub.f()");
}

#[test]
fn parameters_are_found_wherever_the_schema_has_them() {
    let spread = json!({"name": "f", "inputSchema": {
        "type": "object",
        "$defs": {"page": {"properties": {"page": {"type": "integer"}}}},
        "allOf": [{"$ref": "#/$defs/page"}, {"properties": {"b": {}}, "required": ["b"]}],
        "properties": {"a": {}},
        "oneOf": [
            {"properties": {"id": {}}, "required": ["id", "a"]},
            {"properties": {"name": {}}, "required": ["name", "a"]},
        ],
    }});
    let words = "hub.f: there is no parameter `zzz`; \
        it is hub.f(a: Any, b: Any, *, page: int = ..., id: Any = ..., name: Any = ...)";
    check_tool(spread, &[], r#"{"zzz":1}"#, words);
}
