//! Reads request bodies under limits: media type, size, timeout and memory budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use tollgate_core::json::JsonBoundsError;
use tollgate_mcp::offload::LARGE;

mod answer_body;
mod budget;
mod drop_guard;
pub(crate) mod json_lines;
mod pace;
mod secret_masking;

pub(crate) use answer_body::on_account;
pub(crate) use budget::{BodyBudget, BodyBudgetError, BodyPermit, SMALL_BODY};
pub(crate) use drop_guard::holding;
use pace::{BodyPace, too_slow};
pub(crate) use secret_masking::{ForwardedResponse, mask_response};

use crate::api_error::ApiError;
use crate::limits::Limits;

/// Part of a refused body that is still read, so that the client receives the refusal.
const DRAINED_BYTES: usize = 64 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(2);
/// Step by which a body of unknown size reserves memory, and that of a sender without a key.
const STEP: usize = 512 << 10;
const STEP_WITHOUT_KEY: usize = 64 << 10;
/// Assumed memory use of a request, as a multiple of its body.
const TIMES_BODY: usize = 4;
/// Bodies up to this size need no reservation, not even for what is parsed from them.
const TINY_BODY: usize = 1 << 10;
/// Memory that a request may use without a reservation. The number of requests is bounded by
/// `limits.in_flight`.
const UNRESERVED_BYTES: usize = 16 << 10;
/// Copies of a conversation in memory while it is answered: the client's request, the state of the
/// agent loop, the request to the model, and its text for the provider.
const CONVERSATION_COPIES: usize = 4;

/// Copies of a form in memory while it is forwarded.
const FORM_COPIES: usize = 3;

/// Admission state of a request whose body may be large, kept in its extensions.
#[derive(Clone)]
pub(crate) struct BodyAdmission {
    pub(crate) permit: Arc<BodyPermit>,
    is_large: Arc<AtomicBool>,
    may_be_large: bool,
    sender: BodySender,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodySender {
    Authenticated,
    /// Has memory only for what has arrived.
    WithoutKey,
}

impl BodyAdmission {
    /// `None` for a body that is known to be tiny.
    pub(crate) fn of(
        body: &impl http_body::Body,
        sender: BodySender,
        permit: impl FnOnce() -> BodyPermit,
    ) -> Option<Self> {
        let exact = body.size_hint().exact();
        let may_exceed = |bytes: usize| exact.is_none_or(|size| size > bytes as u64);
        may_exceed(TINY_BODY).then(|| Self {
            permit: Arc::new(permit()),
            is_large: Arc::default(),
            may_be_large: may_exceed(SMALL_BODY),
            sender,
        })
    }

    /// Whether the body may be large.
    pub(crate) fn may_be_large(&self) -> bool {
        self.may_be_large
    }

    /// Whether the body is so large that the request must run on the threads for large work.
    pub(crate) fn is_large(&self) -> bool {
        self.is_large.load(Ordering::Relaxed)
    }

    fn step(&self) -> usize {
        match self.sender {
            BodySender::Authenticated => STEP,
            BodySender::WithoutKey => STEP_WITHOUT_KEY,
        }
    }

    /// Makes the task that polls the request move it to the threads for large work.
    async fn leave_for_large_work(&self) {
        self.is_large.store(true, Ordering::Relaxed);
        tokio::task::yield_now().await;
    }

    async fn reserve(&self, bytes: usize) -> Result<(), ApiError> {
        self.permit.grow(bytes).await.map_err(|error| error.problem())
    }

