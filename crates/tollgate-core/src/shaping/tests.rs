use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{Caps, data, failure, shape, spoken};
use crate::call::{Extent, Retry, Status};
use crate::catalog::{Catalog, Inputs, Listing, Offer, Origin, Rules};
use crate::glob::Glob;
use crate::id::ServerId;
use crate::json::{raw, raw_value};
use crate::names::{NamePattern, Owners};
use crate::tool::{Speech, Tool};

/// A tool that declares this output schema, or none.
fn tool(output: Option<serde_json::Value>) -> Arc<Tool> {
    let mut definition = json!({"name": "t", "inputSchema": {"type": "object"}});
    if let Some(output) = output {
        definition["outputSchema"] = output;
    }
    let listing = Listing { tools: vec![raw_value(&definition)], ..Listing::default() };
    let rules = Rules {
        server: ServerId::parse("s").unwrap(),
        origin: Origin::Upstream,
        trusted: false,
        timeout: Duration::from_secs(10),
        slow: None,
        allow: vec![Glob::new("*")],
        deny: Vec::new(),
        tools: std::collections::BTreeMap::new(),
    };
    let offers = [Offer { rules: Arc::new(rules), listing: Arc::new(listing), present: true }];
    let pattern = NamePattern::parse("{server}_{tool}").unwrap();
    let inputs = Inputs { version: 1, offers: &offers, pattern: &pattern, previous: None };
    let catalog = Catalog::build(&inputs, &mut Owners::default());
    Arc::clone(catalog.tool("s_t").expect("the tool is in the catalogue"))
}

fn status(result: &str) -> Status {
    shape(&tool(None), raw(result.to_owned()), Duration::ZERO, &Caps::default()).status
}

