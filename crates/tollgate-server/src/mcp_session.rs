//! Legacy MCP session: state from `initialize`, running requests and open questions to the client.
//! A session belongs to one principal and one agent. For anybody else it does not exist.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::{AbortHandle, AbortRegistration};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tollgate_core::filter::RequestFilter;
use tollgate_core::lease::RevocableLease;
use tollgate_engine::resource_watches::ResourceWatch;
use tollgate_mcp::Revision;
use tollgate_mcp::client::Question;
use tollgate_mcp::envelope::{JsonRpcId, write};
use tollgate_mcp::error_code::JsonRpcError;
use tollgate_mcp::meta::ClientFacts;

use crate::request_context::RequestContext;

mod list_digests;
mod log_level;
mod registry;

pub(crate) use list_digests::ListDigests;
pub(crate) use log_level::McpLogLevel;
pub(crate) use registry::{McpSessionRegistry, SessionLimitError};

/// What a session begins with.
pub(crate) struct McpSessionParams {
    /// The agent that the path or the headers name: the same on every request of the session.
    pub(crate) route: Option<Arc<str>>,
    pub(crate) who: RequestContext,
    /// Of its owner, by whichever secret, and of the agent.
    pub(crate) lease: RevocableLease,
    /// What its `_meta` takes away, for as long as the session lasts.
    pub(crate) filters: RequestFilter,
    pub(crate) revision: Revision,
    pub(crate) client: ClientFacts,
    /// The lists as they are when it begins.
    pub(crate) digests: ListDigests,
}

pub(crate) struct McpSession {
    pub(crate) id: Arc<str>,
    route: Option<Arc<str>>,
    /// As it was opened: by the filters in the headers of that one request, too.
    pub(crate) who: RequestContext,
    lease: RevocableLease,
    pub(crate) filters: RequestFilter,
    pub(crate) revision: Revision,
    last_used: AtomicU64,
    next: AtomicU64,
    state: Mutex<McpSessionState>,
}

struct McpSessionState {
    client: Arc<ClientFacts>,
    level: McpLogLevel,
    /// By a number of our own: a retrying client may reuse an id while the first request is
    /// running.
    running: HashMap<u64, (JsonRpcId, AbortHandle)>,
    questions: HashMap<u64, ClientReplySender>,
    watched: HashMap<String, ResourceWatch>,
    digests: ListDigests,
    /// Dropped when another stream takes over.
    stream: Option<oneshot::Sender<()>>,
}

type ClientReplySender = oneshot::Sender<Result<Box<RawValue>, JsonRpcError>>;

/// Default log level of a legacy client.
const FIRST_LEVEL: (&str, McpLogLevel) = ("info", McpLogLevel::Info);

impl McpSession {
    pub(crate) fn new(opening: McpSessionParams) -> Self {
        let McpSessionParams { route, who, lease, filters, revision, mut client, digests } =
            opening;
        client.log_level = Some(FIRST_LEVEL.0.to_owned());
        Self {
            id: format!("{:032x}", rand::random::<u128>()).into(),
            route,
            who,
            lease,
            filters,
            revision,
            last_used: AtomicU64::new(0),
            next: AtomicU64::new(1),
            state: Mutex::new(McpSessionState {
                client: Arc::new(client),
                level: FIRST_LEVEL.1,
                running: HashMap::new(),
                questions: HashMap::new(),
                watched: HashMap::new(),
                digests,
                stream: None,
            }),
        }
    }

    pub(crate) fn client(&self) -> Arc<ClientFacts> {
        Arc::clone(&self.state.lock().client)
    }

    pub(crate) fn log_level(&self) -> McpLogLevel {
        self.state.lock().level
    }

    pub(crate) fn set_log_level(&self, name: &str, level: McpLogLevel) {
        let mut state = self.state.lock();
        state.level = level;
        Arc::make_mut(&mut state.client).log_level = Some(name.to_owned());
    }

    /// The request is cancelled through the registration, and forgotten with [`RunningRequestGuard`].
    pub(crate) fn begin(
        self: &Arc<Self>,
        id: &JsonRpcId,
    ) -> (RunningRequestGuard, AbortRegistration) {
        let (handle, registration) = AbortHandle::new_pair();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.state.lock().running.insert(number, (id.clone(), handle));
        (RunningRequestGuard { session: Arc::clone(self), number }, registration)
    }

    /// Ends the request, if it is still running.
    pub(crate) fn cancel(&self, id: &JsonRpcId) {
        for (known, handle) in self.state.lock().running.values() {
            if known == id {
                handle.abort();
            }
        }
    }

    fn cancel_all(&self) {
        let mut state = self.state.lock();
        let running = std::mem::take(&mut state.running);
        state.stream = None;
        drop(state);
        running.into_values().for_each(|(_, handle)| handle.abort());
    }

    /// The question as a request of ours; the client answers under the id that it bears.
    pub(crate) fn ask(&self, question: Question) -> String {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        // Drop questions of calls that have ended.
        state.questions.retain(|_, reply| !reply.is_closed());
        state.questions.insert(id, question.reply);
        drop(state);
        let params = question.params.as_deref().map_or("{}", RawValue::get);
        write::request(&JsonRpcId::number(id), &question.method, params)
    }

    /// Takes the client's answer to a question of ours; one to no question is let pass.
    pub(crate) fn deliver_answer(&self, id: &JsonRpcId, answer: Result<&RawValue, JsonRpcError>) {
        let Ok(id) = id.as_json().parse::<u64>() else { return };
        let reply = self.state.lock().questions.remove(&id);
        if let Some(reply) = reply {
            let _ = reply.send(answer.map(ToOwned::to_owned));
        }
    }

    pub(crate) fn watches(&self, uri: &str) -> bool {
        self.state.lock().watched.contains_key(uri)
    }

    pub(crate) fn watched_count(&self) -> usize {
        self.state.lock().watched.len()
    }

    pub(crate) fn watched_uris(&self) -> Vec<String> {
        self.state.lock().watched.keys().cloned().collect()
    }

    pub(crate) fn watch(&self, uri: String, watch: ResourceWatch) {
        let before = self.state.lock().watched.insert(uri, watch);
        drop(before);
    }

    pub(crate) fn unwatch(&self, uri: &str) {
        let before = self.state.lock().watched.remove(uri);
        drop(before);
    }

    /// Takes the place of the stream that was open before, if there was one. The receiver fails
    /// when it is this one's turn to go.
    pub(crate) fn take_stream(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.state.lock().stream = Some(sender);
        receiver
    }

    pub(crate) fn last_digests(&self) -> ListDigests {
        self.state.lock().digests
    }

    pub(crate) fn set_last_digests(&self, digests: ListDigests) {
        self.state.lock().digests = digests;
    }
}

/// A request in flight; forgotten when dropped.
pub(crate) struct RunningRequestGuard {
    session: Arc<McpSession>,
    number: u64,
}

impl Drop for RunningRequestGuard {
    fn drop(&mut self) {
        self.session.state.lock().running.remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
