//! Allowlist of client headers that change the meaning of a request. Only a provider of the same
//! dialect gets them; credentials and all other headers are never forwarded.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::conversation::ChatRequest;
use crate::dialect::Dialect;
use crate::extra::Extra;

/// Headers with feature lists, per dialect.
const FEATURE_HEADERS: [(Dialect, &str); 2] =
    [(Dialect::Anthropic, "anthropic-beta"), (Dialect::OpenAiResponses, "openai-beta")];
/// Protocol version of the exchange. Not forwarded with decoded requests, which are sent in the
/// gateway's own version.
const VERSION_HEADER: (Dialect, &str) = (Dialect::Anthropic, "anthropic-version");

/// Headers to forward with a request that is passed through.
pub(super) fn of(dialect: Dialect, headers: &HeaderMap) -> HeaderMap {
    let mut forwarded = HeaderMap::new();
    let version = (VERSION_HEADER.0 == dialect).then_some(VERSION_HEADER.1);
    for name in features(dialect).chain(version) {
        for value in headers.get_all(name) {
            forwarded.append(HeaderName::from_static(name), value.clone());
        }
    }
    forwarded
}

/// For a decoded request: the headers are carried as extra fields under their own names, and so
/// only reach providers of the same dialect. No body field has such a name.
pub fn carry(request: &mut ChatRequest, dialect: Dialect, headers: &HeaderMap) {
    let mut fields = Map::new();
    for name in features(dialect) {
        let values: Vec<&str> =
            headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        if !values.is_empty() {
            fields.insert(name.to_owned(), values.join(",").into());
        }
    }
    request.extra.merge(Extra::new(dialect, fields));
}

/// Removes the carried headers from an encoded body.
pub(super) fn take_from(body: &mut Value, dialect: Dialect) -> HeaderMap {
    let mut forwarded = HeaderMap::new();
    let Some(fields) = body.as_object_mut() else { return forwarded };
    for name in features(dialect) {
        let value = fields.shift_remove(name);
        let text = value.as_ref().and_then(Value::as_str);
        if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
            forwarded.insert(HeaderName::from_static(name), value);
        }
    }
    forwarded
}

/// Adds the headers to the configured ones, overriding them; feature lists are joined.
pub(super) fn add(headers: &mut HeaderMap, more: HeaderMap) {
    let lists = FEATURE_HEADERS.map(|(_, name)| (name, list(headers, &more, name)));
    headers.extend(more);
    for (name, list) in lists {
        if let Some(list) = list {
            headers.insert(HeaderName::from_static(name), list);
        }
    }
}

/// Both values of a feature list, if both exist.
fn list(one: &HeaderMap, other: &HeaderMap, name: &str) -> Option<HeaderValue> {
    if !one.contains_key(name) || !other.contains_key(name) {
        return None;
    }
    let values = one.get_all(name).iter().chain(other.get_all(name));
    let values: Vec<&[u8]> = values.map(HeaderValue::as_bytes).collect();
    HeaderValue::from_bytes(&values.join(&b","[..])).ok()
}

fn features(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    FEATURE_HEADERS.into_iter().filter(move |(own, _)| *own == dialect).map(|(_, name)| name)
}

#[cfg(test)]
mod tests;
