//! JSON-RPC envelopes: only the envelope is parsed, the payload stays raw.
//!
//! Every external message passes through [`JsonRpcMessage::parse`], so that duplicate and
//! look-alike keys are rejected on every transport and for every revision.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;
use tollgate_core::json::{self, JsonBounds, MalformedJsonError, Object};

use crate::error_code::{self, JsonRpcError};

/// One message, borrowed from its text.
#[derive(Debug)]
pub enum JsonRpcMessage<'a> {
    Request(JsonRpcRequest<'a>),
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// A result or an error for our request. `id` is `None` if the peer could not parse it.
    Response {
        id: Option<JsonRpcId>,
        outcome: Result<&'a RawValue, JsonRpcError>,
    },
}

#[derive(Debug)]
pub struct JsonRpcRequest<'a> {
    pub id: JsonRpcId,
    pub method: Cow<'a, str>,
    pub params: Option<&'a RawValue>,
}

/// A request id: a string or an integer, kept as written (`1` is not `"1"`).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct JsonRpcId(Box<str>);

impl JsonRpcId {
    const MAX_BYTES: usize = 1024;

    pub fn number(number: u64) -> Self {
        Self(number.to_string().into())
    }

    /// The JSON text of the id.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    pub fn to_raw(&self) -> Box<RawValue> {
        json::raw(self.0.to_string())
    }

    /// Parses an id of a message or of a notification's `requestId`.
    pub fn parse(raw: &RawValue) -> Result<Self, InvalidMessageError> {
        let text = raw.get();
        let is_string = text.starts_with('"');
        let is_integer = text.parse::<i64>().is_ok() && text != "-0";
        if text.len() > Self::MAX_BYTES || !(is_string || is_integer) {
            return Err(InvalidMessageError::request(
                "`id` must be a string or an integer of reasonable size",
            ));
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Debug for JsonRpcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for JsonRpcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An invalid message. Carries the id if it could be parsed, so that it can be answered.
#[derive(Debug)]
pub struct InvalidMessageError {
    pub id: Option<JsonRpcId>,
    pub error: JsonRpcError,
}

impl InvalidMessageError {
    fn request(message: impl Into<String>) -> Self {
        Self { id: None, error: JsonRpcError::new(error_code::INVALID_REQUEST, message) }
    }

    fn not_json(error: &MalformedJsonError) -> Self {
        let code = match error {
            MalformedJsonError::Duplicate { .. }
            | MalformedJsonError::NotThis(_)
            | MalformedJsonError::OutOfBounds(_) => error_code::INVALID_REQUEST,
            MalformedJsonError::Syntax(_) | MalformedJsonError::NotUtf8 { .. } => {
                error_code::PARSE_ERROR
            }
        };
        Self {
            id: None,
            error: JsonRpcError::new(code, format!("not a JSON-RPC message: {error}")),
        }
    }
}

const ENVELOPE_KEYS: &[&str] = &["jsonrpc", "id", "method", "params", "result", "error"];

impl<'a> JsonRpcMessage<'a> {
    pub fn parse(text: &'a str) -> Result<Self, InvalidMessageError> {
        let fields: EnvelopeFields<'a> = EnvelopeFields::read(text)?;
        let id = match fields.id {
            None => None,
            Some(raw) if raw.get() == "null" => None,
            Some(raw) => Some(JsonRpcId::parse(raw)?),
        };
        let refuse = |message: &str| InvalidMessageError {
            id: id.clone(),
            ..InvalidMessageError::request(message)
        };
        if fields.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
            return Err(refuse("`jsonrpc` must be \"2.0\""));
        }
        if let Some(method) = fields.method {
            if fields.result.is_some() || fields.error.is_some() {
                return Err(refuse("a request has no `result` and no `error`"));
            }
            let method = json::string(method).filter(|name| is_method(name));
            let method = method.ok_or_else(|| refuse("`method` must be a short name"))?;
            if fields.params.is_some_and(|params| !params.get().starts_with('{')) {
                let error =
                    JsonRpcError::new(error_code::INVALID_PARAMS, "`params` must be an object");
                return Err(InvalidMessageError { id, error });
            }
            return match (id, fields.id) {
                (Some(id), _) => {
                    Ok(Self::Request(JsonRpcRequest { id, method, params: fields.params }))
                }
                (None, None) => Ok(Self::Notification { method, params: fields.params }),
                (None, Some(_)) => Err(InvalidMessageError::request("`id` must not be null")),
            };
        }
        match (fields.result, fields.error) {
            (Some(result), None) => Ok(Self::Response { id, outcome: Ok(result) }),
            (None, Some(error)) => {
                Ok(Self::Response { id, outcome: Err(JsonRpcError::parse(error)) })
            }
            (Some(_), Some(_)) => Err(refuse("an answer has either `result` or `error`")),
            (None, None) => Err(refuse("`method` is missing")),
        }
    }

    /// Parses a message of a server, which has not been measured yet.
    pub(crate) fn parse_unmeasured(bytes: &'a [u8]) -> Result<Self, InvalidMessageError> {
        // Deep nesting is handled by result shaping.
        let bounds = JsonBounds { depth: usize::MAX, ..JsonBounds::default() };
        // A text has no more values than bytes.
        if bytes.len() > bounds.values {
            bounds.check(bytes).map_err(|error| InvalidMessageError::not_json(&error.into()))?;
        }
        Self::parse_bytes(bytes)
    }

    pub fn parse_bytes(bytes: &'a [u8]) -> Result<Self, InvalidMessageError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let message = format!("invalid UTF-8 at byte {}", error.valid_up_to());
            InvalidMessageError {
                id: None,
                error: JsonRpcError::new(error_code::PARSE_ERROR, message),
            }
        })?;
        Self::parse(text)
    }
}

