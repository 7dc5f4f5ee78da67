//! The head of a provider's response: whether an answer follows, and if not, what it says instead.

use std::time::SystemTime;

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, Response, StatusCode, header};
use hyper::body::Incoming;
use tollgate_mcp::web::body::{self, Unread};

use super::ask_error::AskError;
use super::hint::{self, Hint};
use super::label::Label;
use super::verdict;
use crate::format::{Fault, Format, Reported};

/// Errors are short; of a longer one the beginning is not worth waiting for.
const ERROR_LIMIT: usize = 64 << 10;

/// What an answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Json,
    Events,
    /// Either of the two.
    Any,
}

/// The response, if an answer follows.
pub(super) async fn opened(
    response: Response<Incoming>,
    (format, label): (&dyn Format, &Label),
    (expected, wall): (Expected, SystemTime),
) -> Result<Response<Incoming>, AskError> {
    if response.status() == StatusCode::OK {
        return match fault_of(response.headers(), expected) {
            None => Ok(response),
            Some(fault) => Err(verdict::nonsense(label, &fault)),
        };
    }
    let (parts, body) = response.into_parts();
    if parts.status.is_client_error() || parts.status.is_server_error() {
        return Err(refused((&parts, body), format, wall).await.judged(label));
    }
    Err(verdict::nonsense(label, &strange(parts.status)))
}

/// All of an answer.
pub(super) async fn whole(
    response: Response<Incoming>,
    limit: usize,
    label: &Label,
) -> Result<Bytes, AskError> {
    let bytes = body::whole(response.into_body(), limit).await;
    bytes.map_err(|unread| match unread {
        Unread::TooLarge { limit } => {
            let what = format!("gives an answer that is larger than {limit} bytes");
            verdict::nonsense(label, &what)
        }
        Unread::Broken(why) => verdict::broke_off(label, &why),
    })
}

/// Some who pass others' models on say an error with the status of an answer.
pub(super) fn said_instead(body: &[u8], format: &dyn Format, label: &Label) -> AskError {
    let reported = format.read_error(StatusCode::OK.as_u16(), body);
    verdict::reported(label, &reported, (Some(StatusCode::OK), Hint::default()))
}

/// What is wrong with the headers of a response that says that all is well.
fn fault_of(headers: &HeaderMap, expected: Expected) -> Option<String> {
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    if let Some(encoding) = encoding.filter(|it| !it.eq_ignore_ascii_case("identity")) {
        return Some(format!("answers encoded as `{encoding}`, which it was not asked for"));
    }
    let fits = match (kind(headers), expected) {
        (ContentKind::Unsaid, _) => true,
        (ContentKind::Json, expected) => expected != Expected::Events,
        (ContentKind::Events, expected) => expected != Expected::Json,
        (ContentKind::Other, _) => false,
    };
    let wanted = match expected {
        Expected::Json => "JSON",
        Expected::Events => "events",
        Expected::Any => "JSON or events",
    };
    let stated = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let stated = stated.unwrap_or("something unreadable");
    (!fits).then(|| format!("answers with `{stated}` instead of {wanted}: check its `base_url`"))
}

/// A status that is neither an answer nor an error.
fn strange(status: StatusCode) -> String {
    match status.is_redirection() {
        true => format!("wants to redirect (HTTP {}): check its `base_url`", status.as_u16()),
        false => format!("answers with HTTP {} and no answer", status.as_u16()),
    }
}

enum ContentKind {
    Unsaid,
    Json,
    Events,
    Other,
}

fn kind(headers: &HeaderMap) -> ContentKind {
    let Some(stated) = headers.get(header::CONTENT_TYPE) else { return ContentKind::Unsaid };
    let stated = stated.to_str().unwrap_or_default();
    let essence = stated.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/json" => ContentKind::Json,
        "text/event-stream" => ContentKind::Events,
        other if other.ends_with("+json") => ContentKind::Json,
        _ => ContentKind::Other,
    }
}

/// An error that a provider answered with.
pub(super) struct Refused {
    pub(super) body: Bytes,
    status: StatusCode,
    reported: Reported,
    hint: Hint,
    is_json: bool,
}

/// Reads it. A body that breaks off, or is too long, is as good as none.
pub(super) async fn refused(
    (parts, body): (&Parts, Incoming),
    format: &dyn Format,
    wall: SystemTime,
) -> Refused {
    let body = body::whole(body, ERROR_LIMIT).await.unwrap_or_default();
    let is_json = matches!(kind(&parts.headers), ContentKind::Json) && !body.is_empty();
    let mut reported = format.read_error(parts.status.as_u16(), &body);
    if matches!(parts.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        reported.fault = Fault::Key;
    }
    let hint = hint::read(&parts.headers, wall);
    Refused { body, status: parts.status, reported, hint, is_json }
}

impl Refused {
    /// Whether a client who speaks the provider's dialect may read it as it is.
    pub(super) fn may_be_passed(&self, label: &Label) -> bool {
        self.is_json && self.reported.fault != Fault::Key && !label.is_betrayed_by(&self.body)
    }

    pub(super) fn judged(&self, label: &Label) -> AskError {
        verdict::reported(label, &self.reported, (Some(self.status), self.hint))
    }
}
