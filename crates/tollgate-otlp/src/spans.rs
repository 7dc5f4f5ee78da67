//! Encodes spans as OTLP.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_engine::spans::{self, Event, FinishedSpan, SpanAttributes, SpanKind};

use super::message::{OtlpMessage, OtlpValue};

/// Status code for an error.
const ERROR: u32 = 2;
/// Mask for `Span.flags`: only the trace flags. The bits about a remote parent are not set.
const TRACE_FLAGS: u32 = 0xff;

/// Instrumentation scope of `ScopeSpans` and `ScopeMetrics`.
pub(super) fn scope() -> OtlpMessage {
    OtlpMessage::default().with(1, "name", OtlpValue::Text("tollgate".to_owned())).with(
        2,
        "version",
        OtlpValue::Text(env!("CARGO_PKG_VERSION").to_owned()),
    )
}

/// A request to `/v1/traces`.
pub(super) fn request(resource: &OtlpMessage, spans: &[FinishedSpan]) -> OtlpMessage {
    let spans = spans.iter().map(span).collect();
    let scoped = OtlpMessage::default().with(1, "scope", OtlpValue::One(scope())).with(
        2,
        "spans",
        OtlpValue::Many(spans),
    );
    let of_resource = OtlpMessage::default()
        .with(1, "resource", OtlpValue::One(resource.clone()))
        .with(2, "scopeSpans", OtlpValue::Many(vec![scoped]));
    OtlpMessage::default().with(1, "resourceSpans", OtlpValue::Many(vec![of_resource]))
}

fn span(span: &FinishedSpan) -> OtlpMessage {
    let context = &span.context;
    let mut message = OtlpMessage::default()
        .with(1, "traceId", OtlpValue::Id(context.trace.bytes().to_vec()))
        .with(2, "spanId", OtlpValue::Id(context.span.bytes().to_vec()));
    if let Some(state) = &context.state {
        message = message.with(3, "traceState", OtlpValue::Text(state.as_ref().to_owned()));
    }
    if let Some(parent) = &span.parent {
        message = message.with(4, "parentSpanId", OtlpValue::Id(parent.bytes().to_vec()));
    }
    let events = span.events.iter().map(|event| event_message(span.began, event)).collect();
    message = message
        .with(5, "name", OtlpValue::Text(span.name.to_string()))
        .with(6, "kind", OtlpValue::Small(kind(span.kind)))
        .with(7, "startTimeUnixNano", OtlpValue::Fixed64(nanos(span.began)))
        .with(8, "endTimeUnixNano", OtlpValue::Fixed64(nanos(span.began + span.took)))
        .with(9, "attributes", OtlpValue::Many(attributes(&span.attributes)))
        .with(11, "events", OtlpValue::Many(events));
    if let Some(words) = &span.error {
        let mut status = OtlpMessage::default();
        if !words.is_empty() {
            status = status.with(2, "message", OtlpValue::Text(words.clone()));
        }
        let status = status.with(3, "code", OtlpValue::Small(ERROR));
        message = message.with(15, "status", OtlpValue::One(status));
    }
    message.with(16, "flags", OtlpValue::Fixed32(u32::from(context.flags.bits()) & TRACE_FLAGS))
}

fn kind(kind: SpanKind) -> u32 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
    }
}

fn event_message(began: SystemTime, event: &Event) -> OtlpMessage {
    OtlpMessage::default()
        .with(1, "timeUnixNano", OtlpValue::Fixed64(nanos(began + event.after)))
        .with(2, "name", OtlpValue::Text(event.name.to_owned()))
        .with(3, "attributes", OtlpValue::Many(attributes(&event.attributes)))
}

pub(super) fn attributes(attributes: &SpanAttributes) -> Vec<OtlpMessage> {
    attributes.iter().map(|(name, value)| attribute(name, any(value))).collect()
}

/// A `KeyValue`.
pub(super) fn attribute(name: &str, value: OtlpMessage) -> OtlpMessage {
    OtlpMessage::default().with(1, "key", OtlpValue::Text(name.to_owned())).with(
        2,
        "value",
        OtlpValue::One(value),
    )
}

/// An `AnyValue`.
fn any(value: &spans::Value) -> OtlpMessage {
    let one = OtlpMessage::default();
    match value {
        spans::Value::Text(text) => text_value(text),
        spans::Value::Flag(flag) => one.with(2, "boolValue", OtlpValue::Flag(*flag)),
        spans::Value::Whole(number) => one.with(3, "intValue", OtlpValue::Signed(*number)),
        spans::Value::Real(number) => one.with(4, "doubleValue", OtlpValue::Double(*number)),
        spans::Value::Texts(texts) => {
            let texts = texts.iter().map(|text| text_value(text)).collect();
            let list = OtlpMessage::default().with(1, "values", OtlpValue::Many(texts));
            one.with(5, "arrayValue", OtlpValue::One(list))
        }
    }
}

pub(super) fn text_value(text: &str) -> OtlpMessage {
    OtlpMessage::default().with(1, "stringValue", OtlpValue::Text(text.to_owned()))
}

/// Since the Unix epoch.
pub(super) fn nanos(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
