//! The session of a legacy server: its id, which is sent with every request, and messages that are
//! not requests.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, HeaderValue, Method, Response};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::time::timeout;

use super::reply::describe;
use super::server_http::{ServerExchange, ServerHttp};
use crate::client::RequestError;
use crate::client::inbound::Outbox;
use crate::tasks::TaskGroup;
use crate::web::body;
use crate::{Revision, header};

/// Timeout of fire-and-forget messages.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum such messages in flight.
const MAX_SENDS: usize = 256;
const MAX_ID_BYTES: usize = 1024;

pub(super) struct LegacySession {
    pub wire: Arc<ServerHttp>,
    revision: OnceLock<Revision>,
    current: Mutex<CurrentSession>,
    asides: TaskGroup,
}

#[derive(Default, Clone)]
struct CurrentSession {
    id: Option<HeaderValue>,
    generation: u64,
}

impl LegacySession {
    pub(super) fn new(wire: Arc<ServerHttp>) -> Self {
        let asides = TaskGroup::new("message", MAX_SENDS);
        Self { wire, revision: OnceLock::new(), current: Mutex::default(), asides }
    }

    /// Stores the session id of the answer to `initialize`, if any.
    pub(super) fn mark_opened(&self, id: Option<HeaderValue>, revision: Revision) {
        let _ = self.revision.set(revision);
        let mut current = self.current.lock();
        current.id = id;
        current.generation += 1;
    }

    /// Counts how often the session was opened.
    pub(super) fn generation(&self) -> u64 {
        self.current.lock().generation
    }

    pub(super) fn has_id(&self) -> bool {
        self.current.lock().id.is_some()
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(6);
        if let Some(id) = self.current.lock().id.clone() {
            headers.insert(header::SESSION_ID, id);
        }
        let revision = self.revision.get().filter(|it| **it >= Revision::V2025_06_18);
        if let Some(revision) = revision {
            headers.insert(header::PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
        }
        headers
    }

    pub(super) fn abandon(&self) {
        self.asides.abort_all();
    }

    /// Closes the session at the server, if there is one.
    pub(super) async fn close(&self) {
        if !self.has_id() {
            return;
        }
        let exchange = ServerExchange {
            method: Method::DELETE,
            url: &self.wire.url,
            headers: self.headers(),
            body: bytes::Bytes::new(),
        };
        let _ = timeout(SEND_TIMEOUT, self.wire.send(exchange)).await;
        self.current.lock().id = None;
    }

    /// Closes another session, without waiting.
    pub(super) fn close_later(&self, other: &Arc<Self>) {
        if other.has_id() {
            let other = Arc::clone(other);
            let closing = self.asides.spawn(async move { other.close().await });
            if closing.is_err() {
                tracing::debug!("a session was left open: too many messages are in flight");
            }
        }
    }
}

/// The session id of a response, if it is a valid header value.
pub(super) fn id_of(response: &Response<Incoming>) -> Option<HeaderValue> {
    let id = response.headers().get(header::SESSION_ID)?;
    (!id.is_empty() && id.len() <= MAX_ID_BYTES).then(|| id.clone())
}

#[async_trait]
impl Outbox for LegacySession {
    async fn send(&self, message: String) -> Result<(), RequestError> {
        let response = self.wire.post(self.headers(), message.into()).await?;
        let status = response.status();
        body::discard(response).await;
        if status.is_success() {
            Ok(())
        } else {
            Err(RequestError::Unusable(describe(status, None)))
        }
    }

    fn send_later(&self, message: String) {
        let wire = Arc::clone(&self.wire);
        let headers = self.headers();
        let sent = self.asides.spawn(async move {
            let post = async {
                if let Ok(response) = wire.post(headers, message.into()).await {
                    body::discard(response).await;
                }
            };
            let _ = timeout(SEND_TIMEOUT, post).await;
        });
        if sent.is_err() {
            tracing::debug!("a message was dropped: too many are in flight");
        }
    }
}
