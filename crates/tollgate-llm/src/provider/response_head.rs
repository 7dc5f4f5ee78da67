//! Checks the head of a provider's response: success, or an error that is decoded.

use std::time::SystemTime;

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, Response, StatusCode, header};
use hyper::body::Incoming;
use serde_json::Value;
use tollgate_mcp::web::body::{self, BodyReadError};

use super::ask_error::AskError;
use super::aws_error;
use super::error_mapping;
use super::label::ModelLabel;
use super::retry_hint::{self, RetryHint};
use crate::dialect::Dialect;
use crate::format::{self, DialectCodec, ProviderErrorReport, ProviderFault};
use crate::settings::CloudSettings;

/// Errors are short; a longer body is ignored.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Expected content type of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedBody {
    Json,
    Events,
    /// The binary event stream of AWS.
    AwsEvents,
    /// Sound, a transcript in any form, or events; but no web page.
    Media,
}

/// How a provider reports errors.
#[derive(Clone, Copy)]
pub(super) enum ErrorFormat {
    Dialect(&'static dyn DialectCodec),
    /// Of Google, or in the dialect of the model.
    Vertex(&'static dyn DialectCodec),
    Bedrock(&'static dyn DialectCodec),
}

impl ErrorFormat {
    pub(super) fn new(cloud: Option<&CloudSettings>, dialect: &'static dyn DialectCodec) -> Self {
        match cloud {
            Some(CloudSettings::Vertex(_)) => Self::Vertex(dialect),
            Some(CloudSettings::Bedrock(_)) => Self::Bedrock(dialect),
            Some(CloudSettings::Azure(_)) | None => Self::Dialect(dialect),
        }
    }

    fn read(self, parts: &Parts, body: &[u8]) -> ProviderErrorReport {
        let status = parts.status.as_u16();
        match self {
            Self::Dialect(dialect) => dialect.read_error(status, body),
            Self::Bedrock(dialect) => aws_error::read(status, &parts.headers, body, dialect),
            Self::Vertex(dialect) => {
                let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
                let in_dialect = parsed["error"]["type"].is_string();
                let google = format::of(Dialect::Gemini);
                if in_dialect { dialect } else { google }.read_error(status, body)
            }
        }
    }
}

/// Returns the response if it is successful.
pub(super) async fn check_head(
    response: Response<Incoming>,
    errors: ErrorFormat,
    label: &ModelLabel,
    expected: ExpectedBody,
    wall: SystemTime,
) -> Result<Response<Incoming>, AskError> {
    if response.status() == StatusCode::OK {
        return match fault_of(response.headers(), expected) {
            None => Ok(response),
            Some(fault) => Err(error_mapping::invalid_response_error(label, &fault)),
        };
    }
    let (parts, body) = response.into_parts();
    if parts.status.is_client_error() || parts.status.is_server_error() {
        return Err(read_refusal(&parts, body, errors, wall).await.to_ask_error(label));
    }
    Err(error_mapping::invalid_response_error(label, &strange(parts.status)))
}

/// Reads a complete response body.
pub(super) async fn read_whole(
    body: Incoming,
    limit: usize,
    label: &ModelLabel,
) -> Result<Bytes, AskError> {
    let bytes = body::read_whole(body, limit).await;
    bytes.map_err(|unread| match unread {
        BodyReadError::TooLarge { limit } => {
            let what = format!("sent a response larger than {limit} bytes");
            error_mapping::invalid_response_error(label, &what)
        }
        BodyReadError::NoRoom(_) => error_mapping::no_room_error(label),
        BodyReadError::Broken(why) => error_mapping::disconnect_error(label, &why),
    })
}

/// Some resellers of models send errors with status 200.
pub(super) fn error_in_ok_response(
    body: &[u8],
    format: &dyn DialectCodec,
    label: &ModelLabel,
) -> AskError {
    let reported = format.read_error(StatusCode::OK.as_u16(), body);
    error_mapping::provider_error(label, &reported, Some(StatusCode::OK), RetryHint::default())
}

/// What is wrong with the headers of a response with status 200.
fn fault_of(headers: &HeaderMap, expected: ExpectedBody) -> Option<String> {
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    if let Some(encoding) = encoding.filter(|it| !it.eq_ignore_ascii_case("identity")) {
        return Some(format!("sent a response encoded as `{encoding}`, which was not requested"));
    }
    let fits = match (kind(headers), expected) {
        (BodyContentType::Unsaid, _) => true,
        (BodyContentType::Json, expected) => {
            !matches!(expected, ExpectedBody::Events | ExpectedBody::AwsEvents)
        }
        (BodyContentType::Events, expected) => {
            !matches!(expected, ExpectedBody::Json | ExpectedBody::AwsEvents)
        }
        (BodyContentType::AwsEvents, expected) => expected == ExpectedBody::AwsEvents,
        (BodyContentType::Media, expected) => expected == ExpectedBody::Media,
        (BodyContentType::Other, _) => false,
    };
    let media_type = match expected {
        ExpectedBody::Json => "JSON",
        ExpectedBody::Events => "events",
        ExpectedBody::AwsEvents => "an event stream of AWS",
        ExpectedBody::Media => "sound or text",
    };
    let stated = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let stated = stated.unwrap_or("something unreadable");
    (!fits)
        .then(|| format!("answered with `{stated}` instead of {media_type}: check its `base_url`"))
}

/// A status that is neither success nor error.
fn strange(status: StatusCode) -> String {
    if status.is_redirection() {
        format!("sent a redirect (HTTP {}): check its `base_url`", status.as_u16())
    } else {
        format!("answered with HTTP {} and no content", status.as_u16())
    }
}

enum BodyContentType {
    Unsaid,
    Json,
    Events,
    AwsEvents,
    Media,
    Other,
}

fn kind(headers: &HeaderMap) -> BodyContentType {
    let Some(stated) = headers.get(header::CONTENT_TYPE) else { return BodyContentType::Unsaid };
    let stated = stated.to_str().unwrap_or_default();
    let essence = stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/json" => BodyContentType::Json,
        "text/event-stream" => BodyContentType::Events,
        "application/vnd.amazon.eventstream" => BodyContentType::AwsEvents,
        other if other.ends_with("+json") => BodyContentType::Json,
        "application/octet-stream" | "text/plain" | "text/vtt" | "application/x-subrip" => {
            BodyContentType::Media
        }
        other if other.starts_with("audio/") => BodyContentType::Media,
        _ => BodyContentType::Other,
    }
}

/// An error response of a provider.
pub(super) struct ProviderRefusal {
    pub(super) body: Bytes,
    status: StatusCode,
    reported: ProviderErrorReport,
    hint: RetryHint,
    is_json: bool,
}

/// Reads the error. A truncated or oversized body counts as empty.
pub(super) async fn read_refusal(
    parts: &Parts,
    body: Incoming,
    errors: ErrorFormat,
    wall: SystemTime,
) -> ProviderRefusal {
    let body = body::read_whole(body, MAX_ERROR_BYTES).await.unwrap_or_default();
    let is_json = matches!(kind(&parts.headers), BodyContentType::Json) && !body.is_empty();
    let mut reported = errors.read(parts, &body);
    if matches!(parts.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        reported.fault = ProviderFault::Key;
    }
    let hint = retry_hint::read(&parts.headers, wall);
    ProviderRefusal { body, status: parts.status, reported, hint, is_json }
}

impl ProviderRefusal {
    /// Whether a client that speaks the provider's dialect may see the error unchanged.
    pub(super) fn may_be_passed(&self, label: &ModelLabel) -> bool {
        self.is_json
            && self.reported.fault != ProviderFault::Key
            && !label.has_secret_in(&self.body)
    }

    pub(super) fn to_ask_error(&self, label: &ModelLabel) -> AskError {
        error_mapping::provider_error(label, &self.reported, Some(self.status), self.hint)
    }
}
