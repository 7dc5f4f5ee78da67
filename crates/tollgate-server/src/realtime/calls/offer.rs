//! Request that creates a call: an SDP offer, alone, or with a session configuration in a form or in
//! JSON.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use multer::Multipart;
use serde_json::{Map, Value};
use tollgate_llm::provider::ProviderCallRequest;

use super::super::session_config;
use crate::api_error::ApiError;
use crate::body;
use crate::fields::BodyFields;
use crate::limits::Limits;

/// An offer of a browser has a few kilobytes.
const MAX_SDP_BYTES: usize = 64 << 10;
/// Both parts, and the form around them.
const MAX_BODY_BYTES: usize = MAX_SDP_BYTES + session_config::MAX_SESSION_BYTES + (4 << 10);

pub(super) struct CallOffer {
    pub(super) sdp: String,
    pub(super) session: Map<String, Value>,
}

/// Content type of a request that creates a call.
enum OfferForm {
    Sdp,
    /// As OpenAI's client for Python sends it.
    Json,
    /// With its boundary.
    Multipart(String),
}

impl CallOffer {
    pub(super) async fn read(sent: &Parts, body: Body, limits: &Limits) -> Result<Self, ApiError> {
        let form = form(&sent.headers)?;
        let limits = Limits { body_bytes: MAX_BODY_BYTES, ..limits.clone() };
        let body = body::form(sent, body, &limits).await.map_err(|problem| {
            if problem.status == StatusCode::PAYLOAD_TOO_LARGE { sdp_too_large() } else { problem }
        })?;
        match form {
            OfferForm::Sdp => Ok(Self { sdp: sdp(&body)?, session: Map::new() }),
            OfferForm::Json => read_json(&body),
            OfferForm::Multipart(boundary) => read_form(body, boundary).await,
        }
    }
}

fn form(headers: &HeaderMap) -> Result<OfferForm, ApiError> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let only = match (types.next(), types.next()) {
        (Some(value), None) => value.to_str().unwrap_or_default(),
        _ => "",
    };
    let essence = only.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/sdp") {
        return Ok(OfferForm::Sdp);
    }
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(OfferForm::Json);
    }
    multer::parse_boundary(only).map(OfferForm::Multipart).map_err(|_| NOT_AN_OFFER)
}

fn read_json(body: &[u8]) -> Result<CallOffer, ApiError> {
    let fields = BodyFields::read(body, &["sdp", "session"])?;
    let session = fields.raw("session").map(|raw| session_config::parse(raw.get().as_bytes()));
    let sdp = sdp(fields.needed_text("sdp")?.as_bytes())?;
    Ok(CallOffer { sdp, session: session.transpose()?.unwrap_or_default() })
}

async fn read_form(body: Bytes, boundary: String) -> Result<CallOffer, ApiError> {
    let whole = stream::iter([Ok::<_, std::io::Error>(body)]);
    let mut form = Multipart::new(whole, boundary);
    let malformed = |error: multer::Error| bad(format!("the form is malformed: {error}"));
    let mut offer = None;
    let mut session = None;
    while let Some(field) = form.next_field().await.map_err(malformed)? {
        let name = field.name().unwrap_or_default().to_owned();
        let content = field.bytes().await.map_err(malformed)?;
        let is_new = match name.as_str() {
            "sdp" => offer.replace(sdp(&content)?).is_none(),
            "session" => session.replace(session_config::parse(&content)?).is_none(),
            _ => return Err(bad("the form has parts `sdp` and `session` only".to_owned())),
        };
        if !is_new {
            return Err(bad(format!("the form has two parts `{name}`")));
        }
    }
    let sdp = offer.ok_or_else(|| bad("the form has no part `sdp`".to_owned()))?;
    Ok(CallOffer { sdp, session: session.unwrap_or_default() })
}

fn sdp(content: &[u8]) -> Result<String, ApiError> {
    if content.len() > MAX_SDP_BYTES {
        return Err(sdp_too_large());
    }
    let text = std::str::from_utf8(content).ok().filter(|text| text.starts_with("v=0"));
    let text = text.filter(|text| !text.contains('\0'));
    let wrong = || bad("`sdp` must be an SDP offer, which begins with `v=0`".to_owned());
    text.map(str::to_owned).ok_or_else(wrong)
}

/// As the provider takes it. Written anew, so that it has exactly the parts that were read.
pub(super) fn write_form(sdp: &str, session: &Map<String, Value>) -> ProviderCallRequest {
    let boundary = format!("tollgate-{:032x}", rand::random::<u128>());
    let session = Value::Object(session.clone());
    let mut body = String::new();
    for (name, kind, content) in
        [("sdp", "application/sdp", sdp), ("session", "application/json", &session.to_string())]
    {
        body.push_str(&format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\
             content-type: {kind}\r\n\r\n{content}\r\n"
        ));
    }
    body.push_str(&format!("--{boundary}--\r\n"));
    let content_type = format!("multipart/form-data; boundary={boundary}");
    let content_type = HeaderValue::try_from(content_type).expect("a boundary of plain characters");
    ProviderCallRequest { path: String::new(), content_type, body: body.into() }
}

const NOT_AN_OFFER: ApiError = ApiError::new(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "not_an_offer",
    "send `content-type: application/sdp`, or `sdp` and `session` as `multipart/form-data` or as \
     `application/json`",
);

fn sdp_too_large() -> ApiError {
    let detail = format!("the SDP offer is larger than {MAX_SDP_BYTES} bytes");
    ApiError::with_detail(StatusCode::PAYLOAD_TOO_LARGE, "sdp_too_large", detail)
}

fn bad(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_offer", detail)
}
