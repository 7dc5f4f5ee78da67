use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    MessageWording, ResultCaps, ResultConsumer, ShapedResult, data, failure, message, pending,
    raw_data, shape,
};
use crate::call::{CallStatus, Outcome, ResultExtent, ResultHandle, Retryability};
use crate::catalog::{
    Catalog, CatalogInputs, ServerListing, ServerOffer, ServerOrigin, ServerRules,
};
use crate::id::ServerId;
use crate::json::{raw, raw_value};
use crate::names::{NameOwners, NamePattern};
use crate::tool::{SpeechTemplate, Tool};
use crate::trust::ToolPins;

mod cutting;
mod paging;
mod properties;
mod saying;
mod status;

/// A tool that declares this output schema, or none.
fn tool(output: Option<Value>) -> Arc<Tool> {
    let mut definition = json!({"name": "t", "inputSchema": {"type": "object"}});
    if let Some(output) = output {
        definition["outputSchema"] = output;
    }
    defined(&definition)
}

fn defined(definition: &Value) -> Arc<Tool> {
    let listing = ServerListing { tools: vec![raw_value(definition)], ..ServerListing::default() };
    let rules = ServerRules::new(ServerId::parse("s").unwrap(), ServerOrigin::Upstream);
    let offers =
        [ServerOffer { rules: Arc::new(rules), listing: Arc::new(listing), present: true }];
    let pattern = NamePattern::parse("{server}_{tool}").unwrap();
    let inputs = CatalogInputs {
        version: 1,
        offers: &offers,
        pattern: &pattern,
        previous: None,
        pins: &ToolPins::default(),
    };
    let catalog = Catalog::build(&inputs, &mut NameOwners::default());
    Arc::clone(catalog.tool("s_t").expect("the tool is in the catalogue"))
}

fn handle() -> ResultHandle {
    ResultHandle::from_bits(0xabc)
}

fn shaped(tool: &Tool, result: &str, caps: &ResultCaps) -> ShapedResult {
    let consumer = ResultConsumer { caps, spare: Some(handle()) };
    shape(tool, raw(result.to_owned()), Duration::ZERO, consumer)
}

/// Of a tool without an output schema.
fn outcome(result: &str, caps: &ResultCaps) -> Outcome {
    shaped(&tool(None), result, caps).outcome
}

fn read(outcome: &Outcome) -> Value {
    serde_json::from_str(outcome.result.get()).expect("a result is JSON")
}

/// A result with this text and nothing else.
fn text(text: &str) -> String {
    json!({"content": [{"type": "text", "text": text}]}).to_string()
}

#[test]
fn b_re_01_b_re_07_what_each_reader_would_take_differently_does_not_go_on() {
    for (result, expected) in [
        (r#"{"content":null,"x":1}"#, r#"{"content":[],"x":1}"#),
        (r#"{"content":"text"}"#, r#"{"content":[]}"#),
        (r#"{"structuredContent":{"a":1}}"#, r#"{"structuredContent":{"a":1},"content":[]}"#),
        (r#"{"content":[1],"isError":"no"}"#, r#"{"content":[1]}"#),
        (r#"{ "content": [], "isError": false }"#, r#"{ "content": [], "isError": false }"#),
    ] {
        assert_eq!(outcome(result, &ResultCaps::mcp()).result.get(), expected);
    }
}

#[test]
fn data_is_structured_content_or_json_in_text_or_the_text() {
    let of = |result: &str| data(&outcome(result, &ResultCaps::mcp()));
    assert_eq!(of(r#"{"structuredContent":{"a":1},"content":[]}"#), json!({"a": 1}));
    assert_eq!(of(&text(" [1,2] ")), json!([1, 2]));
    let wrapped = r#"{"structuredContent":{"result":"{\"a\":[1]}"},"content":[]}"#;
    assert_eq!(of(wrapped), json!({"result": {"a": [1]}}));
    assert_eq!(raw_data(&outcome(wrapped, &ResultCaps::mcp())).get(), r#"{"result":{"a":[1]}}"#);
    assert_eq!(of(&text("```json\n{\"a\": 1}\n```")), json!({"a": 1}));
    assert_eq!(of(&text("plain")), json!("plain"));
    assert_eq!(of(&text("{broken")), json!("{broken"));
    assert_eq!(of(&text(r#"{"a":1,"a":2}"#)), json!(r#"{"a":1,"a":2}"#));
    assert_eq!(of(r#"{}"#), json!(null));
}

#[test]
fn a_result_that_breaks_the_output_schema_is_reported_not_hidden() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tool = tool(Some(schema));
    let meta = |result: &str| {
        let value = read(&shaped(&tool, result, &ResultCaps::mcp()).outcome);
        value.pointer("/_meta/dev.tollgate~1output/warning").map(ToString::to_string)
    };
    assert_eq!(meta(r#"{"content":[],"structuredContent":{"n":1}}"#), None);
    let wrong = meta(r#"{"content":[],"structuredContent":{"n":"x"}}"#).expect("a warning");
    assert!(wrong.contains("output schema"), "{wrong}");
    assert!(meta(r#"{"content":[{"type":"text","text":"1"}]}"#).is_some());
}

#[test]
fn a_failure_is_a_result_that_a_model_can_read() {
    let outcome = failure(CallStatus::Timeout, "it \"hung\"", Duration::from_millis(5));
    assert_eq!(
        outcome.result.get(),
        r#"{"content":[{"type":"text","text":"it \"hung\""}],"isError":true}"#
    );
    assert_eq!(outcome.retry, Retryability::Sensible { hint: None, after: None });
}

#[test]
fn a_pending_result_names_its_handle_and_passes_the_checks_of_clients() {
    for (output, is_error) in [(None, None), (Some(json!({"type": "object"})), Some(true))] {
        let outcome = pending(&tool(output), handle(), Duration::from_millis(500));
        let value = read(&outcome);
        assert_eq!((outcome.status, outcome.handle), (CallStatus::Pending, Some(handle())));
        assert_eq!(value["_meta"]["dev.tollgate/result"]["handle"], handle().to_string());
        assert_eq!(value["_meta"]["dev.tollgate/result"]["pending"], true);
        let words = value["content"][0]["text"].as_str().expect("it is said");
        assert!(words.contains("still running") && !words.contains(&handle().to_string()));
        assert_eq!(value.get("isError").and_then(Value::as_bool), is_error);
    }
}
