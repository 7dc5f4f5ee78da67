//! All servers of this gateway, for those who watch over them: state, test, stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use tollgate_core::id::ServerId;

use crate::registry::Registry;
use crate::settings::Wanted;
use crate::upstream::{Episode, State, Status, TestReport, Upstream, Verdict};

/// How long a start waits for servers that neither come up nor fail.
const GRACE: Duration = Duration::from_millis(2_500);

pub(crate) struct Servers {
    /// Swapped whole when the config changes.
    crew: ArcSwap<Crew>,
    started: SystemTime,
    settled: AtomicBool,
}

struct Crew {
    /// In this process, with the number of their tools.
    builtin: Vec<(ServerId, usize)>,
    upstreams: Vec<Arc<Upstream>>,
}

impl Crew {
    fn find(&self, server: &str) -> Option<&Arc<Upstream>> {
        self.upstreams.iter().find(|upstream| upstream.id().as_str() == server)
    }
}

/// Whether the gateway knows by now what it has to offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    Starting,
}

#[derive(Debug, Clone)]
pub struct ServerStatus {
    pub id: ServerId,
    pub transport: &'static str,
    pub status: Status,
    pub wanted: Wanted,
    /// When something that it was asked last came back.
    pub last_heard: Option<SystemTime>,
    /// It is away until somebody consents to its use.
    pub needs_login: bool,
}

impl Servers {
    pub(crate) fn new(
        builtin: Vec<(ServerId, usize)>,
        upstreams: Vec<Arc<Upstream>>,
        started: SystemTime,
    ) -> Self {
        let crew = ArcSwap::from_pointee(Crew { builtin, upstreams });
        Self { crew, started, settled: AtomicBool::new(false) }
    }

    pub(crate) fn replace(&self, builtin: Vec<(ServerId, usize)>, upstreams: Vec<Arc<Upstream>>) {
        self.crew.store(Arc::new(Crew { builtin, upstreams }));
    }

    pub(crate) fn find(&self, server: &str) -> Option<Arc<Upstream>> {
        self.crew.load().find(server).map(Arc::clone)
    }

    pub(crate) fn statuses(&self) -> Vec<ServerStatus> {
        let crew = self.crew.load();
        let builtin = crew.builtin.iter().map(|(id, tools)| ServerStatus {
            id: id.clone(),
            transport: "in-process",
            status: self.builtin_status(*tools),
            wanted: Wanted::Enabled,
            last_heard: None,
            needs_login: false,
        });
        let upstream = crew.upstreams.iter().map(|upstream| ServerStatus {
            id: upstream.id().clone(),
            transport: upstream.transport(),
            status: upstream.status(),
            wanted: upstream.wanted(),
            last_heard: upstream.last_heard(),
            needs_login: upstream.needs_login(),
        });
        builtin.chain(upstream).collect()
    }

    /// How a server stands, in a word that any caller may hear: why it does may hold what the
    /// server wrote to stderr, and is for those who look after it.
    pub(crate) fn word(&self, server: &ServerId) -> &'static str {
        let crew = self.crew.load();
        let upstream = crew.find(server.as_str());
        upstream.map_or("gone", |upstream| upstream.status().state.as_str())
    }

    /// Whether calls reach it without it being started for them. What runs in this process is up.
    pub(crate) fn is_up(&self, server: &ServerId) -> bool {
        let crew = self.crew.load();
        crew.find(server.as_str()).is_none_or(|upstream| upstream.is_up())
    }

    pub(crate) async fn test(&self, server: &str) -> Option<TestReport> {
        let crew = self.crew.load_full();
        if let Some((_, tools)) = crew.builtin.iter().find(|(id, _)| id.as_str() == server) {
            return Some(TestReport {
                verdict: Verdict::Works,
                message: "runs in this process".to_owned(),
                protocol: None,
                tools: *tools,
                took: Duration::ZERO,
            });
        }
        Some(crew.find(server)?.test().await)
    }

    pub(crate) fn history(&self, server: &str) -> Option<Vec<Episode>> {
        let crew = self.crew.load();
        if crew.builtin.iter().any(|(id, _)| id.as_str() == server) {
            let Status { state, reason, since, .. } = self.builtin_status(0);
            return Some(vec![Episode { at: since, state, reason }]);
        }
        Some(crew.find(server)?.history())
    }

    pub(crate) fn readiness(&self) -> Readiness {
        if self.settled.load(Ordering::Relaxed) { Readiness::Ready } else { Readiness::Starting }
    }

    /// Waits for the eager servers, each in its own time, and for a catalogue that has them.
    pub(crate) async fn settled(&self, registry: &Registry) {
        let crew = self.crew.load_full();
        let all = futures_util::future::join_all(crew.upstreams.iter().map(|it| it.settled()));
        let _ = tokio::time::timeout(GRACE, all).await;
        registry.flushed().await;
        self.settled.store(true, Ordering::Relaxed);
    }

    pub(crate) async fn stop(&self) {
        let crew = self.crew.load_full();
        futures_util::future::join_all(crew.upstreams.iter().map(|it| it.stop())).await;
    }

    fn builtin_status(&self, tools: usize) -> Status {
        Status {
            state: State::Ready,
            reason: "runs in this process".to_owned(),
            since: self.started,
            restarts: 0,
            late_answers: 0,
            revision: None,
            tools,
            last_error: None,
            pid: None,
        }
    }
}
