//! WebSocket connection to a provider, for a realtime session. Independent of the protocol on it.

use std::time::Duration;

use http::{HeaderValue, Request, StatusCode, Uri, header};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, error};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tollgate_core::trace::Trace;
use tollgate_mcp::web::{DedicatedConnection, HttpRequestError};

use super::label::ModelLabel;
use super::message_stream::MessageStream;
use super::pool::SessionAttempt;
use super::remote::{RemoteProvider, trace_headers};
use super::urls;
use crate::error::{LlmError, LlmErrorKind};

/// WebSocket to a provider.
pub type ProviderSocket = WebSocketStream<MessageStream<DedicatedConnection>>;

/// An image is one message; audio messages of a session are smaller.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// For both sides of a session: small buffers, and every message is sent at once.
pub fn socket_config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(4 << 10)
        .write_buffer_size(0)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES))
}

impl SessionAttempt<'_> {
    /// Opens a WebSocket at this path.
    pub(crate) async fn connect(
        &self,
        path: &str,
        query: &[(&str, &str)],
        trace: Option<&Trace>,
        limit: Duration,
    ) -> Result<ProviderSocket, LlmError> {
        let remote = &self.target.remote;
        let label = self.target.label();
        let connecting = connect(remote, &label, path, query, trace);
        match tokio::time::timeout(limit, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(self.timeout_error(limit)),
        }
    }

    fn timeout_error(&self, limit: Duration) -> LlmError {
        let what = format!(
            "did not accept the session within {} ms (`connect_timeout_ms`)",
            limit.as_millis()
        );
        LlmError::new(LlmErrorKind::Timeout, self.target.label().of_provider(&what))
    }
}

/// Connects to the provider's endpoint for realtime sessions.
async fn connect(
    remote: &RemoteProvider,
    label: &ModelLabel,
    path: &str,
    query: &[(&str, &str)],
    trace: Option<&Trace>,
) -> Result<ProviderSocket, LlmError> {
    let failed = |what: String| LlmError::new(LlmErrorKind::Provider, label.of_provider(&what));
    let url = urls::socket(&remote.base, path, query);
    let url = url.map_err(|error| failed(error.to_string()))?;
    let line = remote.connect(&url).await.map_err(|error| {
        let (HttpRequestError::Unreachable(why) | HttpRequestError::Broken(why)) = error;
        failed(format!("cannot be reached: {}", label.quote(&why)))
    })?;
    let mut request = Request::new(());
    let host = url.authority().map(|it| it.as_str().to_owned()).unwrap_or_default();
    *request.uri_mut() = of_sockets(url).map_err(|error| failed(format!("has no URL: {error}")))?;
    let headers = request.headers_mut();
    headers.clone_from(remote.headers());
    headers.remove(header::CONTENT_TYPE);
    trace_headers(headers, trace);
    let host = HeaderValue::try_from(host).map_err(|_| failed("has no host".to_owned()))?;
    let key = HeaderValue::try_from(generate_key());
    headers.insert(header::SEC_WEBSOCKET_KEY, key.expect("base64 can be sent"));
    headers.insert(header::HOST, host);
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    let stream = MessageStream::before_handshake(line);
    let shaken = client_async_with_config(request, stream, Some(socket_config())).await;
    shaken.map(|(socket, _)| socket).map_err(|error| connect_error(label, error))
}

/// The WebSocket library only accepts `ws` and `wss` URLs.
fn of_sockets(url: Uri) -> Result<Uri, http::Error> {
    let mut parts = url.into_parts();
    let is_secure = parts.scheme == Some(http::uri::Scheme::HTTPS);
    parts.scheme = Some(if is_secure { "wss".parse()? } else { "ws".parse()? });
    Ok(Uri::from_parts(parts)?)
}

fn connect_error(label: &ModelLabel, error: tungstenite::Error) -> LlmError {
    let tungstenite::Error::Http(response) = error else {
        let what = match &error {
            tungstenite::Error::Protocol(error::ProtocolError::HandshakeIncomplete) => {
                "closed the connection".to_owned()
            }
            other => format!("rejected the session: {}", label.quote(&other.to_string())),
        };
        return LlmError::new(LlmErrorKind::Provider, label.of_provider(&what));
    };
    let status = response.status();
    let kind = match status {
        StatusCode::TOO_MANY_REQUESTS => LlmErrorKind::RateLimited,
        StatusCode::NOT_FOUND => LlmErrorKind::UnknownModel,
        StatusCode::SERVICE_UNAVAILABLE => LlmErrorKind::Overloaded,
        StatusCode::BAD_REQUEST => LlmErrorKind::Invalid,
        _ => LlmErrorKind::Provider,
    };
    let what = match status {
        // The provider's message often quotes the key.
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => format!(
            "rejected the gateway's key (HTTP {}): check `{}`",
            status.as_u16(),
            label.key_path
        ),
        _ => {
            let words = response.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            format!("rejected the session: HTTP {} {}", status.as_u16(), label.quote(&words))
        }
    };
    LlmError::new(kind, label.of_model(what.trim_end()))
}