fn is_method(name: &str) -> bool {
    !name.is_empty() && name.len() <= 256 && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The envelope's fields with the lifetime of the text, which `Object::get` does not give.
#[derive(Default)]
struct EnvelopeFields<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl<'a> EnvelopeFields<'a> {
    fn read(text: &'a str) -> Result<Self, InvalidMessageError> {
        let object = Object::parse(text).map_err(|error| InvalidMessageError::not_json(&error))?;
        if let Some(key) = object.twin_of(ENVELOPE_KEYS) {
            return Err(InvalidMessageError::request(format!(
                "a key imitates `{key}` with look-alike characters"
            )));
        }
        let mut fields = Self::default();
        for (key, value) in object.into_borrowed() {
            match &*key {
                "jsonrpc" => fields.jsonrpc = Some(value),
                "id" => fields.id = Some(value),
                "method" => fields.method = Some(value),
                "params" => fields.params = Some(value),
                "result" => fields.result = Some(value),
                "error" => fields.error = Some(value),
                _ => {}
            }
        }
        Ok(fields)
    }
}

/// Serializes messages. Payloads are inserted unchanged.
pub mod write {
    use super::{JsonRpcError, JsonRpcId, json};

    pub fn request(id: &JsonRpcId, method: &str, params: &str) -> String {
        let mut out = String::with_capacity(params.len() + method.len() + 64);
        out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
        out.push_str(id.as_json());
        push_method(&mut out, method, params);
        out
    }

    pub fn notification(method: &str, params: &str) -> String {
        let mut out = String::with_capacity(params.len() + method.len() + 48);
        out.push_str("{\"jsonrpc\":\"2.0\"");
        push_method(&mut out, method, params);
        out
    }

    pub fn result(id: &JsonRpcId, result: &str) -> String {
        let mut out = String::with_capacity(result.len() + 48);
        out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
        out.push_str(id.as_json());
        out.push_str(",\"result\":");
        out.push_str(result);
        out.push('}');
        out
    }

    /// `None` answers a message whose id could not be parsed.
    pub fn error(id: Option<&JsonRpcId>, error: &JsonRpcError) -> String {
        let id = id.map_or("null", JsonRpcId::as_json);
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.to_raw())
    }

    /// An error whose request could not be told apart has no `id`: `null` is none in MCP.
    pub fn error_to_client(id: Option<&JsonRpcId>, error: &JsonRpcError) -> String {
        let id = id.map(|id| format!("\"id\":{},", id.as_json())).unwrap_or_default();
        format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{}}}", error.to_raw())
    }

    fn push_method(out: &mut String, method: &str, params: &str) {
        out.push_str(",\"method\":");
        json::push_string(out, method);
        out.push_str(",\"params\":");
        out.push_str(params);
        out.push('}');
    }
}

#[cfg(test)]
mod tests;
