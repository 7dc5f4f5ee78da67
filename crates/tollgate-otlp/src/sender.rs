//! Sends one OTLP signal to a collector, with bounded retries and exponential backoff.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use prost::Message;
use serde::Serialize;
use tollgate_mcp::web::{HttpPool, body};

use super::error::{ExportError, OtlpStartError};
use super::settings::{OtlpProtocol, OtlpTarget};

/// Maximum number of attempts for one batch, and the delays between them.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

pub(super) struct OtlpSender {
    pool: HttpPool,
    target: OtlpTarget,
    headers: HeaderMap,
}

/// Result of one attempt.
enum ExportAttempt {
    Taken,
    /// Permanent failure: do not retry.
    Refused(ExportError),
    /// The collector is unavailable or overloaded, and may send a `Retry-After`.
    Away(ExportError, Option<Duration>),
}

impl OtlpSender {
    pub(super) fn new(target: &OtlpTarget) -> Result<Self, OtlpStartError> {
        let pool = HttpPool::new(&target.url)
            .map_err(|error| OtlpStartError::NoHttpClient(error.to_string()))?;
        let mut headers = target.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(target.protocol.content_type()));
        let agent = concat!("tollgate/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        Ok(Self { pool, target: target.clone(), headers })
    }

    pub(super) fn encode(&self, message: &(impl Message + Serialize)) -> Bytes {
        match self.target.protocol {
            OtlpProtocol::Protobuf => message.encode_to_vec().into(),
            OtlpProtocol::Json => {
                let json = serde_json::to_vec(message);
                json.expect("all keys of an OTLP message are texts").into()
            }
        }
    }

    /// Sends with retries. The error says why it gave up.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), ExportError> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            match self.attempt(body.clone()).await {
                ExportAttempt::Taken => return Ok(()),
                ExportAttempt::Refused(error) => return Err(error),
                ExportAttempt::Away(error, _) if attempt == ATTEMPTS => return Err(error),
                ExportAttempt::Away(_, duration) => {
                    let duration = duration.unwrap_or(Duration::ZERO).min(MAX_RETRY_DELAY);
                    let pause = pause.mul_f64(rand::random_range(0.5..1.5));
                    tokio::time::sleep(duration.max(pause)).await;
                }
            }
            pause = (pause * 2).min(MAX_RETRY_DELAY);
        }
        unreachable!("attempts are counted")
    }

    /// Sends once.
    pub(super) async fn send_last(&self, body: Bytes) -> Result<(), ExportError> {
        match self.attempt(body).await {
            ExportAttempt::Taken => Ok(()),
            ExportAttempt::Refused(error) | ExportAttempt::Away(error, _) => Err(error),
        }
    }

    async fn attempt(&self, bytes: Bytes) -> ExportAttempt {
        let mut request = Request::new(Full::new(bytes));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.url.clone();
        request.headers_mut().clone_from(&self.headers);
        let answered = async {
            let response = self.pool.send(request).await.map_err(ExportError::Unsent)?;
            let fate = classify_status(response.status(), response.headers());
            body::discard(response).await;
            Ok(fate)
        };
        match tokio::time::timeout(self.target.timeout, answered).await {
            Ok(Ok(fate)) => fate,
            Ok(Err(error)) => ExportAttempt::Away(error, None),
            Err(_) => ExportAttempt::Away(ExportError::Timeout(self.target.timeout), None),
        }
    }
}

/// The OTLP specification lists the retryable statuses.
fn classify_status(status: StatusCode, headers: &HeaderMap) -> ExportAttempt {
    match status {
        status if status.is_success() => ExportAttempt::Taken,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let after = headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok());
            let after = after.and_then(|text| text.trim().parse().ok());
            ExportAttempt::Away(ExportError::Status(status), after.map(Duration::from_secs))
        }
        _ => ExportAttempt::Refused(ExportError::Status(status)),
    }
}