    /// Reserves memory for work that needs `memory` bytes in total, beyond what is reserved
    /// already.
    async fn reserve_for(&self, memory: usize) -> Result<(), ApiError> {
        let more = (memory / TIMES_BODY).saturating_sub(self.permit.bytes());
        if more > UNRESERVED_BYTES { self.reserve(more).await } else { Ok(()) }
    }
}

/// Reads a JSON body. Its depth and size limits are checked before it is parsed.
pub(crate) async fn json(sent: &Parts, body: Body, limits: &Limits) -> Result<Bytes, ApiError> {
    check_type(&sent.headers, &JSON)?;
    let whole = read_whole(sent, body, limits).await?;
    let size = limits.json.check(&whole).map_err(|error| out_of_bounds(&error))?;
    if let Some(admission) = sent.extensions.get::<BodyAdmission>() {
        admission.reserve_for(whole.len().saturating_add(size.tree_bytes())).await?;
    }
    Ok(whole)
}

/// Reserves memory for a conversation that the gateway answers itself. A body that is only
/// forwarded does not need it.
pub(crate) async fn reserve_conversation(
    sent: &Parts,
    body: &[u8],
    limits: &Limits,
) -> Result<(), ApiError> {
    let Some(admission) = sent.extensions.get::<BodyAdmission>() else { return Ok(()) };
    let size = limits.json.check(body).map_err(|error| out_of_bounds(&error))?;
    let once = body.len().saturating_add(size.tree_bytes());
    admission.reserve_for(once.saturating_mul(CONVERSATION_COPIES)).await
}

/// Reads a form with files. Its media type was checked when its boundary was read.
pub(crate) async fn form(sent: &Parts, body: Body, limits: &Limits) -> Result<Bytes, ApiError> {
    let whole = read_whole(sent, body, limits).await?;
    if let Some(admission) = sent.extensions.get::<BodyAdmission>() {
        // As received, as parts, and as sent to the provider.
        admission.reserve_for(whole.len().saturating_mul(FORM_COPIES)).await?;
    }
    Ok(whole)
}

/// Reads a form without files.
pub(crate) async fn url_encoded(
    sent: &Parts,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, ApiError> {
    check_type(&sent.headers, &URL_ENCODED)?;
    read_whole(sent, body, limits).await
}

pub(crate) async fn yaml(sent: &Parts, body: Body, limits: &Limits) -> Result<Bytes, ApiError> {
    check_type(&sent.headers, &YAML)?;
    read_whole(sent, body, limits).await
}

/// Required media type of a body, and the error for another one.
struct BodyMediaType {
    names: &'static [&'static str],
    code: &'static str,
    detail: &'static str,
}

const JSON: BodyMediaType = BodyMediaType {
    names: &["application/json"],
    code: "not_json",
    detail: "send `content-type: application/json`",
};
/// An HTML form cannot send any of these types.
const YAML: BodyMediaType = BodyMediaType {
    names: &["application/yaml", "application/x-yaml", "text/yaml"],
    code: "not_yaml",
    detail: "send `content-type: application/yaml`",
};

const URL_ENCODED: BodyMediaType = BodyMediaType {
    names: &["application/x-www-form-urlencoded"],
    code: "not_a_form",
    detail: "send `content-type: application/x-www-form-urlencoded`",
};

async fn read_whole(sent: &Parts, body: Body, limits: &Limits) -> Result<Bytes, ApiError> {
    let declared = body.size_hint().lower();
    if declared > limits.body_bytes as u64 {
        // A client that sent `Expect: 100-continue` has not begun to send.
        if !sent.headers.contains_key(header::EXPECT) {
            drain(body).await;
        }
        return Err(too_large(limits));
    }
    let admission = sent.extensions.get::<BodyAdmission>();
    let declared = usize::try_from(declared).unwrap_or(usize::MAX);
    let reserves =
        |it: &&BodyAdmission| it.sender == BodySender::Authenticated && declared > SMALL_BODY;
    if let Some(admission) = admission.filter(reserves)
        && let Err(problem) = admission.reserve(declared).await
    {
        if !sent.headers.contains_key(header::EXPECT) {
            drain(body).await;
        }
        return Err(problem);
    }
    let whole = tokio::time::timeout(limits.body_timeout, collect(body, admission, limits)).await;
    let whole = whole.unwrap_or_else(|_| Err(too_slow()))?;
    let Some(admission) = admission else { return Ok(whole) };
    if whole.len() > LARGE {
        admission.leave_for_large_work().await;
    }
    let permit = Arc::clone(&admission.permit);
    Ok(Bytes::from_owner(PermittedBytes { whole, _permit: permit }))
}

/// A body with its memory permit, held as long as any part of the body is alive.
struct PermittedBytes {
    whole: Bytes,
    _permit: Arc<BodyPermit>,
}

impl AsRef<[u8]> for PermittedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.whole
    }
}

