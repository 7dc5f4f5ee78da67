//! Legacy sessions: what a client said in `initialize`, what it waits for and what it is asked.
//! A session belongs to one principal and one agent; for anybody else it does not exist.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{AbortHandle, AbortRegistration};
use parking_lot::{Mutex, RwLock};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tollgate_core::filter::Narrow;
use tollgate_engine::clock::Clock;
use tollgate_engine::watches::ResourceWatch;
use tollgate_mcp::Revision;
use tollgate_mcp::client::Question;
use tollgate_mcp::code::ErrorObject;
use tollgate_mcp::envelope::{Id, write};
use tollgate_mcp::meta::ClientFacts;

use super::listen::Digests;
use super::voice::Level;
use crate::limits::Limits;
use crate::who::Who;

/// All sessions of a server.
pub(crate) struct Sessions {
    all: RwLock<HashMap<Arc<str>, Arc<Session>>>,
    limit: usize,
    idle: Duration,
    clock: Arc<dyn Clock>,
    since: Instant,
}

/// There are as many sessions as there may be.
#[derive(Debug, thiserror::Error)]
#[error("there are too many sessions; end one, or try again later")]
pub(super) struct TooMany;

impl Sessions {
    pub(super) fn new(clock: Arc<dyn Clock>, limits: &Limits) -> Self {
        let since = clock.now();
        let all = RwLock::default();
        Self { all, limit: limits.sessions, idle: limits.session_idle, clock, since }
    }

    pub(super) fn open(&self, opening: Opening) -> Result<Arc<Session>, TooMany> {
        if self.all.read().len() >= self.limit {
            self.sweep();
        }
        let session = Arc::new(Session::new(opening));
        session.last_used.store(self.now(), Ordering::Relaxed);
        let mut all = self.all.write();
        if all.len() >= self.limit {
            return Err(TooMany);
        }
        all.insert(Arc::clone(&session.id), Arc::clone(&session));
        Ok(session)
    }

    /// Says the same of a session that is another's and of one that never was.
    pub(super) fn find(&self, id: &str, who: &Who) -> Option<Arc<Session>> {
        let session = self.all.read().get(id).cloned()?;
        let is_owner = session.who.principal == who.principal && session.route == who.agent;
        if !is_owner || self.is_over(&session, 2) {
            return None;
        }
        session.last_used.store(self.now(), Ordering::Relaxed);
        Some(session)
    }

    pub(super) fn close(&self, session: &Session) {
        // Its watches end with it, outside of the lock.
        let closed = self.all.write().remove(&session.id);
        if let Some(closed) = closed {
            closed.cancel_all();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.all.read().len()
    }

    /// Forgets sessions that nobody used for long.
    pub(crate) fn sweep(&self) {
        self.forget(|session| self.is_over(session, 1));
    }

    /// Forgets all sessions that nothing runs in: there is no room for those who may come back.
    pub(crate) fn shed(&self) {
        self.forget(|session| Arc::strong_count(session) == 1);
    }

    fn forget(&self, is_over: impl Fn(&Arc<Session>) -> bool) {
        let mut over = Vec::new();
        self.all.write().retain(|_, session| {
            let is_over = is_over(session);
            if is_over {
                over.push(Arc::clone(session));
            }
            !is_over
        });
    }

    /// Idle for too long, and held by nobody but those who look: a running call or an open
    /// stream holds its session. Or its owner has lost the key, or got other rights with it.
    fn is_over(&self, session: &Arc<Session>, lookers: usize) -> bool {
        if !session.who.lease.holds() {
            return true;
        }
        let last = session.last_used.load(Ordering::Relaxed);
        let idle = Duration::from_millis(self.now().saturating_sub(last));
        idle > self.idle && Arc::strong_count(session) <= lookers
    }

    fn now(&self) -> u64 {
        let span = self.clock.now().saturating_duration_since(self.since);
        u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
    }
}

/// What a session begins with.
pub(super) struct Opening {
    /// The agent that the path or the headers name: the same on every request of the session.
    pub(super) route: Option<Arc<str>>,
    pub(super) who: Who,
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
        let Opening { route, who, filters, revision, mut client, told } = opening;
        client.log_level = Some(FIRST_LEVEL.0.to_owned());
        Self {
            id: format!("{:032x}", rand::random::<u128>()).into(),
            route,
            who,
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
