//! WebSocket opening handshake of RFC 6455, server side. Any deviation is refused with an HTTP
//! error. No extension is ever accepted.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::api_error::ApiError;

/// Subprotocol that OpenAI's clients offer beside the key.
const PROTOCOL: &str = "realtime";

const NO_UPGRADE: ApiError = ApiError::new(
    StatusCode::UPGRADE_REQUIRED,
    "websocket_needed",
    "this path is for WebSocket: `connection: upgrade`, `upgrade: websocket`, version 13",
);

pub(crate) struct WebSocketHandshake {
    accept: HeaderValue,
}

impl WebSocketHandshake {
    pub(crate) fn read(request: &Request) -> Result<Self, ApiError> {
        let headers = request.headers();
        let is_get = request.method() == Method::GET && request.version() >= Version::HTTP_11;
        let is_upgrade = has_token(headers, &header::CONNECTION, "upgrade")
            && has_token(headers, &header::UPGRADE, "websocket");
        let version = single(headers, &header::SEC_WEBSOCKET_VERSION)?;
        if !is_get || !is_upgrade || version.is_none_or(|it| it != "13") {
            return Err(NO_UPGRADE);
        }
        let has_body = headers.contains_key(header::TRANSFER_ENCODING)
            || headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
        if has_body {
            return Err(bad("a handshake has no body"));
        }
        let key = single(headers, &header::SEC_WEBSOCKET_KEY)?.map(HeaderValue::as_bytes);
        let key = key.filter(|key| STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16));
        let key = key.ok_or_else(|| bad("`sec-websocket-key` must be 16 bytes in base64"))?;
        let accept = HeaderValue::try_from(derive_accept_key(key));
        Ok(Self { accept: accept.map_err(|_| bad("`sec-websocket-key` is invalid"))? })
    }

    /// Accepts. Of the offered subprotocols only one that contains no key is echoed.
    pub(crate) fn response(self, sent: &Parts) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = sent.extensions.get::<AgreedSubprotocol>() {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol.0));
        } else if has_token(&sent.headers, &header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
        }
        response
    }
}

/// Tells a plain HTTP client, or one with an older WebSocket version, what is required (RFC 6455,
/// 4.4).
pub(crate) fn asking(mut response: Response) -> Response {
    if response.status() == StatusCode::UPGRADE_REQUIRED {
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    }
    response
}

/// The subprotocol that belongs to the way in which a key was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgreedSubprotocol(pub(super) &'static str);

fn single<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h HeaderValue>, ApiError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (first, None) => Ok(first),
        (_, Some(_)) => Err(bad("a header of the handshake appears twice")),
    }
}

pub(super) fn tokens<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|it| it.eq_ignore_ascii_case(token))
}

fn bad(detail: &'static str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "bad_handshake", detail)
}