#[test]
fn the_status_says_how_it_went() {
    assert_eq!(status(r#"{"content":[{"type":"text","text":"hi"}]}"#), Status::Ok);
    assert_eq!(status(r#"{"content":[],"isError":true}"#), Status::Error);
    assert_eq!(status(r#"{"content":[]}"#), Status::NoResults);
    assert_eq!(status(r#"{"content":[],"structuredContent":{"a":1}}"#), Status::Ok);
    assert_eq!(status(r#"{"content":[],"structuredContent":[]}"#), Status::NoResults);
    // B-RE 1 and 7: what is not as it should be is not believed.
    assert_eq!(status(r#"{}"#), Status::NoResults);
    assert_eq!(status(r#"{"content":null}"#), Status::NoResults);
    assert_eq!(status(r#"{"content":[1],"isError":"no"}"#), Status::Ok);
    assert_eq!(status(r#"{"content":[],"content":[1]}"#), Status::Error);
}

#[test]
fn b_re_01_b_re_07_what_each_reader_would_take_differently_does_not_go_on() {
    let shown = |result: &str| {
        let result = raw(result.to_owned());
        let outcome = shape(&tool(None), result, Duration::ZERO, &Caps::default());
        outcome.result.get().to_owned()
    };
    for (result, expected) in [
        (r#"{"content":null,"x":1}"#, r#"{"content":[],"x":1}"#),
        (r#"{"content":"text"}"#, r#"{"content":[]}"#),
        (r#"{"structuredContent":{}}"#, r#"{"structuredContent":{},"content":[]}"#),
        (r#"{"content":[1],"isError":"no"}"#, r#"{"content":[1]}"#),
        (r#"{ "content": [], "isError": false }"#, r#"{ "content": [], "isError": false }"#),
    ] {
        assert_eq!(shown(result), expected);
    }
}

#[test]
fn a_sentence_comes_from_template_then_field_then_text_then_nowhere() {
    let check = |result: &str, template: Option<&str>, field: Option<&str>, expected: &str| {
        let result = raw(result.to_owned());
        let outcome = shape(&tool(None), result, Duration::ZERO, &Caps::default());
        let speech =
            Speech { template: template.map(str::to_owned), field: field.map(str::to_owned) };
        assert_eq!(spoken(&speech, &outcome, &data(&outcome.result)), expected);
    };
    let atis = r#"{"content":[{"type":"text","text":"{\"icao\":\"EDDF\",\"wind\":{\"kt\":7}}"}]}"#;
    check(atis, Some("{icao} has {wind.kt} knots."), Some("icao"), "EDDF has 7 knots.");
    check(atis, Some("{missing} {icao}"), Some("icao"), "EDDF");
    check(atis, None, None, "Done.");
    check(
        r#"{"content":[{"type":"text","text":"Two plus two is four."}]}"#,
        None,
        Some("x"),
        "Two plus two is four.",
    );
    check(r#"{"content":[]}"#, None, None, "I found nothing.");
    check(r#"{"content":[],"isError":true}"#, Some("never"), None, "That did not work.");
    check(atis, Some("{unclosed"), None, "{unclosed");
}

#[test]
fn data_is_structured_content_or_json_in_text_or_the_text() {
    let of = |text: &str| data(&raw(text.to_owned()));
    assert_eq!(of(r#"{"structuredContent":{"a":1},"content":[]}"#), json!({"a": 1}));
    assert_eq!(of(r#"{"content":[{"type":"text","text":" [1,2] "}]}"#), json!([1, 2]));
    assert_eq!(of(r#"{"content":[{"type":"text","text":"plain"}]}"#), json!("plain"));
    assert_eq!(of(r#"{"content":[{"type":"text","text":"{broken"}]}"#), json!("{broken"));
    assert_eq!(of(r#"{}"#), json!(null));
}

#[test]
fn a_result_that_breaks_the_output_schema_is_reported_not_hidden() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tool = tool(Some(schema));
    let meta = |result: &str| {
        let outcome = shape(&tool, raw(result.to_owned()), Duration::ZERO, &Caps::default());
        let value: serde_json::Value = serde_json::from_str(outcome.result.get()).unwrap();
        value.pointer("/_meta/dev.tollgate~1output/warning").map(ToString::to_string)
    };
    assert_eq!(meta(r#"{"content":[],"structuredContent":{"n":1}}"#), None);
    let wrong = meta(r#"{"content":[],"structuredContent":{"n":"x"}}"#).expect("a warning");
    assert!(wrong.contains("output schema"), "{wrong}");
    assert!(meta(r#"{"content":[{"type":"text","text":"1"}]}"#).is_some());
}

#[test]
fn s_31_oversized_results_are_cut_between_whole_parts() {
    let caps = Caps { text_bytes: 100, binary_bytes: 50, items: 3, depth: 64 };
    let cut = |value: serde_json::Value| {
        let outcome = shape(&tool(None), raw_value(&value), Duration::ZERO, &caps);
        assert_eq!(outcome.extent, Extent::Cut);
        let value: serde_json::Value = serde_json::from_str(outcome.result.get()).unwrap();
        value
    };
    let long = cut(json!({"content": [{"type": "text", "text": "ä".repeat(200)}]}));
    assert_eq!(long["content"][0]["text"].as_str().map(str::len), Some(100));
    assert!(long["content"][1]["text"].as_str().unwrap().starts_with("[cut: text of 400"));
    let many = cut(json!({"content": vec![json!({"type": "text", "text": "x".repeat(20)}); 9]}));
    assert_eq!(many["content"].as_array().map(Vec::len), Some(4));
    let image = cut(json!({"content": [{"type": "image", "data": "A".repeat(200)}]}));
    assert!(image["content"][0]["text"].as_str().unwrap().contains("an item of 200 bytes"));
    let structured = cut(json!({"content": [], "structuredContent": {"x": "y".repeat(200)}}));
    assert!(structured.get("structuredContent").is_none());
    let deep = format!("{{\"content\":[],\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let outcome = shape(&tool(None), raw(deep), Duration::ZERO, &caps);
    assert!(outcome.result.get().contains("nested too deeply"));
}

#[test]
fn what_was_cut_away_here_is_not_held_against_the_tool() {
    let tool = tool(Some(json!({"type": "object"})));
    let caps = Caps { text_bytes: 100, ..Caps::default() };
    let shown = |result: &serde_json::Value| {
        let outcome = shape(&tool, raw_value(result), Duration::ZERO, &caps);
        (outcome.extent, outcome.result.get().contains("dev.tollgate/output"))
    };
    let large = json!({"content": [], "structuredContent": {"x": "y".repeat(200)}});
    assert_eq!(shown(&large), (Extent::Cut, false));
    assert_eq!(shown(&json!({"content": [1]})), (Extent::Whole, true));
}

#[test]
fn large_items_that_cannot_be_read_are_left_out_for_the_reason_that_is_true() {
    let caps = Caps { text_bytes: 100, ..Caps::default() };
    let shown = |item: &str| {
        let result = raw(format!(r#"{{"content":[{item},"{}"]}}"#, "z".repeat(80)));
        shape(&tool(None), result, Duration::ZERO, &caps).result.get().to_owned()
    };
    let long = "y".repeat(200);
    for item in [
        format!(r#"{{"text":"{long}","text":"x"}}"#),
        format!(r#"{{"resource":{{"text":"{long}","text":"x"}}}}"#),
    ] {
        let shown = shown(&item);
        assert!(shown.contains("key `text` stands twice"), "{shown}");
        assert!(!shown.contains("nested") && !shown.contains(&long), "{shown}");
        assert!(shown.contains("zzz"), "{shown}");
    }
}

#[test]
fn a_failure_is_a_result_that_a_model_can_read() {
    let outcome = failure(Status::Timeout, "it \"hung\"", Duration::from_millis(5));
    assert_eq!(
        outcome.result.get(),
        r#"{"content":[{"type":"text","text":"it \"hung\""}],"isError":true}"#
    );
    assert_eq!(outcome.retry, Retry::Sensible { hint: None });
}
