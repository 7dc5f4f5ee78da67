//! Checks that the headers of modern HTTP requests agree with the body. They repeat parts of it so
//! that proxies can route. If they differ, a proxy saw another request than we do.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use tollgate_core::json::{self, Object};
use tollgate_core::tool::Tool;
use tollgate_mcp::error_code;
use tollgate_mcp::header;

use crate::error_mapping::McpRequestError;

/// Checks the version header against the body's `_meta`.
pub(super) fn check_version(headers: &HeaderMap, revision: &str) -> Result<(), McpRequestError> {
    let name = &header::PROTOCOL_VERSION;
    let value = single(headers, name)?.ok_or_else(|| missing(name))?;
    if value.as_bytes() == revision.as_bytes() { Ok(()) } else { Err(mismatch(name)) }
}

/// Checks `Mcp-Method`, and `Mcp-Name` for the methods that have one.
pub(super) fn check_standard(
    headers: &HeaderMap,
    method: &str,
    params: &Object<'_>,
) -> Result<(), McpRequestError> {
    let value = single(headers, &header::METHOD)?.ok_or_else(|| missing(&header::METHOD))?;
    if value.as_bytes() != method.as_bytes() {
        return Err(mismatch(&header::METHOD));
    }
    // A missing field in the body is refused later.
    let Some(named) = header::named_by(method).and_then(|key| params.get(key)) else {
        return Ok(());
    };
    let value = single(headers, &header::NAME)?.ok_or_else(|| missing(&header::NAME))?;
    if header::matches(value, named) { Ok(()) } else { Err(mismatch(&header::NAME)) }
}

/// Checks `Mcp-Param-*` for the arguments that the tool's schema marks.
pub(super) fn check_mirrored(
    headers: &HeaderMap,
    tool: &Tool,
    params: &Object<'_>,
) -> Result<(), McpRequestError> {
    if tool.definition.headers.is_empty() {
        return Ok(());
    }
    // Invalid arguments are refused later.
    let arguments = params.get("arguments").and_then(|raw| json::value(raw.get()).ok());
    for parameter in &tool.definition.headers {
        let Some(name) = header::param(&parameter.header) else { continue };
        let value = arguments.as_ref().and_then(|all| all.pointer(&parameter.pointer));
        match (value.filter(|value| !value.is_null()), single(headers, &name)?) {
            (None, None) => {}
            (Some(_), None) => return Err(missing(&name)),
            (Some(value), Some(given)) if agrees(given, &json::raw_value(value)) => {}
            (_, Some(_)) => return Err(mismatch(&name)),
        }
    }
    Ok(())
}

fn agrees(given: &HeaderValue, value: &RawValue) -> bool {
    header::matches(given, value)
}

fn single<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h HeaderValue>, McpRequestError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (first, None) => Ok(first),
        (_, Some(_)) => Err(header_error(format!("header `{name}` appears twice"))),
    }
}

fn missing(name: &HeaderName) -> McpRequestError {
    header_error(format!("header `{name}` is missing"))
}

fn mismatch(name: &HeaderName) -> McpRequestError {
    header_error(format!("header `{name}` differs from the body"))
}

fn header_error(message: String) -> McpRequestError {
    McpRequestError::new(StatusCode::BAD_REQUEST, error_code::HEADER_MISMATCH, message)
}

#[cfg(test)]
mod tests;
