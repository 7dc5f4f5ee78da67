use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::call::{CallStatus, Outcome, ResultExtent, ResultSource, Retryability};
use tollgate_core::json;
use tollgate_core::shaping;

use super::neutral;
use crate::conversation::{CallEnd, CallResult, FunctionCall, MediaKind, MediaSource, PartContent};

fn call() -> FunctionCall {
    FunctionCall { id: "c1".to_owned(), name: "roll".to_owned(), arguments: "{}".to_owned() }
}

fn outcome(status: CallStatus, result: &Value) -> Outcome {
    Outcome {
        status,
        result: json::raw_value(result),
        retry: Retryability::Pointless,
        extent: ResultExtent::Whole,
        handle: None,
        source: ResultSource::Fresh,
        origin: None,
        duration: Duration::ZERO,
    }
}

fn check(result: &Value, expected: &str) {
    assert_eq!(describe(&neutral(&call(), &outcome(CallStatus::Ok, result))), expected, "{result}");
}

/// One line for each part.
fn describe(result: &CallResult) -> String {
    let each = result.parts.iter().map(|part| match &part.content {
        PartContent::Text(text) => text.clone(),
        PartContent::Media(media) => {
            let MediaSource::Base64 { media_type, data } = &media.source else { panic!() };
            let kind = match media.kind {
                MediaKind::Image => "image",
                MediaKind::Audio => "audio",
                MediaKind::Video => "video",
                MediaKind::Document => "document",
            };
            let name = media.name.as_deref().unwrap_or("-");
            format!("<{kind} {media_type} {data} {name}>")
        }
        other => panic!("{other:?}"),
    });
    each.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_kind_of_content_becomes_a_part() {
    check(&json!({"content": [{"type": "text", "text": "a\nb"}]}), "a\nb");
    check(
        &json!({"content": [
            {"type": "image", "data": "aGk=", "mimeType": "image/webp"},
            {"type": "audio", "data": "aG8="},
            {"type": "text", "text": "seen"},
        ]}),
        "<image image/webp aGk= ->\n<audio audio/wav aG8= ->\nseen",
    );
    check(
        &json!({"content": [
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b.pdf", "blob": "aGk=", "mimeType": "application/pdf"}},
            {"type": "resource", "resource": {"uri": "file:///c.zip", "blob": "aGkx", "mimeType": "application/zip"}},
            {"type": "resource_link", "uri": "https://x/y", "name": "Y", "mimeType": "text/html", "description": "a page"},
        ]}),
        "file:///a.txt:\ninside\n<document application/pdf aGk= b.pdf>\n\
         file:///c.zip: 3 bytes of application/zip, not shown\nY: https://x/y (text/html), a page",
    );
    check(
        &json!({"content": [{"type": "hologram", "beam": 7}]}),
        r#"{"type":"hologram","beam":7}"#,
    );
}

#[test]
fn structure_speaks_where_there_are_no_words() {
    check(&json!({"content": [], "structuredContent": {"total": 7}}), r#"{"total":7}"#);
    check(
        &json!({"content": [{"type": "text", "text": "seven"}], "structuredContent": {"total": 7}}),
        "seven",
    );
    check(
        &json!({"content": [{"type": "image", "data": "aGk="}], "structuredContent": [1]}),
        "[1]\n<image image/png aGk= ->",
    );
}

#[test]
fn a_result_is_never_empty_and_says_how_it_ended() {
    for (status, end, said) in [
        (CallStatus::Ok, CallEnd::Well, "Done."),
        (CallStatus::NoResults, CallEnd::Well, "no results"),
        (CallStatus::Error, CallEnd::Failed, "Done."),
    ] {
        let result = neutral(&call(), &outcome(status, &json!({"content": []})));
        assert_eq!((result.end, describe(&result).as_str()), (end, said));
        assert_eq!((result.call_id.as_str(), result.name.as_deref()), ("c1", Some("roll")));
    }
    for status in [
        CallStatus::Timeout,
        CallStatus::Denied,
        CallStatus::InvalidArguments,
        CallStatus::RateLimited,
        CallStatus::Offline,
    ] {
        let outcome = shaping::failure(status, "it did not work", Duration::ZERO);
        let result = neutral(&call(), &outcome);
        assert_eq!((result.end, describe(&result).as_str()), (CallEnd::Failed, "it did not work"));
    }
    let hint = Some("try again in 5 s".to_owned());
    let retry = Retryability::Sensible { hint, after: None };
    let failed = shaping::failure(CallStatus::RateLimited, "too often", Duration::ZERO);
    let result = neutral(&call(), &Outcome { retry, ..failed });
    assert_eq!(describe(&result), "too often\n(try again in 5 s)");
}

#[test]
fn b_re_01_results_that_are_none_are_carried_without_harm() {
    for odd in [json!({}), json!({"content": null}), json!({"content": {"a": 1}}), json!([1])] {
        check(&odd, "Done.");
    }
    check(&json!({"content": ["bare", 7, null]}), "\"bare\"\n7\nnull");
    let many: Vec<Value> = (0..10_000).map(|_| json!({"type": "text", "text": "x"})).collect();
    let result = neutral(&call(), &outcome(CallStatus::Ok, &json!({"content": many})));
    assert_eq!(result.parts.len(), 256);
}
