use super::{Object, is_deeper_than, raw_string, value};

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
        assert!(error.0.contains("`k0` stands twice"), "{count}: {error}");
    }
    assert!(value(r#"{"a":[{"b":1,"b":2}]}"#).is_err());
    assert!(Object::parse(r#"{"a":1,"\u0061":2}"#).is_err(), "an escaped key is the same key");
}

#[test]
fn twins_of_protocol_keys_are_seen() {
    let twin = |text: &str| Object::parse(text).unwrap().twin_of(&["name", "params"]);
    assert_eq!(twin(r#"{"name":1,"Name":2}"#), Some("name"));
    assert_eq!(twin(r#"{"paramſ":1}"#), Some("params"));
    assert_eq!(twin(r#"{"name":1,"names":2}"#), None);
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
