//! Legacy Streamable HTTP: sessions, reopened when the server has lost them.
//!
//! One session serves the gateway itself and all callers that cannot be asked anything. Other
//! callers share a session with those that declared the same capabilities, so that no server asks
//! for what a caller does not support. A dropped request is cancelled by a message: closing the
//! stream has no effect in this era.

mod follow;
mod interactive;
mod open;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tollgate_core::json::Object;

use super::reply::{PendingResponse, PostReply, ResumePoint};
use super::server_http::{ServerHttp, ServerHttpError};
use super::session::LegacySession;
use crate::client::declared_capabilities::DeclaredCapabilities;
use crate::client::dispatch::cancellation_message;
use crate::client::in_flight_table::{InFlightEntry, InFlightRequestKind};
use crate::client::inbound::{Inbound, Outbox, StreamOwner};
use crate::client::watch::SubscriptionWatch;
use crate::client::{Answer, McpConnection, OutgoingRequest, RequestError, ServerFacts, outgoing};
use crate::envelope::{JsonRpcId, write};
use crate::error_code::JsonRpcError;
use crate::header;
use crate::tasks::{Task, TaskGroup};

use interactive::InteractiveSessions;
pub(super) use open::{NoSessionError, connect_error};

/// Maximum streams that are drained at the same time.
const DRAINS: usize = 64;
/// How often in a row a stream is resumed without receiving an event.
const RESUMES: usize = 5;
const RETRY_DEFAULT: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

pub(super) struct LegacyHttp {
    facts: ServerFacts,
    core: Arc<LegacyCore>,
    interactive: InteractiveSessions,
    stream: Mutex<Option<Task>>,
}

/// State shared by the connection and its notification stream.
pub(super) struct LegacyCore {
    pub session: Arc<LegacySession>,
    outbox: Arc<dyn Outbox>,
    pub inbound: Inbound,
    drains: TaskGroup,
    limit: usize,
    watch: SubscriptionWatch,
    renewing: tokio::sync::Mutex<()>,
    bridge: DeclaredCapabilities,
}

impl LegacyHttp {
    /// Requires a successful [`LegacyCore::initialize`].
    pub(super) fn new(core: LegacyCore, facts: ServerFacts) -> Self {
        let core = Arc::new(core);
        let interactive = InteractiveSessions::new(Arc::clone(&core), facts.revision);
        Self { facts, core, interactive, stream: Mutex::default() }
    }
}

impl LegacyCore {
    /// `limit` is the maximum message size, `bridge` the capabilities that the session declares.
    pub(super) fn new(
        wire: Arc<ServerHttp>,
        inbound: Inbound,
        limit: usize,
        bridge: DeclaredCapabilities,
    ) -> Self {
        let session = Arc::new(LegacySession::new(wire));
        Self {
            outbox: Arc::clone(&session) as Arc<dyn Outbox>,
            session,
            watch: SubscriptionWatch::new(Arc::clone(&inbound.listener)),
            inbound,
            drains: TaskGroup::new("drain", DRAINS),
            limit,
            renewing: tokio::sync::Mutex::default(),
            bridge,
        }
    }

    /// Follows the server's notification stream; the receiver resolves when the server has
    /// answered.
    fn following(core: &Arc<Self>) -> (Task, oneshot::Receiver<()>) {
        let (opened, answered) = oneshot::channel();
        let followed = Arc::clone(core).follow(opened);
        (crate::tasks::spawn("server stream", followed), answered)
    }

    fn waiting<'a>(&'a self, owner: StreamOwner<'a>) -> PendingResponse<'a> {
        PendingResponse {
            owner,
            inbound: &self.inbound,
            outbox: &self.outbox,
            drains: &self.drains,
            limit: self.limit,
        }
    }

    async fn exchange(
        &self,
        owner: StreamOwner<'_>,
        body: Bytes,
    ) -> Result<PostReply, RequestError> {
        let generation = self.session.generation();
        let response = self.session.wire.post(self.headers(owner), body.clone()).await?;
        let reply = self.waiting(owner).read(response).await?;
        if !self.is_session_lost(&reply) {
            return Ok(reply);
        }
        // The server refused before it processed the request, so sending it again is safe.
        self.renew(generation).await?;
        let response = self.session.wire.post(self.headers(owner), body).await?;
        self.waiting(owner).read(response).await
    }

    fn headers(&self, owner: StreamOwner<'_>) -> HeaderMap {
        let mut headers = self.session.headers();
        if let Some(trace) = owner.trace {
            header::write_trace(&mut headers, trace);
        }
        headers
    }

