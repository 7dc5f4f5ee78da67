//! Health probes of load balancers and orchestrators (`/healthz`, `/readyz`), parsed and answered
//! as bytes, one complete head at a time, without the rest of the HTTP stack.
//!
//! Only exact probes are recognised. Everything else takes the normal path, where the same routes
//! exist as well.

use std::time::{Duration, SystemTime};

use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use httparse::Status;

use super::HttpApp;
use super::connections::ConnectionLimitError;
use crate::api_error::{ApiError, ApiErrorFormat};
use crate::{ops, readiness};

/// The head of a probe is much shorter.
pub(super) const MAX_HEAD_BYTES: usize = 1024;
const MAX_HEADERS: usize = 32;
/// No HTTP/1.1 method begins like this.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";
/// Header in responses to plain probes on an HTTPS port, so that a client does not mistake it for a
/// plain one.
const HTTPS_PORT: HeaderName = HeaderName::from_static("x-tollgate-scheme");
/// By then some connection is likely to be idle.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Classification of the first bytes of a connection or of its next request.
pub(super) enum FirstBytes {
    Probe(Box<HealthProbe>),
    /// The preface of HTTP/2 with prior knowledge (RFC 9113, 3.4), or the beginning of it.
    Http2,
    /// For the workers. It may still be a probe in another spelling.
    Other {
        may_be_probe: bool,
    },
}

/// A complete request for `/healthz` or `/readyz`.
pub(super) struct HealthProbe {
    parts: Parts,
    pub(super) head_bytes: usize,
}

pub(super) struct ProbeResponse {
    pub(super) bytes: Vec<u8>,
    pub(super) closes: bool,
}

/// Whether these bytes begin with a probe.
pub(super) fn read(bytes: &[u8]) -> FirstBytes {
    match parse(bytes) {
        Some(probe) => FirstBytes::Probe(Box::new(probe)),
        None if bytes.starts_with(HTTP2_PREFACE) => FirstBytes::Http2,
        None => FirstBytes::Other { may_be_probe: asks_for_probe(bytes) },
    }
}

/// Checks the path only, in any spelling of the rest.
fn asks_for_probe(bytes: &[u8]) -> bool {
    let target = bytes.strip_prefix(b"GET ").or_else(|| bytes.strip_prefix(b"HEAD "));
    let is_path = |target: &[u8]| target.starts_with(b"/healthz") || target.starts_with(b"/readyz");
    target.is_some_and(is_path)
}

fn parse(bytes: &[u8]) -> Option<HealthProbe> {
    let target = bytes.strip_prefix(b"GET ").or_else(|| bytes.strip_prefix(b"HEAD "))?;
    if !target.starts_with(b"/healthz ") && !target.starts_with(b"/readyz ") {
        return None;
    }
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let Ok(Status::Complete(head_bytes)) = parsed.parse(bytes) else { return None };
    if parsed.version != Some(1) {
        return None;
    }
    let mut request = Request::builder().method(parsed.method?).uri(parsed.path?);
    for header in &*parsed.headers {
        request = request.header(header.name, header.value);
    }
    let (parts, ()) = request.body(()).ok()?.into_parts();
    has_no_body(&parts.headers).then_some(HealthProbe { parts, head_bytes })
}

fn has_no_body(headers: &HeaderMap) -> bool {
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    lengths.all(|length| length == "0")
        && !headers.contains_key(header::TRANSFER_ENCODING)
        && !headers.contains_key(header::EXPECT)
}

impl HealthProbe {
    pub(super) async fn answer(&self, app: &HttpApp) -> ProbeResponse {
        let path = self.parts.uri.path();
        let refused = app.guard.load().check(&self.parts).err();
        // A client that sends what no real client sends gets no second request on the connection.
        let closes = refused.is_some() || self.asks_to_close() || app.front.stopping.is_cancelled();
        let mut response = match &refused {
            Some(problem) => problem.response(ApiErrorFormat::of(path)),
            None if path == "/healthz" => ops::healthz().await,
            None => readiness::response(&app.front).await,
        };
        if app.tls.load().is_some() {
            response.headers_mut().insert(HTTPS_PORT, HeaderValue::from_static("https"));
        }
        let date = httpdate::fmt_http_date(app.front.clock.wall());
        ProbeResponse { bytes: encode(response, &self.parts.method, closes, &date).await, closes }
    }

