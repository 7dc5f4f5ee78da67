//! Streamable HTTP of the modern era: every request stands alone; closing its response cancels it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use tokio::sync::oneshot;
use tollgate_core::json::Object;

use super::reply::{Reply, Waiting, describe};
use super::wire::Wire;
use crate::client::inbound::{Inbound, Outbox, Owner};
use crate::client::table::{Entry, Kind};
use crate::client::watch::{Subscribe, Watch};
use crate::client::{Answer, Connection, Request, RequestError, ServerFacts, outgoing};
use crate::envelope::{Id, write};
use crate::header;
use crate::tasks::Group;
use crate::web::body;

/// Streams that may be ending at one time.
const DRAINS: usize = 64;

pub(super) struct Modern {
    facts: ServerFacts,
    core: Arc<Core>,
    watch: Watch,
}

/// What the connection and its subscription share.
pub(super) struct Core {
    wire: Wire,
    inbound: Inbound,
    outbox: Arc<dyn Outbox>,
    drains: Group,
    limit: usize,
}

impl Modern {
    pub(super) fn new(core: Core, facts: ServerFacts) -> Self {
        core.inbound.agreed(facts.revision);
        let watch = Watch::new(Arc::clone(&core.inbound.listener));
        Self { facts, core: Arc::new(core), watch }
    }
}

impl Core {
    pub(super) fn new(wire: Wire, inbound: Inbound, limit: usize) -> Self {
        let drains = Group::new("drain", DRAINS);
        Self { wire, inbound, outbox: Arc::new(Silent), drains, limit }
    }

    /// For another attempt, once the server turned out to be a legacy one.
    pub(super) fn into_wire(self) -> Wire {
        self.wire
    }

    /// Asks what the server is. The headers are those of every modern request.
    pub(super) async fn discover(&self, params: &str) -> Result<Reply, RequestError> {
        let id = self.inbound.table.next_id();
        let method = "server/discover";
        let owner = Owner { id, events: None, wants_logs: false, trace: None };
        let message = write::request(&Id::number(id), method, params);
        let headers = headers(crate::Revision::NEWEST, method);
        let response = self.wire.post(headers, message.into()).await?;
        self.waiting(owner).read(response).await
    }

    fn waiting<'a>(&'a self, owner: Owner<'a>) -> Waiting<'a> {
        Waiting {
            owner,
            inbound: &self.inbound,
            outbox: &self.outbox,
            drains: &self.drains,
            limit: self.limit,
        }
    }
}

#[async_trait]
impl Connection for Modern {
    fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    async fn request(&self, request: Request<'_>) -> Result<Answer, RequestError> {
        let core = &*self.core;
        let id = core.inbound.table.next_id();
        let owner = Owner {
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
        let message = write::request(&Id::number(id), request.method, &params);
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
impl Subscribe for Core {
    async fn listen(&self, params: &str, opened: oneshot::Sender<()>) -> Result<(), RequestError> {
        let id = self.inbound.table.next_id();
        let entry =
            Entry { kind: Kind::Subscription, acknowledged: Some(opened), ..Entry::default() };
        self.inbound.table.insert(id, entry)?;
        let _registered = Registered { inbound: &self.inbound, id };
        let method = "subscriptions/listen";
        let message = write::request(&Id::number(id), method, params);
        let headers = headers(self.inbound.revision(), method);
        let response = self.wire.post(headers, Bytes::from(message)).await?;
        let owner = Owner { id, events: None, wants_logs: false, trace: None };
        let reply = self.waiting(owner).read(response).await?;
        reply.into_outcome().map(drop)
    }
}

/// Takes a subscription off the table when it ends.
struct Registered<'a> {
    inbound: &'a Inbound,
    id: u64,
}

impl Drop for Registered<'_> {
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

/// Modern servers are sent requests only; whatever else they ask stays unanswered.
struct Silent;

#[async_trait]
impl Outbox for Silent {
    async fn send(&self, _: String) -> Result<(), RequestError> {
        Ok(())
    }

    fn send_later(&self, _: String) {}
}