/// A body in one chunk is not copied. A body with a declared size is copied once.
async fn collect(
    mut body: Body,
    admission: Option<&BodyAdmission>,
    limits: &Limits,
) -> Result<Bytes, ApiError> {
    let size = body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut pace = BodyPace::begin(limits);
    while let Some(frame) = pace.next(&mut body, first.len() + rest.len()).await? {
        let Ok(frame) = frame else {
            return Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "bad_body",
                "the body was interrupted",
            ));
        };
        let Ok(data) = frame.into_data() else { continue };
        let length = first.len() + rest.len() + data.len();
        if length > limits.body_bytes {
            drop((first, rest, data));
            drain(body).await;
            return Err(too_large(limits));
        }
        if let Some(admission) = admission.filter(|_| length > SMALL_BODY)
            && length > admission.permit.bytes()
        {
            let more = length - admission.permit.bytes() + admission.step();
            if let Err(problem) = pace.pause(admission.reserve(more)).await {
                drop((first, rest, data));
                drain(body).await;
                return Err(problem);
            }
        }
        if first.is_empty() && rest.is_empty() {
            first = data;
            continue;
        }
        if rest.is_empty() {
            rest.reserve(size.unwrap_or(length).max(length));
            rest.extend_from_slice(&std::mem::take(&mut first));
        }
        rest.extend_from_slice(&data);
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// A client that is still sending does not read the response: let it finish, within limits.
async fn drain(mut body: Body) {
    let mut left = DRAINED_BYTES;
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIME, read).await;
}

fn too_large(limits: &Limits) -> ApiError {
    let detail = format!("the body is larger than {} bytes", limits.body_bytes);
    ApiError::with_detail(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
}

fn out_of_bounds(error: &JsonBoundsError) -> ApiError {
    match error {
        JsonBoundsError::TooManyValues { .. } => {
            let detail = format!("{error} (`limits.json_values`)");
            ApiError::with_detail(StatusCode::PAYLOAD_TOO_LARGE, "too_many_values", detail)
        }
        JsonBoundsError::TooDeep { .. } => {
            let detail = format!("{error} (`limits.json_depth`)");
            ApiError::with_detail(StatusCode::BAD_REQUEST, "nested_too_deep", detail)
        }
    }
}

fn check_type(headers: &HeaderMap, wanted: &BodyMediaType) -> Result<(), ApiError> {
    let unsupported =
        |code, detail| Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, code, detail));
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    match (types.next().and_then(|value| value.to_str().ok()), types.next()) {
        (Some(text), None) if is_media(text, wanted.names) => {}
        _ => return unsupported(wanted.code, wanted.detail),
    }
    let encoded = headers.get(header::CONTENT_ENCODING);
    if encoded.is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return unsupported("encoded_body", "send the body without a `content-encoding`");
    }
    Ok(())
}

/// One of the names. A charset parameter, if present, must be UTF-8.
fn is_media(text: &str, names: &[&str]) -> bool {
    let mut parts = text.split(';').map(str::trim);
    let is_type =
        parts.next().is_some_and(|media| names.iter().any(|name| media.eq_ignore_ascii_case(name)));
    is_type
        && parts.filter_map(|part| part.split_once('=')).all(|(name, value)| {
            !name.trim().eq_ignore_ascii_case("charset")
                || ["utf-8", "utf8", "\"utf-8\""].contains(&&*value.trim().to_ascii_lowercase())
        })
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header};

    use super::check_type;

    fn check(content_type: Option<&str>, encoding: Option<&str>) -> Result<(), &'static str> {
        let mut headers = HeaderMap::new();
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        content_type.map(|text| headers.insert(header::CONTENT_TYPE, value(text)));
        encoding.map(|text| headers.insert(header::CONTENT_ENCODING, value(text)));
        check_type(&headers, &super::JSON).map_err(|problem| problem.code)
    }

    #[test]
    fn b_hh_13_only_json_in_utf_8_is_read() {
        for good in ["application/json", "Application/JSON; charset=UTF-8", "application/json;a=b"]
        {
            assert_eq!(check(Some(good), None), Ok(()), "{good}");
        }
        for bad in ["text/plain", "application/json; charset=utf-7", "multipart/form-data", ""] {
            assert_eq!(check(Some(bad), None), Err("not_json"), "{bad}");
        }
        assert_eq!(check(None, None), Err("not_json"));
    }

    #[test]
    fn b_hh_14_encoded_bodies_are_refused_unread() {
        for encoding in ["gzip", "br", "zstd", "deflate, gzip", "x"] {
            assert_eq!(check(Some("application/json"), Some(encoding)), Err("encoded_body"));
        }
        assert_eq!(check(Some("application/json"), Some("identity")), Ok(()));
    }
}
