//! Sends one kind of telemetry to where a collector takes it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use tollgate_mcp::web::{Pool, body};

use super::message::Message;
use super::settings::{Protocol, Target};

/// How often one batch is sent at most, and how long is waited in between.
const ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(super) struct Post {
    pool: Pool,
    target: Target,
    headers: HeaderMap,
}

/// What became of one attempt.
enum Fate {
    Taken,
    /// Another attempt would fare no better.
    Refused(String),
    /// The collector is away, or has too much to do, and may say for how long.
    Away(String, Option<Duration>),
}

impl Post {
    pub(super) fn new(target: &Target) -> Result<Self, String> {
        let pool = Pool::new(&target.url)?;
        let mut headers = target.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(target.protocol.content_type()));
        let agent = concat!("tollgate/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        Ok(Self { pool, target: target.clone(), headers })
    }

    pub(super) fn written(&self, message: &Message) -> Bytes {
        match self.target.protocol {
            Protocol::Protobuf => message.to_protobuf().into(),
            Protocol::Json => message.to_json().into(),
        }
    }

    /// Sends, more than once if the collector is away. The error says why it was given up.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), String> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            match self.attempt(body.clone()).await {
                Fate::Taken => return Ok(()),
                Fate::Refused(why) => return Err(why),
                Fate::Away(why, _) if attempt == ATTEMPTS => return Err(why),
                Fate::Away(_, asked) => {
                    let asked = asked.unwrap_or(Duration::ZERO).min(LONGEST_PAUSE);
                    let pause = pause.mul_f64(rand::random_range(0.5..1.5));
                    tokio::time::sleep(asked.max(pause)).await;
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        unreachable!("attempts are counted")
    }

    /// Sends once.
    pub(super) async fn send_last(&self, body: Bytes) -> Result<(), String> {
        match self.attempt(body).await {
            Fate::Taken => Ok(()),
            Fate::Refused(why) | Fate::Away(why, _) => Err(why),
        }
    }

    async fn attempt(&self, bytes: Bytes) -> Fate {
        let mut request = Request::new(Full::new(bytes));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.url.clone();
        request.headers_mut().clone_from(&self.headers);
        let answered = async {
            let response = self.pool.send(request).await.map_err(|failed| failed.to_string())?;
            let fate = judged(response.status(), response.headers());
            body::discard(response).await;
            Ok(fate)
        };
        match tokio::time::timeout(self.target.timeout, answered).await {
            Ok(Ok(fate)) => fate,
            Ok(Err(why)) => Fate::Away(why, None),
            Err(_) => Fate::Away(format!("no answer within {:?}", self.target.timeout), None),
        }
    }
}

/// Which statuses are worth another attempt is in the OTLP specification.
fn judged(status: StatusCode, headers: &HeaderMap) -> Fate {
    let why = || format!("the collector answered HTTP {}", status.as_u16());
    match status {
        status if status.is_success() => Fate::Taken,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let after = headers.get(RETRY_AFTER).and_then(|it| it.to_str().ok());
            let after = after.and_then(|text| text.trim().parse().ok());
            Fate::Away(why(), after.map(Duration::from_secs))
        }
        _ => Fate::Refused(why()),
    }
}
