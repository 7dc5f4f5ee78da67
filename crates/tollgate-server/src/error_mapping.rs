//! Maps errors of the gate to each front: HTTP status, JSON-RPC code of each protocol era, outcome
//! of the REST API. This is the only place that does.
//!
//! `docs/errors.md` lists these mappings.

use http::StatusCode;
use serde_json::json;
use tollgate_core::call::{CallStatus, RequestKind};
use tollgate_core::json;
use tollgate_core::lease::RevokedError;
use tollgate_core::policy::PermitError;
use tollgate_core::view::InvalidCursorError;
use tollgate_engine::caller::CallError;
use tollgate_engine::gate::UnknownAgentError;
use tollgate_mcp::Era;
use tollgate_mcp::error_code::{self, JsonRpcError};

use crate::api_error::ApiError;

/// A JSON-RPC error and its HTTP status.
#[derive(Debug)]
pub(crate) struct McpRequestError {
    pub(crate) status: StatusCode,
    pub(crate) error: JsonRpcError,
}

impl McpRequestError {
    pub(crate) fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Self { status, error: JsonRpcError::new(code, message) }
    }

    /// With the status that the era prescribes for the code.
    pub(crate) fn in_era(era: Era, error: JsonRpcError) -> Self {
        let status = match (era, error.code) {
            (Era::Modern, error_code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
            (
                Era::Modern,
                error_code::HEADER_MISMATCH
                | error_code::MISSING_CLIENT_CAPABILITY
                | error_code::UNSUPPORTED_VERSION,
            ) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        };
        Self { status, error }
    }

    pub(crate) fn bad_params(message: impl Into<String>) -> Self {
        Self::new(StatusCode::OK, error_code::INVALID_PARAMS, message)
    }

    /// A malformed request.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error_code::INVALID_REQUEST, message)
    }

    /// The caller's credential was revoked.
    pub(crate) fn from_revocation(why: &RevokedError) -> Self {
        let data = json::raw_value(&json!({"reason": "revoked"}));
        let error = JsonRpcError::new(error_code::INVALID_REQUEST, format!("stopped: {why}"));
        Self { status: StatusCode::UNAUTHORIZED, error: error.with_data(data) }
    }

    pub(crate) fn unknown_method(era: Era, method: &str) -> Self {
        let message = format!("there is no method `{method}`");
        Self::in_era(era, JsonRpcError::new(error_code::METHOD_NOT_FOUND, message))
    }
}

impl From<UnknownAgentError> for McpRequestError {
    fn from(error: UnknownAgentError) -> Self {
        Self::new(StatusCode::NOT_FOUND, error_code::INVALID_PARAMS, error.to_string())
    }
}

impl From<ApiError> for McpRequestError {
    fn from(problem: ApiError) -> Self {
        Self { status: problem.status, error: problem.json_rpc() }
    }
}

impl From<InvalidCursorError> for McpRequestError {
    fn from(error: InvalidCursorError) -> Self {
        Self::bad_params(error.to_string())
    }
}

/// How an error is reported to an MCP client.
#[derive(Debug)]
pub(crate) enum McpErrorReply {
    Error(McpRequestError),
    /// A tool result with `isError`, which the model can read.
    Failure(String),
}

