//! What the gate refuses or cannot do, in the words of each front: the HTTP status, the JSON-RPC
//! code of each protocol era, the outcome of the plain API. The only place that translates them;
//! `docs/errors.md` lists what stands here.

use http::StatusCode;
use serde_json::json;
use tollgate_core::call::{Kind, Status};
use tollgate_core::json;
use tollgate_core::lease::Revoked;
use tollgate_core::policy::Refusal;
use tollgate_core::view::BadCursor;
use tollgate_engine::caller::CallError;
use tollgate_engine::gate::UnknownAgent;
use tollgate_mcp::Era;
use tollgate_mcp::code::{self, ErrorObject};

use crate::problem::Problem;

/// A JSON-RPC error, and the HTTP status it travels under.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) error: ErrorObject,
}

impl Refused {
    pub(crate) fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Self { status, error: ErrorObject::new(code, message) }
    }

    /// Under the status that the era prescribes for the code.
    pub(crate) fn in_era(era: Era, error: ErrorObject) -> Self {
        let status = match (era, error.code) {
            (Era::Modern, code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
            (
                Era::Modern,
                code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION,
            ) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        };
        Self { status, error }
    }

    pub(crate) fn bad_params(message: impl Into<String>) -> Self {
        Self::new(StatusCode::OK, code::INVALID_PARAMS, message)
    }

    /// A request that is not one, whatever it asks for.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, message)
    }

    /// What let the caller in was taken away.
    pub(crate) fn revoked(why: &Revoked) -> Self {
        let data = json::raw_value(&json!({"reason": "revoked"}));
        let error = ErrorObject::new(code::INVALID_REQUEST, format!("stopped: {why}"));
        Self { status: StatusCode::UNAUTHORIZED, error: error.with_data(data) }
    }

    pub(crate) fn unknown_method(era: Era, method: &str) -> Self {
        let message = format!("there is no method `{method}`");
        Self::in_era(era, ErrorObject::new(code::METHOD_NOT_FOUND, message))
    }
}

impl From<UnknownAgent> for Refused {
    fn from(error: UnknownAgent) -> Self {
        Self::new(StatusCode::NOT_FOUND, code::INVALID_PARAMS, error.to_string())
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self { status: problem.status, error: problem.json_rpc() }
    }
}

impl From<BadCursor> for Refused {
    fn from(error: BadCursor) -> Self {
        Self::bad_params(error.to_string())
    }
}

/// How an MCP client is told.
#[derive(Debug)]
pub(crate) enum Told {
    Error(Refused),
    /// A tool result with `isError`: the model can make something of it.
    Failure(String),
}

pub(crate) fn call_error(era: Era, kind: Kind, error: CallError) -> Told {
    let message = error.to_string();
    let of = |code| Told::Error(Refused::in_era(era, ErrorObject::new(code, message.clone())));
    match error {
        CallError::Refused(refusal) => refused(era, &refusal, message),
        CallError::NoTimeLeft(_) if kind == Kind::CallTool => Told::Failure(message),
        CallError::Exceeded(_) if kind == Kind::CallTool => Told::Failure(message),
        CallError::NoTimeLeft(_) | CallError::Unanswered { .. } | CallError::Exceeded(_) => {
            of(code::INTERNAL_ERROR)
        }
        CallError::Upstream(error) => Told::Error(Refused::in_era(era, upstream(era, kind, error))),
        CallError::MissingCapability { required, .. } => match (era, kind) {
            (Era::Modern, _) => {
                let data = json::raw(format!("{{\"requiredCapabilities\":{required}}}"));
                let error = ErrorObject::new(code::MISSING_CLIENT_CAPABILITY, message);
                Told::Error(Refused::in_era(era, error.with_data(data)))
            }
            (Era::Legacy, Kind::CallTool) => Told::Failure(message),
            (Era::Legacy, _) => of(code::INVALID_REQUEST),
        },
        CallError::BadState(_) => of(code::INVALID_PARAMS),
        CallError::Revoked(why) => Told::Error(Refused::revoked(&why)),
    }
}

fn refused(era: Era, refusal: &Refusal, message: String) -> Told {
    match refusal {
        Refusal::UnknownResource { uri } => {
            let code = match era {
                Era::Modern => code::INVALID_PARAMS,
                Era::Legacy => code::RESOURCE_NOT_FOUND,
            };
            let data = json::raw_value(&json!({ "uri": uri }));
            Told::Error(Refused::in_era(era, ErrorObject::new(code, message).with_data(data)))
        }
        Refusal::InvalidArguments { .. }
        | Refusal::Away { .. }
        | Refusal::Withheld { .. }
        | Refusal::OnlyInCode { .. } => Told::Failure(message),
        Refusal::UnknownTool { .. }
        | Refusal::UnknownPrompt { .. }
        | Refusal::UnknownTask
        | Refusal::Secretive
        | Refusal::BadParams(_) => Told::Error(Refused::bad_params(message)),
    }
}

/// A server's own error in the codes of the client's era. Codes that speak of our connection to
/// the server are not the client's concern.
fn upstream(era: Era, kind: Kind, error: ErrorObject) -> ErrorObject {
    let code = match (era, error.code) {
        (_, code::HEADER_MISMATCH | code::UNSUPPORTED_VERSION)
        | (Era::Legacy, code::MISSING_CLIENT_CAPABILITY)
        | (Era::Modern, code::URL_ELICITATION_REQUIRED) => code::INTERNAL_ERROR,
        (Era::Modern, code::RESOURCE_NOT_FOUND) => code::INVALID_PARAMS,
        (Era::Legacy, code::INVALID_PARAMS) if kind == Kind::ReadResource => {
            code::RESOURCE_NOT_FOUND
        }
        (_, code) => code,
    };
    ErrorObject { code, ..error }
}

/// How a client of the plain API is told: as an outcome, or as an HTTP error.
#[derive(Debug)]
pub(crate) enum Plain {
    Outcome { status: Status, message: String },
    Problem(Problem),
}

pub(crate) fn plain(error: &CallError) -> Plain {
    let message = error.to_string();
    match error {
        CallError::Refused(Refusal::BadParams(_)) => {
            Plain::Problem(Problem::told(StatusCode::BAD_REQUEST, "bad_params", message))
        }
        CallError::Revoked(why) => Plain::Problem(Problem::revoked(why)),
        error => Plain::Outcome { status: error.status(), message },
    }
}

#[cfg(test)]
mod tests;
