//! Twilio: the webhook that answers a call with TwiML, and the Media Streams that it leads to.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HOST};
use http::request::Parts;

use super::caller;
use super::signature::{SignatureError, check_twilio};
use super::{bad_message, signature_error};
use crate::api_error::{ApiError, STOPPING};
use crate::app_state::AppState;
use crate::phone_lines::{CallFacts, PhoneLine, TokenError, TwilioLine};
use crate::realtime::refuse_handshake;
use crate::request_context::header;
use crate::webhook::{self, peer_address};

mod call;
mod driver;
mod dtmf;
mod frames;
mod playback;
mod stream;
mod twiml;

const SIGNATURE: &str = "x-twilio-signature";
/// Last part of the webhook's path, after that of its stream.
const VOICE: &str = "/voice";
/// Limit on a form, which has a few short fields.
const MAX_FORM_BYTES: usize = 64 << 10;

/// `GET /v1/telephony/twilio`: the stream of a call, for the only line.
pub(crate) async fn stream(State(front): State<Arc<AppState>>, request: Request) -> Response {
    open_stream(&front, None, request)
}

/// `GET /v1/telephony/twilio/{line}`.
pub(crate) async fn stream_of_line(
    State(front): State<Arc<AppState>>,
    Path(line): Path<String>,
    request: Request,
) -> Response {
    open_stream(&front, Some(&line), request)
}

/// `POST /v1/telephony/twilio/voice`: a call comes in, for the only line.
pub(crate) async fn voice(State(front): State<Arc<AppState>>, request: Request) -> Response {
    answer_call(&front, None, request).await
}

/// `POST /v1/telephony/twilio/{line}/voice`.
pub(crate) async fn voice_of_line(
    State(front): State<Arc<AppState>>,
    Path(line): Path<String>,
    request: Request,
) -> Response {
    answer_call(&front, Some(&line), request).await
}

fn open_stream(front: &Arc<AppState>, line: Option<&str>, request: Request) -> Response {
    let from = peer_address(request.extensions());
    match stream::accept(front, line, request) {
        Ok(response) => response,
        Err(problem) => refuse_handshake(webhook::refuse(front, from, problem)),
    }
}

async fn answer_call(front: &Arc<AppState>, line: Option<&str>, request: Request) -> Response {
    let from = peer_address(request.extensions());
    match connect_call(front, line, request).await {
        Ok(twiml) => ([(CONTENT_TYPE, "text/xml")], twiml).into_response(),
        Err(problem) => webhook::refuse(front, from, problem),
    }
}

/// TwiML that connects the call to a stream which the token in it admits.
async fn connect_call(
    front: &Arc<AppState>,
    line: Option<&str>,
    request: Request,
) -> Result<String, ApiError> {
    let (sent, body) = request.into_parts();
    let line = front.telephony.twilio.find(line)?;
    let presented = header(&sent, SIGNATURE)?;
    let presented = presented.ok_or_else(|| signature_error(SignatureError::Missing))?;
    let form = webhook::read_form(front, &sent, body, MAX_FORM_BYTES).await?;
    let fields: Vec<(String, String)> = url::form_urlencoded::parse(&form).into_owned().collect();
    let stream = stream_url(&line.settings, &sent)?;
    let webhook = webhook_url(&stream, sent.uri.query());
    let token = line.settings.auth_token.reveal();
    check_twilio(token, &webhook, &fields, presented).map_err(signature_error)?;
    if front.stopping.is_cancelled() {
        return Err(STOPPING);
    }
    let facts = read_facts(&fields)?;
    // Errors of the line are told now, so that Twilio's fallback can take the call.
    caller::context(front, &line, &sent, &facts.call)?;
    let token = line.tokens.issue(facts, front.clock.now()).map_err(token_error)?;
    Ok(twiml::connect(&stream, &token))
}

fn token_error(error: TokenError) -> ApiError {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    ApiError::with_detail(status, "no_stream_token", error.to_string()).later(RETRY_AFTER)
}

const RETRY_AFTER: Duration = Duration::from_secs(5);

fn read_facts(fields: &[(String, String)]) -> Result<CallFacts, ApiError> {
    let field = |name: &str| {
        let found = fields.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    };
    let call = field("CallSid").ok_or_else(|| bad_message("`CallSid` is missing"))?;
    let is_outbound = field("Direction").is_some_and(|it| it.starts_with("outbound"));
    let (direction, person) = if is_outbound { ("outbound", "To") } else { ("inbound", "From") };
    Ok(CallFacts { call, number: field(person), direction: Some(direction.to_owned()) })
}

/// The public URL of the line's stream, as Twilio knows it.
fn stream_url(line: &TwilioLine, sent: &Parts) -> Result<String, ApiError> {
    if let Some(url) = &line.url {
        return Ok(url.clone());
    }
    let host = match header(sent, HOST.as_str())? {
        Some(host) => host,
        None => sent.uri.authority().map(http::uri::Authority::as_str).unwrap_or_default(),
    };
    let path = sent.uri.path();
    Ok(format!("wss://{host}{}", path.strip_suffix(VOICE).unwrap_or(path)))
}

/// The URL of the webhook that belongs to a stream.
fn webhook_url(stream: &str, query: Option<&str>) -> String {
    let rest = stream.split_once("://").map_or(stream, |(_, rest)| rest);
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("https://{}{VOICE}{query}", rest.trim_end_matches('/'))
}

/// How a stream may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamAdmission {
    /// The handshake has Twilio's signature.
    Signed,
    /// The same, but the line requires a token of our TwiML.
    SignedNeedsToken,
    /// It must bring such a token.
    NoSignature,
}

/// A handshake without a signature is accepted only while a token is waited for.
fn admit_stream(
    front: &AppState,
    line: &PhoneLine<TwilioLine>,
    sent: &Parts,
) -> Result<StreamAdmission, ApiError> {
    let Some(presented) = header(sent, SIGNATURE)? else {
        return if line.tokens.is_expected(front.clock.now()) {
            Ok(StreamAdmission::NoSignature)
        } else {
            Err(signature_error(SignatureError::Missing))
        };
    };
    let url = stream_url(&line.settings, sent)?;
    let token = line.settings.auth_token.reveal();
    check_twilio(token, &url, &[], presented).map_err(signature_error)?;
    // The signature of a stream is the same for each call.
    Ok(if line.settings.requires_token {
        StreamAdmission::SignedNeedsToken
    } else {
        StreamAdmission::Signed
    })
}

#[cfg(test)]
mod tests {
    use super::webhook_url;

    #[test]
    fn the_webhook_is_beside_its_stream() {
        let stream = "wss://gate.example:8443/v1/telephony/twilio/desk";
        let expected = "https://gate.example:8443/v1/telephony/twilio/desk/voice";
        assert_eq!(webhook_url(stream, None), expected);
        assert_eq!(webhook_url(&format!("{stream}/"), Some("a=b")), format!("{expected}?a=b"));
    }
}
