use std::borrow::Cow;
use std::time::{Duration, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use serde_json::{Value as Json, json};
use tollgate_core::secret_values;
use tollgate_core::trace::SpanContext;
use tollgate_engine::spans::{Event, FinishedSpan, SpanAttributes, SpanKind, Value};

use crate::{message, spans};

const SECRET: &str = "hunter2-hunter2-hunter2";

fn attributes(pairs: &[(&'static str, Value)]) -> SpanAttributes {
    let mut attributes = SpanAttributes::default();
    for (name, value) in pairs {
        attributes.set(name, value.clone());
    }
    attributes
}

/// A request with one span whose texts all contain `word`.
fn request(word: &str) -> ExportTraceServiceRequest {
    let text = || Value::from(word.to_owned());
    let context = format!("00-{}ab-{}-01", "0".repeat(30), "2".repeat(16));
    let span = FinishedSpan {
        context: SpanContext::parse(&context).unwrap(),
        parent: None,
        name: Cow::Owned(word.to_owned()),
        kind: SpanKind::Client,
        began: UNIX_EPOCH + Duration::from_nanos(u64::MAX - 5),
        took: Duration::from_nanos(5),
        attributes: attributes(&[
            ("text", text()),
            ("texts", Value::Texts(vec![word.to_owned()])),
            ("whole", Value::Whole(-1)),
            ("real", Value::Real(1.5)),
            ("flag", Value::Flag(false)),
        ]),
        events: vec![Event {
            after: Duration::from_nanos(1),
            name: "sent",
            attributes: attributes(&[("text", text())]),
        }],
        error: Some(word.to_owned()),
    };
    spans::request(&message::resource(&[("region".to_owned(), word.to_owned())]), &[span])
}

#[test]
fn ids_are_hexadecimal_and_large_numbers_are_texts_in_json() {
    let request = serde_json::to_value(request("it")).unwrap();
    let of_resource = &request["resourceSpans"][0];
    let region = json!([{ "key": "region", "value": { "stringValue": "it" } }]);
    assert_eq!(of_resource["resource"]["attributes"], region);
    let scoped = &of_resource["scopeSpans"][0];
    assert_eq!(scoped["scope"]["name"], "tollgate");
    let span = &scoped["spans"][0];
    let values: Vec<&Json> =
        span["attributes"].as_array().unwrap().iter().map(|it| &it["value"]).collect();
    let expected = [
        json!({ "stringValue": "it" }),
        json!({ "arrayValue": { "values": [{ "stringValue": "it" }] } }),
        json!({ "intValue": "-1" }),
        json!({ "doubleValue": 1.5 }),
        json!({ "boolValue": false }),
    ];
    assert_eq!(values, expected.iter().collect::<Vec<_>>());
    for (field, expected) in [
        ("traceId", json!(format!("{}ab", "0".repeat(30)))),
        ("spanId", json!("2".repeat(16))),
        ("kind", json!(3)),
        ("flags", json!(1)),
        ("startTimeUnixNano", json!((u64::MAX - 5).to_string())),
        ("endTimeUnixNano", json!(u64::MAX.to_string())),
    ] {
        assert_eq!(span[field], expected, "{field}");
    }
    assert_eq!(span["status"], json!({ "message": "it", "code": 2 }));
    assert_eq!(span["events"][0]["timeUnixNano"], (u64::MAX - 4).to_string());
}

#[test]
fn both_forms_say_the_same() {
    let request = request("it");
    let bytes = request.encode_to_vec();
    assert_eq!(ExportTraceServiceRequest::decode(bytes.as_slice()).unwrap(), request);
    let json = serde_json::to_vec(&request).unwrap();
    assert_eq!(serde_json::from_slice::<ExportTraceServiceRequest>(&json).unwrap(), request);
}

#[test]
fn no_text_of_a_span_or_a_resource_shows_a_secret() {
    secret_values::configure([SECRET]);
    let request = request(SECRET);
    let json = serde_json::to_string(&request).unwrap();
    assert!(!json.contains(SECRET), "{json}");
    let bytes = request.encode_to_vec();
    assert!(!bytes.windows(SECRET.len()).any(|it| it == SECRET.as_bytes()));
}