    fn asks_to_close(&self) -> bool {
        let values = self.parts.headers.get_all(header::CONNECTION).iter();
        let mut words = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        words.any(|word| word.trim_ascii().eq_ignore_ascii_case(b"close"))
    }
}

async fn encode(response: Response, method: &Method, closes: bool, date: &str) -> Vec<u8> {
    let (head, body) = response.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut bytes = format!("HTTP/1.1 {}\r\n", head.status).into_bytes();
    for (name, value) in &head.headers {
        bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    if !head.headers.contains_key(header::CONTENT_LENGTH) {
        bytes.extend(format!("content-length: {}\r\n", body.len()).into_bytes());
    }
    if closes {
        bytes.extend(b"connection: close\r\n");
    }
    bytes.extend(format!("date: {date}\r\n\r\n").into_bytes());
    if *method != Method::HEAD {
        bytes.extend(&body);
    }
    bytes
}

impl From<ConnectionLimitError> for ApiError {
    fn from(error: ConnectionLimitError) -> Self {
        let detail = format!("{error}; try again in a moment");
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self::with_detail(status, "too_many_connections", detail).later(RETRY_AFTER)
    }
}

pub(super) const HTTP2_REFUSAL: ApiError = ApiError::new(
    StatusCode::HTTP_VERSION_NOT_SUPPORTED,
    "http2_not_supported",
    "HTTP/2 is not supported; use HTTP/1.1",
);

/// Response to a connection that is refused before anything is read.
pub(super) async fn refusal(problem: &ApiError, now: SystemTime) -> Vec<u8> {
    let response = problem.response(ApiErrorFormat::ProblemDetails);
    encode(response, &Method::GET, true, &httpdate::fmt_http_date(now)).await
}

#[cfg(test)]
mod tests {
    use super::{FirstBytes, read};

    fn head_bytes(text: &str) -> Option<usize> {
        match read(text.as_bytes()) {
            FirstBytes::Probe(probe) => Some(probe.head_bytes),
            FirstBytes::Http2 | FirstBytes::Other { .. } => None,
        }
    }

    #[test]
    fn a_whole_probe_is_read_up_to_its_end() {
        for line in ["GET /healthz", "HEAD /healthz", "GET /readyz"] {
            let head = format!("{line} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n");
            assert_eq!(head_bytes(&head), Some(head.len()), "{line}");
            assert_eq!(head_bytes(&format!("{head}GET /mcp")), Some(head.len()), "{line}");
        }
    }

    #[test]
    fn b_hh_18_the_preface_of_http_2_is_known() {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        assert!(matches!(read(preface), FirstBytes::Http2));
        assert!(matches!(read(b"PRI / HTTP/1.1\r\n"), FirstBytes::Other { may_be_probe: false }));
    }

    #[test]
    fn what_is_not_exactly_a_probe_goes_the_usual_way() {
        for text in [
            "",
            "G",
            "GET /healthz HTTP/1.1\r\nhost: a\r\n",
            "GET /healthz HTTP/1.0\r\nhost: a\r\n\r\n",
            "GET /healthz?a=b HTTP/1.1\r\nhost: a\r\n\r\n",
            "GET /healthzz HTTP/1.1\r\nhost: a\r\n\r\n",
            "POST /healthz HTTP/1.1\r\nhost: a\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello",
            "GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\ncontent-length: 5\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nbad header: a\r\n\r\n",
            "\u{16}\u{3}\u{1}",
        ] {
            assert_eq!(head_bytes(text), None, "{text:?}");
        }
    }
}
