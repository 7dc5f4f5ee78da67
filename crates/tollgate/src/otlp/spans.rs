//! Spans as OTLP has them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_engine::spans::{self, Attributes, Ended, Event, Kind};

use super::message::{Message, Value};

/// Status codes.
const ERROR: u32 = 2;
/// Of `Span.flags`: it is known whether the parent is of another process. Not said here.
const TRACE_FLAGS: u32 = 0xff;

/// What tells, in `ScopeSpans` and `ScopeMetrics` alike.
pub(super) fn scope() -> Message {
    Message::default().with(1, "name", Value::Text("tollgate".to_owned())).with(
        2,
        "version",
        Value::Text(env!("CARGO_PKG_VERSION").to_owned()),
    )
}

/// A request to `/v1/traces`.
pub(super) fn request(resource: &Message, spans: &[Ended]) -> Message {
    let spans = spans.iter().map(span).collect();
    let scoped = Message::default().with(1, "scope", Value::One(scope())).with(
        2,
        "spans",
        Value::Many(spans),
    );
    let of_resource = Message::default().with(1, "resource", Value::One(resource.clone())).with(
        2,
        "scopeSpans",
        Value::Many(vec![scoped]),
    );
    Message::default().with(1, "resourceSpans", Value::Many(vec![of_resource]))
}

fn span(span: &Ended) -> Message {
    let context = &span.context;
    let mut message = Message::default()
        .with(1, "traceId", Value::Id(context.trace.bytes().to_vec()))
        .with(2, "spanId", Value::Id(context.span.bytes().to_vec()));
    if let Some(state) = &context.state {
        message = message.with(3, "traceState", Value::Text(state.as_ref().to_owned()));
    }
    if let Some(parent) = &span.parent {
        message = message.with(4, "parentSpanId", Value::Id(parent.bytes().to_vec()));
    }
    let events = span.events.iter().map(|event| happened(span.began, event)).collect();
    message = message
        .with(5, "name", Value::Text(span.name.to_string()))
        .with(6, "kind", Value::Small(kind(span.kind)))
        .with(7, "startTimeUnixNano", Value::Fixed64(nanos(span.began)))
        .with(8, "endTimeUnixNano", Value::Fixed64(nanos(span.began + span.took)))
        .with(9, "attributes", Value::Many(attributes(&span.attributes)))
        .with(11, "events", Value::Many(events));
    if let Some(words) = &span.error {
        let mut status = Message::default();
        if !words.is_empty() {
            status = status.with(2, "message", Value::Text(words.clone()));
        }
        let status = status.with(3, "code", Value::Small(ERROR));
        message = message.with(15, "status", Value::One(status));
    }
    message.with(16, "flags", Value::Fixed32(u32::from(context.flags.bits()) & TRACE_FLAGS))
}

fn kind(kind: Kind) -> u32 {
    match kind {
        Kind::Internal => 1,
        Kind::Server => 2,
        Kind::Client => 3,
    }
}

fn happened(began: SystemTime, event: &Event) -> Message {
    Message::default()
        .with(1, "timeUnixNano", Value::Fixed64(nanos(began + event.after)))
        .with(2, "name", Value::Text(event.name.to_owned()))
        .with(3, "attributes", Value::Many(attributes(&event.attributes)))
}

pub(super) fn attributes(attributes: &Attributes) -> Vec<Message> {
    attributes.iter().map(|(name, value)| attribute(name, any(value))).collect()
}

/// A `KeyValue`.
pub(super) fn attribute(name: &str, value: Message) -> Message {
    Message::default().with(1, "key", Value::Text(name.to_owned())).with(
        2,
        "value",
        Value::One(value),
    )
}

/// An `AnyValue`.
fn any(value: &spans::Value) -> Message {
    let one = Message::default();
    match value {
        spans::Value::Text(text) => text_value(text),
        spans::Value::Flag(flag) => one.with(2, "boolValue", Value::Flag(*flag)),
        spans::Value::Whole(number) => one.with(3, "intValue", Value::Signed(*number)),
        spans::Value::Real(number) => one.with(4, "doubleValue", Value::Double(*number)),
        spans::Value::Texts(texts) => {
            let texts = texts.iter().map(|text| text_value(text)).collect();
            let list = Message::default().with(1, "values", Value::Many(texts));
            one.with(5, "arrayValue", Value::One(list))
        }
    }
}

pub(super) fn text_value(text: &str) -> Message {
    Message::default().with(1, "stringValue", Value::Text(text.to_owned()))
}

/// Since 1970.
pub(super) fn nanos(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
