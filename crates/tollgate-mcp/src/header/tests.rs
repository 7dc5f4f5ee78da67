use http::HeaderValue;
use proptest::prelude::{any, proptest};
use serde_json::value::RawValue;

use super::{decode, encode, matches, named_by, param, text_of};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn plain_values_travel_as_they_are_and_others_in_the_sentinel() {
    for (value, header) in [
        ("search", "search"),
        ("a b", "a b"),
        ("", ""),
        ("ä", "=?base64?w6Q=?="),
        (" a", "=?base64?IGE=?="),
        ("a\n", "=?base64?YQo=?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
    ] {
        assert_eq!(encode(value), header, "{value:?}");
        assert_eq!(decode(&encode(value)).unwrap(), value);
    }
}

#[test]
fn broken_sentinels_are_no_value() {
    for header in ["=?base64?***?=", "=?base64?/w==?=", "=?base64?YQ?="] {
        assert_eq!(decode(&HeaderValue::from_static(header)), None, "{header}");
    }
    assert_eq!(decode(&HeaderValue::from_bytes(b"\xff").unwrap()), None);
    assert_eq!(decode(&HeaderValue::from_static("=?base64?YQ==")).unwrap(), "=?base64?YQ==");
}

#[test]
fn s_12_headers_and_bodies_are_compared_by_meaning() {
    for (header, body, same) in [
        ("search", "\"search\"", true),
        ("search", "\"s\\u0065arch\"", true),
        ("Search", "\"search\"", false),
        ("=?base64?w6Q=?=", "\"ä\"", true),
        ("5", "5", true),
        ("5", "5.0", true),
        ("5.0", "5", true),
        ("05", "5", true),
        ("5", "\"5\"", true),
        ("5", "6", false),
        ("", "5", false),
        ("5.5", "5.5", false),
        ("9007199254740993", "9007199254740993", false),
        ("9007199254740991", "9007199254740991", true),
        ("true", "true", true),
        ("True", "true", false),
        ("null", "null", false),
        ("{}", "{}", false),
        ("NaN", "1", false),
    ] {
        let header = HeaderValue::from_str(header).unwrap();
        assert_eq!(matches(&header, &raw(body)), same, "{header:?} {body}");
    }
}

#[test]
fn arguments_have_a_header_text_where_they_may_be_mirrored() {
    for (value, text) in [
        ("\"a\"", Some("a")),
        ("7", Some("7")),
        ("-7", Some("-7")),
        ("true", Some("true")),
        ("7.5", None),
        ("null", None),
        ("[]", None),
    ] {
        assert_eq!(text_of(&raw(value)).as_deref(), text, "{value}");
    }
}

#[test]
fn names_come_from_the_field_of_each_method() {
    assert_eq!(named_by("tools/call"), Some("name"));
    assert_eq!(named_by("prompts/get"), Some("name"));
    assert_eq!(named_by("resources/read"), Some("uri"));
    assert_eq!(named_by("tasks/cancel"), Some("taskId"));
    assert_eq!(named_by("tools/list"), None);
}

#[test]
fn only_tokens_make_header_names() {
    assert_eq!(param("Region").unwrap(), "mcp-param-region");
    assert_eq!(param(""), None);
    assert_eq!(param("a b"), None);
    assert_eq!(param("a:b"), None);
    assert_eq!(param("ä"), None);
}

proptest! {
    #[test]
    fn any_value_survives_the_way(value in any::<String>()) {
        assert_eq!(decode(&encode(&value)).unwrap(), value);
    }
}