    /// 404 by the specification; some answer 400 with an error text about the session.
    fn is_session_lost(&self, reply: &PostReply) -> bool {
        let PostReply::Refused(status, error) = reply else { return false };
        let complains = |error: &JsonRpcError| error.message.to_lowercase().contains("session");
        let lost = match *status {
            StatusCode::NOT_FOUND => true,
            StatusCode::BAD_REQUEST => error.as_ref().is_some_and(complains),
            _ => false,
        };
        lost && self.session.has_id()
    }

    /// Waits for the answer, resuming streams that the server closes in between.
    async fn answer(
        &self,
        owner: StreamOwner<'_>,
        body: Bytes,
    ) -> Result<Box<RawValue>, RequestError> {
        let mut reply = self.exchange(owner, body).await?;
        let mut known = ResumePoint::default();
        let mut idle = 0;
        loop {
            let PostReply::Cut(cut) = reply else { return reply.into_outcome() };
            idle = if cut.events > 0 { 0 } else { idle + 1 };
            known.last_id = cut.last_id.or(known.last_id);
            known.retry = cut.retry.or(known.retry);
            let Some(last_id) = known.last_id.as_deref().filter(|_| idle <= RESUMES) else {
                return PostReply::Cut(ResumePoint::default()).into_outcome();
            };
            sleep(known.retry.unwrap_or(RETRY_DEFAULT).min(MAX_RETRY_DELAY)).await;
            reply = self.resume(owner, last_id).await?;
        }
    }

    async fn resume(
        &self,
        owner: StreamOwner<'_>,
        last_id: &str,
    ) -> Result<PostReply, RequestError> {
        let mut headers = self.session.headers();
        let Ok(last_id) = HeaderValue::from_str(last_id) else {
            return Ok(PostReply::Cut(ResumePoint::default()));
        };
        headers.insert(header::LAST_EVENT_ID, last_id);
        match self.session.wire.get_stream(headers).await {
            Ok(response) => self.waiting(owner).read(response).await,
            // The server may be restarting: this uses up one attempt.
            Err(ServerHttpError::Unreachable(_) | ServerHttpError::Broken(_)) => {
                Ok(PostReply::Cut(ResumePoint::default()))
            }
            Err(failed) => Err(failed.into()),
        }
    }
}

#[async_trait]
impl McpConnection for LegacyHttp {
    fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    async fn request(&self, request: OutgoingRequest<'_>) -> Result<Answer, RequestError> {
        let core = match DeclaredCapabilities::of(request.client) {
            DeclaredCapabilities::NONE => Arc::clone(&self.core),
            bridge => self.interactive.core_for(bridge).await?,
        };
        let core = &*core;
        let id = core.inbound.table.next_id();
        let wants_logs = request.client.log_level.is_some();
        let entry = InFlightEntry {
            events: request.events.clone(),
            wants_logs,
            kind: InFlightRequestKind::of(request.method),
            ..InFlightEntry::default()
        };
        core.inbound.table.insert(id, entry)?;
        let mut given_up = CancelOnDrop { core, id, is_over: false };
        let events = request.events.as_ref();
        let trace = request.trace;
        let owner = StreamOwner { id, events, wants_logs, trace };
        let hop = request.hop(id);
        let params = outgoing::params(request.params, self.facts.revision, &hop);
        let message = write::request(&JsonRpcId::number(id), request.method, &params);
        let outcome = core.answer(owner, message.into()).await;
        given_up.is_over = true;
        outgoing::answer(self.facts.era(), outcome?).await
    }

    async fn notify(&self, method: &str, params: Object<'_>) -> Result<(), RequestError> {
        self.core.session.send(write::notification(method, &params.to_text())).await
    }

    async fn watch(&self, resources: &[String]) -> Result<(), RequestError> {
        {
            let mut stream = self.stream.lock();
            if stream.is_none() {
                *stream = Some(LegacyCore::following(&self.core).0);
            }
        }
        self.core.watch.subscribe(self, resources).await
    }

    async fn close(&self) {
        *self.stream.lock() = None;
        self.core.inbound.table.close("the connection was closed");
        tokio::join!(self.core.session.close(), self.interactive.close());
    }
}

impl Drop for LegacyHttp {
    fn drop(&mut self) {
        self.core.inbound.abandon_questions();
        self.core.session.abandon();
    }
}

/// Removes a request from the table; if it was abandoned, cancels it at the server.
struct CancelOnDrop<'a> {
    core: &'a LegacyCore,
    id: u64,
    is_over: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.core.inbound.table.remove(self.id);
        if !self.is_over {
            self.core.session.send_later(cancellation_message(self.id));
        }
    }
}
