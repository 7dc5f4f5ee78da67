//! Request headers, one `name: value` a line.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::value::RawValue;
use tollgate_mcp::header as mcp;
use tollgate_server::{by_headers, fuzzing};

/// What is read stands in a header, and nothing that can be read in two ways is taken.
pub(crate) fn headers(data: &[u8]) {
    let headers = header_map(data);
    for (name, value) in fuzzing::cookies(&headers) {
        assert!(!name.contains(['=', ';']) && !value.contains(';'));
    }
    match fuzzing::presented_key(&headers) {
        Ok(Some(key)) => {
            assert!(!key.is_empty() && key.trim_ascii() == key);
            let stands = |value: &HeaderValue| {
                value.as_bytes().ends_with(key) || value.as_bytes().trim_ascii().ends_with(key)
            };
            assert!(headers.values().any(stands), "a key that no header has");
            assert!(headers.get_all(header::AUTHORIZATION).iter().count() <= 1);
        }
        Ok(None) => {}
        Err(refused) => assert_eq!(refused.to_string(), "two_keys"),
    }
    let codings = headers.get_all(header::TRANSFER_ENCODING).iter().count();
    assert!(codings <= 1 || !fuzzing::is_framing_sound(&headers));
    if !headers.contains_key(header::ACCEPT) {
        assert_eq!(fuzzing::accepted_types(&headers), (true, true));
    }
    if let Some(host) = headers.get(header::HOST).and_then(fuzzing::host) {
        assert!(!host.is_empty() && !host.contains(['/', '@', '?', '#']), "{host:?}");
    }
    // Refused or understood; the limits of lists are checked where they are read.
    let _ = by_headers(&headers);
    check_trace(&headers);
    check_sentinel(&headers);
    check_websocket_key(headers);
}

fn header_map(data: &[u8]) -> HeaderMap {
    let lines = data.split(|byte| *byte == b'\n').take(64);
    let pairs = lines.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        Some((name, value))
    });
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, value);
    }
    headers
}

/// What a trace says is said again in the same words.
fn check_trace(headers: &HeaderMap) {
    let Some(trace) = mcp::read_trace(headers) else { return };
    let mut written = HeaderMap::new();
    mcp::write_trace(&mut written, &trace);
    assert_eq!(mcp::read_trace(&written), Some(trace));
}

/// Any text survives a header, and matches the body that it mirrors.
fn check_sentinel(headers: &HeaderMap) {
    for value in headers.values() {
        let Some(text) = mcp::decode(value) else { continue };
        let encoded = mcp::encode(&text);
        assert_eq!(mcp::decode(&encoded).as_deref(), Some(&*text));
        let body = tollgate_core::json::raw_string(&text);
        let body: &RawValue = &body;
        assert!(mcp::matches(&encoded, body), "{text:?}");
    }
}

/// A key that was brought from a sub-protocol or a query stands in `authorization` alone, and is not logged. The path is in a
/// header `path`.
fn check_websocket_key(mut headers: HeaderMap) {
    headers.entry(header::SEC_WEBSOCKET_KEY).or_insert(HeaderValue::from_static("nonce"));
    let path = headers.remove("path");
    let path = path.as_ref().and_then(|path| path.to_str().ok()).unwrap_or("/v1/realtime");
    let before = headers.get(header::AUTHORIZATION).cloned();
    let Ok((path, headers)) = fuzzing::bring_websocket_key(path, headers) else { return };
    let Some(brought) = headers.get(header::AUTHORIZATION) else { return };
    if before.as_ref() == Some(brought) {
        return;
    }
    assert!(before.is_none() && brought.is_sensitive(), "{before:?} became {brought:?}");
    let key = brought.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
    let key = key.expect("it is text");
    let mut offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let is_left = |value: &HeaderValue| value.to_str().is_ok_and(|value| value.contains(key));
    assert!(key.is_empty() || !offered.any(is_left), "{key:?} is left in a sub-protocol");
    if path.starts_with("/ws/google.ai.") {
        let query = path.split_once('?').map_or("", |(_, query)| query);
        assert!(!query.split('&').any(|pair| pair.starts_with("key=")), "left in {path}");
    }
}
