//! Modern Streamable HTTP: stateless requests; closing a response cancels its request.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use tokio::sync::oneshot;
use tollgate_core::json::Object;

use super::reply::{PendingResponse, PostReply, describe};
use super::server_http::ServerHttp;
use crate::client::in_flight_table::{InFlightEntry, InFlightRequestKind};
use crate::client::inbound::{Inbound, Outbox, StreamOwner};
use crate::client::watch::{SubscriptionTransport, SubscriptionWatch};
use crate::client::{Answer, McpConnection, OutgoingRequest, RequestError, ServerFacts, outgoing};
use crate::envelope::{JsonRpcId, write};
use crate::header;
use crate::tasks::TaskGroup;
use crate::web::body;

/// Maximum streams that are drained at the same time.
const DRAINS: usize = 64;

pub(super) struct ModernHttp {
    facts: ServerFacts,
    core: Arc<ModernCore>,
    watch: SubscriptionWatch,
}

/// State shared by the connection and its subscription.
pub(super) struct ModernCore {
    wire: ServerHttp,
    inbound: Inbound,
    outbox: Arc<dyn Outbox>,
    drains: TaskGroup,
    limit: usize,
}

impl ModernHttp {
    pub(super) fn new(core: ModernCore, facts: ServerFacts) -> Self {
        core.inbound.set_revision(facts.revision);
        let watch = SubscriptionWatch::new(Arc::clone(&core.inbound.listener));
        Self { facts, core: Arc::new(core), watch }
    }
}

impl ModernCore {
    pub(super) fn new(wire: ServerHttp, inbound: Inbound, limit: usize) -> Self {
        let drains = TaskGroup::new("drain", DRAINS);
        Self { wire, inbound, outbox: Arc::new(NullOutbox), drains, limit }
    }

    /// Returns the transport for another attempt, if the server is a legacy one.
    pub(super) fn into_wire(self) -> ServerHttp {
        self.wire
    }

    /// Sends `server/discover`, with the headers of every modern request.
    pub(super) async fn discover(&self, params: &str) -> Result<PostReply, RequestError> {
        let id = self.inbound.table.next_id();
        let method = "server/discover";
        let owner = StreamOwner { id, events: None, wants_logs: false, trace: None };
        let message = write::request(&JsonRpcId::number(id), method, params);
        let headers = headers(crate::Revision::NEWEST, method);
        let response = self.wire.post(headers, message.into()).await?;
        self.waiting(owner).read(response).await
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
}

#[async_trait]
impl McpConnection for ModernHttp {
    fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    async fn request(&self, request: OutgoingRequest<'_>) -> Result<Answer, RequestError> {
        let core = &*self.core;
        let id = core.inbound.table.next_id();
        let owner = StreamOwner {
            id,
            events: request.events.as_ref(),
            wants_logs: request.client.log_level.is_some(),
            trace: request.trace,
        };
        let mut headers = headers(self.facts.revision, request.method);
        if let Some(field) = header::named_by(request.method)
            && let Some(name) = request.params.string(field)
        {
            headers.insert(header::NAME, header::encode(&name));
        }
        for (suffix, value) in &request.mirrored {
            if let Some(name) = header::param(suffix) {
                headers.insert(name, header::encode(value));
            }
        }
        if let Some(trace) = request.trace {
            header::write_trace(&mut headers, trace);
        }
        let hop = request.hop(id);
        let params = outgoing::params(request.params, self.facts.revision, &hop);
        let message = write::request(&JsonRpcId::number(id), request.method, &params);
        let response = core.wire.post(headers, message.into()).await?;
        let reply = core.waiting(owner).read(response).await?;
        outgoing::answer(self.facts.era(), reply.into_outcome()?).await
    }

    async fn notify(&self, method: &str, params: Object<'_>) -> Result<(), RequestError> {
        let message = write::notification(method, &params.to_text());
        let headers = headers(self.facts.revision, method);
        let response = self.core.wire.post(headers, message.into()).await?;
        let status = response.status();
        body::discard(response).await;
        if status.is_success() {
            Ok(())
        } else {
            Err(RequestError::Unusable(describe(status, None)))
        }
    }

    async fn watch(&self, resources: &[String]) -> Result<(), RequestError> {
        let subscriber = Arc::clone(&self.core);
        self.watch.listen(&self.facts, resources, subscriber).await
    }

    async fn close(&self) {
        self.watch.stop();
    }
}

#[async_trait]
impl SubscriptionTransport for ModernCore {
    async fn listen(&self, params: &str, opened: oneshot::Sender<()>) -> Result<(), RequestError> {
        let id = self.inbound.table.next_id();
        let entry = InFlightEntry {
            kind: InFlightRequestKind::Subscription,
            acknowledged: Some(opened),
            ..InFlightEntry::default()
        };
        self.inbound.table.insert(id, entry)?;
        let _registered = SubscriptionGuard { inbound: &self.inbound, id };
        let method = "subscriptions/listen";
        let message = write::request(&JsonRpcId::number(id), method, params);
        let headers = headers(self.inbound.revision(), method);
        let response = self.wire.post(headers, Bytes::from(message)).await?;
        let owner = StreamOwner { id, events: None, wants_logs: false, trace: None };
        let reply = self.waiting(owner).read(response).await?;
        reply.into_outcome().map(drop)
    }
}

/// Removes a subscription from the table when it ends.
struct SubscriptionGuard<'a> {
    inbound: &'a Inbound,
    id: u64,
}

impl Drop for SubscriptionGuard<'_> {
    fn drop(&mut self) {
        self.inbound.table.remove(self.id);
    }
}

fn headers(revision: crate::Revision, method: &str) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(header::PROTOCOL_VERSION, HeaderValue::from_static(revision.as_str()));
    headers.insert(header::METHOD, header::encode(method));
    headers
}

/// Modern servers are only sent requests; their own requests are not answered.
struct NullOutbox;

#[async_trait]
impl Outbox for NullOutbox {
    async fn send(&self, _: String) -> Result<(), RequestError> {
        Ok(())
    }

    fn send_later(&self, _: String) {}
}
