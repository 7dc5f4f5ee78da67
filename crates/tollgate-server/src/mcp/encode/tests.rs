use serde_json::value::RawValue;
use tollgate_core::json;
use tollgate_mcp::envelope::JsonRpcId;

use super::{ModernResultShape, SERVER_INFO};

fn raw(text: &str) -> Box<RawValue> {
    json::raw(text.to_owned())
}

/// The written result, without the envelope, and without our own name.
fn modern(result: &str, shape: ModernResultShape) -> String {
    let text = super::modern_result(&JsonRpcId::number(1), &raw(result), None, shape);
    let info = format!("\"io.modelcontextprotocol/serverInfo\":{SERVER_INFO}");
    assert!(text.contains(&info), "{text}");
    inner(&text).replace(&info, "US")
}

fn inner(text: &str) -> String {
    let message = json::value(text).expect("what is written is JSON");
    assert_eq!(message["id"], 1);
    let start = text.find("\"result\":").unwrap() + "\"result\":".len();
    text[start..text.len() - 1].to_owned()
}

#[test]
fn modern_results_say_what_they_are_and_who_answers() {
    assert_eq!(
        modern(r#"{"content":[]}"#, ModernResultShape::Complete),
        r#"{"content":[],"resultType":"complete","_meta":{US}}"#
    );
    assert_eq!(
        modern(r#"{"resultType":"odd","x":1,"_meta":{"a":2}}"#, ModernResultShape::Complete),
        r#"{"x":1,"resultType":"complete","_meta":{"a":2,US}}"#
    );
    let foreign = r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"upstream"}}}"#;
    assert_eq!(
        modern(foreign, ModernResultShape::Complete),
        r#"{"resultType":"complete","_meta":{US}}"#
    );
    assert_eq!(
        modern(r#"{"resultType":"input_required","requestState":"s"}"#, ModernResultShape::AsIs),
        r#"{"resultType":"input_required","requestState":"s","_meta":{US}}"#
    );
}

#[test]
fn s_13_what_may_be_kept_is_private_whatever_the_server_says() {
    let read = r#"{"contents":[],"ttlMs":900,"cacheScope":"public"}"#;
    assert_eq!(
        modern(read, ModernResultShape::Cacheable),
        r#"{"contents":[],"resultType":"complete","ttlMs":900,"cacheScope":"private","_meta":{US}}"#
    );
    assert!(modern(read, ModernResultShape::Stale).contains(r#""ttlMs":0,"#));
    for ttl in ["-1", "9223372036854775808000", "\"5\"", "1.5", "null"] {
        let result = format!(r#"{{"contents":[],"ttlMs":{ttl}}}"#);
        assert!(modern(&result, ModernResultShape::Cacheable).contains(r#""ttlMs":0,"#), "{ttl}");
    }
}

#[test]
fn legacy_results_have_nothing_that_only_modern_clients_know() {
    for (result, expected) in [
        (
            r#"{"resultType":"complete","content":[],"ttlMs":1,"cacheScope":"public","x":null}"#,
            r#"{"content":[],"x":null}"#,
        ),
        (r#"{"structuredContent":[1],"content":[]}"#, r#"{"content":[]}"#),
        (r#"{"structuredContent":null}"#, r"{}"),
        (r#"{"structuredContent":{"a":1}}"#, r#"{"structuredContent":{"a":1}}"#),
        (r#"{"_meta":{"io.modelcontextprotocol/serverInfo":{},"a":1}}"#, r#"{"_meta":{"a":1}}"#),
    ] {
        let text = super::legacy_result(&JsonRpcId::number(1), &raw(result), None);
        assert_eq!(inner(&text), expected, "{result}");
    }
}

#[test]
fn a_failure_reads_as_a_tool_result_whatever_the_words() {
    let failure = super::failure("no \"such\"\nthing");
    let value = json::value(failure.get()).unwrap();
    assert_eq!(value["isError"], true);
    assert_eq!(value["content"][0]["text"], "no \"such\"\nthing");
}

#[test]
fn the_handshakes_are_sound_json() {
    let id = JsonRpcId::number(1);
    let discover = json::value(&super::discover(&id)).unwrap();
    assert_eq!(discover["result"]["supportedVersions"], serde_json::json!(["2026-07-28"]));
    assert_eq!(discover["result"]["cacheScope"], "private");
    let initialize = super::initialize(&id, tollgate_mcp::Revision::V2025_06_18);
    let initialize = json::value(&initialize).unwrap();
    assert_eq!(initialize["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(super::empty(&id), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}
