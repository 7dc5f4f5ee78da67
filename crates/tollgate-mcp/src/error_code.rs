//! JSON-RPC and MCP error codes, and the error object that carries them.

use serde_json::value::RawValue;
use tollgate_core::json::Object;

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;
/// Legacy only; modern revisions use `INVALID_PARAMS`.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// Legacy only: the user has to visit a URL first.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
pub const HEADER_MISMATCH: i64 = -32020;
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// The code as a metric label, if it is a standard one. Servers may invent others, even one per
/// answer, so those get no label.
pub fn code_label(code: i64) -> Option<&'static str> {
    Some(match code {
        PARSE_ERROR => "-32700",
        INVALID_REQUEST => "-32600",
        METHOD_NOT_FOUND => "-32601",
        INVALID_PARAMS => "-32602",
        INTERNAL_ERROR => "-32603",
        RESOURCE_NOT_FOUND => "-32002",
        URL_ELICITATION_REQUIRED => "-32042",
        HEADER_MISMATCH => "-32020",
        MISSING_CLIENT_CAPABILITY => "-32021",
        UNSUPPORTED_VERSION => "-32022",
        _ => return None,
    })
}

/// The `error` of a JSON-RPC response. `data` is kept raw.
#[derive(Debug, Clone)]
pub struct JsonRpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Box<RawValue>>,
}

impl JsonRpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn with_data(mut self, data: Box<RawValue>) -> Self {
        self.data = Some(data);
        self
    }

    /// Lenient: even a malformed error of a server is reported.
    pub fn parse(raw: &RawValue) -> Self {
        let Ok(object) = Object::parse(raw.get()) else {
            return Self::new(INTERNAL_ERROR, "the server reported an error in an unknown form");
        };
        let code = object.get("code").and_then(|code| code.get().parse().ok());
        Self {
            code: code.unwrap_or(INTERNAL_ERROR),
            message: object.string("message").unwrap_or_default().into_owned(),
            data: object.get("data").map(ToOwned::to_owned),
        }
    }

    pub fn to_raw(&self) -> Box<RawValue> {
        let mut object = Object::new();
        object.set("code", tollgate_core::json::raw(self.code.to_string()));
        object.set_string("message", &self.message);
        if let Some(data) = &self.data {
            object.set("data", data.clone());
        }
        object.to_raw()
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER_MISMATCH, METHOD_NOT_FOUND, code_label};

    #[test]
    fn codes_that_everybody_knows_are_told_in_figures() {
        for code in [METHOD_NOT_FOUND, HEADER_MISMATCH] {
            assert_eq!(code_label(code), Some(code.to_string().as_str()));
        }
        assert_eq!((code_label(0), code_label(1_700_000_000)), (None, None));
    }
}
