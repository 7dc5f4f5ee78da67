use serde_json::json;

use super::{
    JsonBoundsError, MAX_TREE_VALUES, MalformedJsonError, Object, canonical, is_deeper_than, raw,
    raw_string, raw_value, value,
};

#[test]
fn unknown_fields_and_their_spelling_survive_a_splice() {
    let text = r#"{"name":"a","x-odd":1.50e2,"n":12345678901234567890123}"#;
    let mut object = Object::parse(text).unwrap();
    object.set_string("name", "b\n");
    object.set("new", raw_string("v"));
    assert_eq!(
        object.to_text(),
        r#"{"name":"b\n","x-odd":1.50e2,"n":12345678901234567890123,"new":"v"}"#
    );
}

#[test]
fn a_key_that_stands_twice_is_refused_however_many_keys_there_are() {
    for count in [2, 16, 17, 40] {
        let keys: Vec<String> = (0..count).map(|n| format!("\"k{}\":1", n % (count - 1))).collect();
        let error = Object::parse(&format!("{{{}}}", keys.join(","))).unwrap_err();
        assert_eq!(error, MalformedJsonError::Duplicate { key: "k0".to_owned() }, "{count}");
        assert_eq!(error.to_string(), "duplicate key `k0`");
    }
    assert!(value(r#"{"a":[{"b":1,"b":2}]}"#).is_err());
    assert!(Object::parse(r#"{"a":1,"\u0061":2}"#).is_err(), "an escaped key is the same key");
}

#[test]
fn twins_of_protocol_keys_are_seen() {
    let twin = |text: &str| Object::parse(text).unwrap().twin_of(&["name", "params"]);
    assert_eq!(twin(r#"{"name":1,"Name":2}"#), Some("name"));
    assert_eq!(twin(r#"{"paramſ":1}"#), Some("params"));
    assert_eq!(twin(r#"{"NAMe":1}"#), Some("name"));
    assert_eq!(twin(r#"{"ɴame":1,"näme":1,"nam":1,"":1}"#), None);
    assert_eq!(twin(r#"{"name":1,"names":2}"#), None);
    let toll = |text: &str| Object::parse(text).unwrap().twin_of(&["token"]);
    assert_eq!(toll("{\"to\u{212a}en\":1}"), Some("token"), "the sign for kelvin is a k");
}

#[test]
fn what_is_wrong_is_told_apart_by_kind() {
    let check = |text: &str, expected: &str| {
        let kind = match Object::parse(text).unwrap_err() {
            MalformedJsonError::Duplicate { .. } => "duplicate",
            MalformedJsonError::NotThis(_) => "not this",
            MalformedJsonError::Syntax(_) => "syntax",
            MalformedJsonError::NotUtf8 { .. } => "not utf-8",
            MalformedJsonError::OutOfBounds(_) => "out of bounds",
        };
        assert_eq!(kind, expected, "{text}");
    };
    check(r#"{"a":1,"a":2}"#, "duplicate");
    check("[]", "not this");
    check("7", "not this");
    check(r#""a key stands twice""#, "not this");
    check("", "syntax");
    check("{", "syntax");
    check(r#"{"a":1} x"#, "syntax");
    check(r#"{"a key stands twice":}"#, "syntax");
    assert_eq!(Object::parse_bytes(b"{\"\xff").unwrap_err(), MalformedJsonError::NotUtf8 { at: 2 });
    let inner = value(r#"{"a":[{"b":1,"b":2}]}"#);
    assert_eq!(inner, Err(MalformedJsonError::Duplicate { key: "b".to_owned() }));
    let long = format!(r#"{{"{0}":1,"{0}":2}}"#, "k".repeat(10_000));
    assert!(value(&long).unwrap_err().to_string().len() < 200);
}

#[test]
fn an_object_is_written_the_same_by_every_way() {
    let text = r#"{"q\"\n":"\u00e4\/","n":1.50e2,"o":{ "a" : [] }}"#;
    let mut object = Object::parse(text).unwrap();
    object.set_string("s", "a\"\u{1}\u{7f}\u{2028}ä");
    object.set("v", raw_value(&json!({"x": [1.5, null, "\\"]})));
    let written = object.to_text();
    assert_eq!(object.to_raw().get(), written);
    assert_eq!(raw(written.clone()).get(), written);
    let mut out = "[".to_owned();
    object.write_into(&mut out);
    assert_eq!(out, format!("[{written}"));
    assert!(written.contains(r#""n":1.50e2,"o":{ "a" : [] }"#), "{written}");
    assert_eq!(Object::new().to_raw().get(), "{}");
}

#[test]
fn equal_values_have_equal_text() {
    let one = value(r#"{"b":[{"y":1,"x":"\u00e4"}],"a":null}"#).unwrap();
    let other = value(r#" { "a" : null, "b" : [ {"x":"ä", "y":1} ] } "#).unwrap();
    assert_eq!(canonical(&one), r#"{"a":null,"b":[{"x":"ä","y":1}]}"#);
    assert_eq!(canonical(&one), canonical(&other));
    assert_ne!(canonical(&json!([1, 2])), canonical(&json!([2, 1])));
}

#[test]
fn hostile_documents_are_malformed_not_fatal() {
    for text in ["", "[]", "null", "{", "{\"a\":}", "{} {}", "{\"a\":1}x", "\u{feff}{}"] {
        assert!(Object::parse(text).is_err(), "{text:?}");
    }
    let deep = "[".repeat(200_000);
    assert!(value(&deep).is_err());
    assert!(Object::parse(&format!("{{\"a\":{deep}")).is_err());
    assert!(Object::parse_bytes(b"{\"a\":\"\xff\"}").is_err());
    assert!(value("1e999999").is_err());
}

#[test]
fn depth_is_counted_outside_of_strings() {
    for (text, depth) in
        [("1", 0), ("[]", 1), ("[{}]", 2), (r#"["[[[{{{","\\",["\"[["]]"#, 2), ("[[],[],[[]]]", 3)]
    {
        assert!(!is_deeper_than(depth, text), "{text}");
        assert!(depth == 0 || is_deeper_than(depth - 1, text), "{text}");
    }
}

#[test]
fn b_jr_22_a_million_keys_and_a_key_of_a_megabyte_are_only_keys() {
    let keys: Vec<String> = (0..1_000_000).map(|at| format!("\"{at:x}\":0")).collect();
    let twice = format!("{{{},\"f423f\":1}}", keys.join(","));
    let error = Object::parse(&twice).unwrap_err().to_string();
    assert!(error.contains("duplicate key `f423f`"), "{error}");
    let long = format!("{{\"{}\":1}}", "k".repeat(1 << 20));
    assert!(Object::parse(&long).is_ok());
}

#[test]
fn p_21_a_document_of_too_many_values_never_becomes_a_tree() {
    let many = format!("[{}0]", "0,".repeat(MAX_TREE_VALUES));
    let limit = MAX_TREE_VALUES;
    let error = MalformedJsonError::OutOfBounds(JsonBoundsError::TooManyValues { limit });
    assert_eq!(value(&many), Err(error));
    let fewer = format!("[{}0]", "0,".repeat(MAX_TREE_VALUES - 2));
    assert!(value(&fewer).is_ok());
}
