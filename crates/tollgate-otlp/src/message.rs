//! Parts that both signals share: attributes, instrumentation scope, times. Every text of unknown
//! origin gets into a message through `mask`, so that no configured secret is exported.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::common::v1::any_value::Value as AttributeValue;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use tollgate_core::secret_values;
use tollgate_engine::spans::{SpanAttributes, Value};

/// Instrumentation scope of `ScopeSpans` and `ScopeMetrics`.
pub(super) fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "tollgate".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Default::default()
    }
}

pub(super) fn resource(attributes: &[(String, String)]) -> Resource {
    let attributes = attributes.iter().map(|(key, value)| attribute(key, text(value)));
    Resource { attributes: attributes.collect(), ..Default::default() }
}

pub(super) fn attributes(attributes: &SpanAttributes) -> Vec<KeyValue> {
    attributes.iter().map(|(name, value)| attribute(name, convert(value))).collect()
}

pub(super) fn attribute(name: &str, value: AttributeValue) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: mask(name), value, ..Default::default() }
}

fn convert(value: &Value) -> AttributeValue {
    match value {
        Value::Text(value) => text(value),
        Value::Flag(flag) => AttributeValue::BoolValue(*flag),
        Value::Whole(number) => AttributeValue::IntValue(*number),
        Value::Real(number) => AttributeValue::DoubleValue(*number),
        Value::Texts(texts) => {
            let values = texts.iter().map(|it| AnyValue { value: Some(text(it)) }).collect();
            AttributeValue::ArrayValue(ArrayValue { values })
        }
    }
}

pub(super) fn text(value: &str) -> AttributeValue {
    AttributeValue::StringValue(mask(value))
}

pub(super) fn mask(text: &str) -> String {
    secret_values::mask(text).into_owned()
}

/// Since the Unix epoch.
pub(super) fn nanos(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
