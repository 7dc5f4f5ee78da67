//! Legacy sessions: what a client said in `initialize`, what it waits for and what it is asked.
//! A session belongs to one principal and one agent; for anybody else it does not exist.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::{AbortHandle, AbortRegistration};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tollgate_core::filter::Narrow;
use tollgate_core::lease::Lease;
use tollgate_engine::watches::ResourceWatch;
use tollgate_mcp::Revision;
use tollgate_mcp::client::Question;
use tollgate_mcp::code::ErrorObject;
use tollgate_mcp::envelope::{Id, write};
use tollgate_mcp::meta::ClientFacts;

use super::listen::Digests;
use super::voice::Level;
use crate::who::Who;

mod registry;

pub(super) use registry::SessionLimitError;
pub(crate) use registry::SessionRegistry;

/// What a session begins with.
pub(super) struct Opening {
    /// The agent that the path or the headers name: the same on every request of the session.
    pub(super) route: Option<Arc<str>>,
    pub(super) who: Who,
    /// Of its owner, by whichever secret, and of the agent.
    pub(super) lease: Lease,
    /// What its `_meta` takes away, for as long as the session lasts.
    pub(super) filters: Narrow,
    pub(super) revision: Revision,
    pub(super) client: ClientFacts,
    /// The lists as they are when it begins.
    pub(super) told: Digests,
}

pub(super) struct Session {
    pub(super) id: Arc<str>,
    route: Option<Arc<str>>,
    /// As it was opened: by the filters in the headers of that one request, too.
    pub(super) who: Who,
    lease: Lease,
    pub(super) filters: Narrow,
    pub(super) revision: Revision,
    last_used: AtomicU64,
    next: AtomicU64,
    state: Mutex<State>,
}

struct State {
    client: Arc<ClientFacts>,
    level: Level,
    /// By a number of ours: a client that tries again may use an id while it is still running.
    running: HashMap<u64, (Id, AbortHandle)>,
    questions: HashMap<u64, Reply>,
    watched: HashMap<String, ResourceWatch>,
    told: Digests,
    /// Dropped when another stream takes over.
    stream: Option<oneshot::Sender<()>>,
}

type Reply = oneshot::Sender<Result<Box<RawValue>, ErrorObject>>;

/// What a legacy client hears of logs before it says anything about it.
const FIRST_LEVEL: (&str, Level) = ("info", Level::Info);

impl Session {
    pub(super) fn new(opening: Opening) -> Self {
        let Opening { route, who, lease, filters, revision, mut client, told } = opening;
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
            state: Mutex::new(State {
                client: Arc::new(client),
                level: FIRST_LEVEL.1,
                running: HashMap::new(),
                questions: HashMap::new(),
                watched: HashMap::new(),
                told,
                stream: None,
            }),
        }
    }

    pub(super) fn client(&self) -> Arc<ClientFacts> {
        Arc::clone(&self.state.lock().client)
    }

    pub(super) fn log_level(&self) -> Level {
        self.state.lock().level
    }

    pub(super) fn set_log_level(&self, name: &str, level: Level) {
        let mut state = self.state.lock();
        state.level = level;
        Arc::make_mut(&mut state.client).log_level = Some(name.to_owned());
    }

    /// The request is cancelled through the registration, and forgotten with [`Running`].
    pub(super) fn begin(self: &Arc<Self>, id: &Id) -> (Running, AbortRegistration) {
        let (handle, registration) = AbortHandle::new_pair();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.state.lock().running.insert(number, (id.clone(), handle));
        (Running { session: Arc::clone(self), number }, registration)
    }

    /// Ends the request, if it is still running.
    pub(super) fn cancel(&self, id: &Id) {
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
    pub(super) fn ask(&self, question: Question) -> String {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        // Of calls that are over, nobody waits for the answer any more.
        state.questions.retain(|_, reply| !reply.is_closed());
        state.questions.insert(id, question.reply);
        drop(state);
        let params = question.params.as_deref().map_or("{}", RawValue::get);
        write::request(&Id::number(id), &question.method, params)
    }

    /// Takes the client's answer to a question of ours; one to no question is let pass.
    pub(super) fn answered(&self, id: &Id, answer: Result<&RawValue, ErrorObject>) {
        let Ok(id) = id.as_json().parse::<u64>() else { return };
        let reply = self.state.lock().questions.remove(&id);
        if let Some(reply) = reply {
            let _ = reply.send(answer.map(ToOwned::to_owned));
        }
    }

    pub(super) fn watches(&self, uri: &str) -> bool {
        self.state.lock().watched.contains_key(uri)
    }

    pub(super) fn watched_count(&self) -> usize {
        self.state.lock().watched.len()
    }

    pub(super) fn watched(&self) -> Vec<String> {
        self.state.lock().watched.keys().cloned().collect()
    }

    pub(super) fn watch(&self, uri: String, watch: ResourceWatch) {
        let before = self.state.lock().watched.insert(uri, watch);
        drop(before);
    }

    pub(super) fn unwatch(&self, uri: &str) {
        let before = self.state.lock().watched.remove(uri);
        drop(before);
    }

    /// Takes the place of the stream that was open before, if there was one. The receiver fails
    /// when it is this one's turn to go.
    pub(super) fn take_stream(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.state.lock().stream = Some(sender);
        receiver
    }

    pub(super) fn told(&self) -> Digests {
        self.state.lock().told
    }

    pub(super) fn set_told(&self, told: Digests) {
        self.state.lock().told = told;
    }
}

/// A request in flight; forgotten when dropped.
pub(super) struct Running {
    session: Arc<Session>,
    number: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.session.state.lock().running.remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