pub(crate) fn call_error(era: Era, kind: RequestKind, error: CallError) -> McpErrorReply {
    let message = error.to_string();
    let of = |code| {
        McpErrorReply::Error(McpRequestError::in_era(era, JsonRpcError::new(code, message.clone())))
    };
    match error {
        CallError::Refused(refusal) => map_refusal(era, &refusal, message),
        CallError::NoTimeLeft(_) if kind == RequestKind::CallTool => {
            McpErrorReply::Failure(message)
        }
        CallError::Exceeded(_) if kind == RequestKind::CallTool => McpErrorReply::Failure(message),
        CallError::NoTimeLeft(_) | CallError::Unanswered { .. } | CallError::Exceeded(_) => {
            of(error_code::INTERNAL_ERROR)
        }
        CallError::Upstream(error) => {
            McpErrorReply::Error(McpRequestError::in_era(era, upstream(era, kind, error)))
        }
        CallError::MissingCapability { required, .. } => match (era, kind) {
            (Era::Modern, _) => {
                let data = json::raw(format!("{{\"requiredCapabilities\":{required}}}"));
                let error = JsonRpcError::new(error_code::MISSING_CLIENT_CAPABILITY, message);
                McpErrorReply::Error(McpRequestError::in_era(era, error.with_data(data)))
            }
            (Era::Legacy, RequestKind::CallTool) => McpErrorReply::Failure(message),
            (Era::Legacy, _) => of(error_code::INVALID_REQUEST),
        },
        CallError::BadState(_) => of(error_code::INVALID_PARAMS),
        CallError::Revoked(why) => McpErrorReply::Error(McpRequestError::from_revocation(&why)),
    }
}

fn map_refusal(era: Era, refusal: &PermitError, message: String) -> McpErrorReply {
    match refusal {
        PermitError::UnknownResource { uri } => {
            let code = match era {
                Era::Modern => error_code::INVALID_PARAMS,
                Era::Legacy => error_code::RESOURCE_NOT_FOUND,
            };
            let data = json::raw_value(&json!({ "uri": uri }));
            McpErrorReply::Error(McpRequestError::in_era(
                era,
                JsonRpcError::new(code, message).with_data(data),
            ))
        }
        PermitError::InvalidArguments { .. }
        | PermitError::Away { .. }
        | PermitError::Withheld { .. }
        | PermitError::OnlyInCode { .. } => McpErrorReply::Failure(message),
        PermitError::UnknownTool { .. }
        | PermitError::UnknownPrompt { .. }
        | PermitError::UnknownTask
        | PermitError::ContainsSecrets
        | PermitError::BadParams(_) => McpErrorReply::Error(McpRequestError::bad_params(message)),
    }
}

/// An upstream server's error in the codes of the client's era. Codes about our connection to the
/// server are replaced, because they mean nothing to the client.
fn upstream(era: Era, kind: RequestKind, error: JsonRpcError) -> JsonRpcError {
    let code = match (era, error.code) {
        (_, error_code::HEADER_MISMATCH | error_code::UNSUPPORTED_VERSION)
        | (Era::Legacy, error_code::MISSING_CLIENT_CAPABILITY)
        | (Era::Modern, error_code::URL_ELICITATION_REQUIRED) => error_code::INTERNAL_ERROR,
        (Era::Modern, error_code::RESOURCE_NOT_FOUND) => error_code::INVALID_PARAMS,
        (Era::Legacy, error_code::INVALID_PARAMS) if kind == RequestKind::ReadResource => {
            error_code::RESOURCE_NOT_FOUND
        }
        (_, code) => code,
    };
    JsonRpcError { code, ..error }
}

impl From<UnknownAgentError> for ApiError {
    fn from(unknown: UnknownAgentError) -> Self {
        Self::with_detail(StatusCode::NOT_FOUND, "unknown_agent", unknown.to_string())
    }
}

/// How a client of the plain API is told: as an outcome, or as an HTTP error.
#[derive(Debug)]
pub(crate) enum RestErrorReply {
    Outcome { status: CallStatus, message: String },
    Problem(ApiError),
}

pub(crate) fn rest_reply(error: &CallError) -> RestErrorReply {
    let message = error.to_string();
    match error {
        CallError::Refused(PermitError::BadParams(_)) => RestErrorReply::Problem(
            ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_params", message),
        ),
        CallError::Revoked(why) => RestErrorReply::Problem(ApiError::from_revocation(why)),
        error => RestErrorReply::Outcome { status: error.status(), message },
    }
}

#[cfg(test)]
mod tests;
