//! Webhook of the operator's music player. Events are sent in order, each is tried twice, and no
//! call waits long for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::Value;
use tokio::sync::Mutex;
use tollgate_mcp::tasks;

use crate::clock::{Clock as _, SystemClock};
use crate::web::FetchError;
use crate::web::fetch::{ExchangeBounds, OperatorHttpClient};

/// Timeout of one attempt, and the pause between two.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);
const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// How long a call waits for the delivery before it returns without it.
const MAX_CALL_WAIT: Duration = Duration::from_millis(150);
/// Events queued for a slow player.
const MAX_QUEUED_EVENTS: usize = 16;
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Whether the player received the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WebhookDelivery {
    Yes,
    /// Delivery is still in progress.
    Pending,
    No(String),
}

#[derive(Debug, thiserror::Error)]
enum WebhookError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("it answered {0}")]
    Status(StatusCode),
}

#[derive(Clone)]
pub(crate) struct Webhook(Arc<WebhookInner>);

struct WebhookInner {
    url: String,
    fetch: OperatorHttpClient,
    waiting: AtomicUsize,
    /// Locked while an event is sent, to keep events in order.
    sending: Mutex<()>,
}

impl Webhook {
    pub(crate) fn new(url: &str) -> Result<Self, FetchError> {
        Ok(Self(Arc::new(WebhookInner {
            url: url.to_owned(),
            fetch: OperatorHttpClient::new(url)?,
            waiting: AtomicUsize::new(0),
            sending: Mutex::new(()),
        })))
    }

    pub(crate) async fn tell(&self, event: Value) -> WebhookDelivery {
        let inner = Arc::clone(&self.0);
        if inner.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_QUEUED_EVENTS {
            inner.waiting.fetch_sub(1, Ordering::Relaxed);
            return WebhookDelivery::No(format!("its queue is full ({MAX_QUEUED_EVENTS} events)"));
        }
        let telling = tasks::run_to_completion("music webhook", async move {
            let sent = inner.post_twice(&event).await;
            inner.waiting.fetch_sub(1, Ordering::Relaxed);
            sent
        });
        match tokio::time::timeout(MAX_CALL_WAIT, telling).await {
            Ok(Some(Ok(()))) => WebhookDelivery::Yes,
            Ok(Some(Err(error))) => WebhookDelivery::No(error.to_string()),
            Ok(None) => WebhookDelivery::No("the webhook task crashed".to_owned()),
            Err(_) => WebhookDelivery::Pending,
        }
    }
}

impl WebhookInner {
    async fn post_twice(&self, event: &Value) -> Result<(), WebhookError> {
        let _turn = self.sending.lock().await;
        if self.post(event).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(RETRY_PAUSE).await;
        let sent = self.post(event).await;
        if let Err(why) = &sent {
            tracing::warn!(%why, "music webhook failed");
        }
        sent
    }

    async fn post(&self, event: &Value) -> Result<(), WebhookError> {
        let mut request = Request::new(Full::new(Bytes::from(event.to_string())));
        *request.method_mut() = Method::POST;
        let json = HeaderValue::from_static("application/json");
        request.headers_mut().insert(CONTENT_TYPE, json);
        let bounds = ExchangeBounds {
            until: SystemClock.now() + ATTEMPT_TIMEOUT,
            most_bytes: MAX_ANSWER_BYTES,
        };
        let answer = self.fetch.exchange_within(&self.url, request, bounds).await;
        let status = answer?.status();
        if status.is_success() { Ok(()) } else { Err(WebhookError::Status(status)) }
    }
}

#[cfg(test)]
mod tests;
