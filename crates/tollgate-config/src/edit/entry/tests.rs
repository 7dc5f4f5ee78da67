use serde_json::Value;

use super::{entry, entry_source};
use crate::values;

fn check(text: &str, expected: Option<(&str, &str)>) {
    let found = entry(&values(text), "web");
    let found = found
        .map(|keys| (Value::Object(keys.clone()).to_string(), entry_source(text, "web", &keys)));
    let found = found.as_ref().map(|(keys, typed)| (&**keys, &**typed));
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_server_is_shown_as_it_is_typed() {
    let keys = r#"{"url":"http://x.test","env":{"A":"1"}}"#;
    check(
        "# mine\nservers:\n  a: { url: http://a }\n  # far\n  web: # away\n    url: http://x.test # here\n\n    env:\n      A: \"1\"\n  z: {}\n",
        Some((keys, "web: # away\n  url: http://x.test # here\n\n  env:\n    A: \"1\"\n")),
    );
    check(
        "servers:\r\n    web:\r\n        url: http://x.test\r\n",
        Some((r#"{"url":"http://x.test"}"#, "web:\n    url: http://x.test\n")),
    );
    check("servers:\n  web:", Some(("{}", "web:\n")));
}

#[test]
fn one_that_does_not_stand_alone_is_written_anew() {
    let expected = Some((r#"{"url":"http://x.test"}"#, "web:\n  url: http://x.test\n"));
    check("servers: { web: { url: http://x.test } }", expected);
    check("servers:\n  - name: web\n    url: http://x.test\n", expected);
    check("x: &u http://x.test\nservers:\n  web:\n    url: *u\n", expected);
}

#[test]
fn there_may_be_none() {
    for text in
        ["", "servers:", "servers: []", "servers: { a: {} }", "servers: 5", "web: { url: x }"]
    {
        check(text, None);
    }
}
