//! All servers of this gateway, for operators: state, test, stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use tollgate_core::id::ServerId;

use crate::registry::CatalogRegistry;
use crate::settings::ServerDesiredState;
use crate::upstream::{
    StateEpisode, TestReport, TestVerdict, Upstream, UpstreamState, UpstreamStatus,
};

/// How long startup waits for servers that neither come up nor fail.
const GRACE: Duration = Duration::from_millis(2_500);

pub(crate) struct ServerDirectory {
    /// Replaced as a whole on a config reload.
    crew: ArcSwap<CurrentServers>,
    started: SystemTime,
    settled: AtomicBool,
}

struct CurrentServers {
    /// In-process servers, with the number of their tools.
    builtin: Vec<(ServerId, usize)>,
    upstreams: Vec<Arc<Upstream>>,
}

impl CurrentServers {
    fn find(&self, server: &str) -> Option<&Arc<Upstream>> {
        self.upstreams.iter().find(|upstream| upstream.id().as_str() == server)
    }
}

/// Whether the gateway's catalogue is complete yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    Starting,
}

#[derive(Debug, Clone)]
pub struct ServerStatus {
    pub id: ServerId,
    pub transport: &'static str,
    pub status: UpstreamStatus,
    pub desired: ServerDesiredState,
    /// When the server last answered.
    pub last_answer: Option<SystemTime>,
    /// Offline until someone logs in to it.
    pub needs_login: bool,
}

impl ServerDirectory {
    pub(crate) fn new(
        builtin: Vec<(ServerId, usize)>,
        upstreams: Vec<Arc<Upstream>>,
        started: SystemTime,
    ) -> Self {
        let crew = ArcSwap::from_pointee(CurrentServers { builtin, upstreams });
        Self { crew, started, settled: AtomicBool::new(false) }
    }

    pub(crate) fn replace(&self, builtin: Vec<(ServerId, usize)>, upstreams: Vec<Arc<Upstream>>) {
        self.crew.store(Arc::new(CurrentServers { builtin, upstreams }));
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
            desired: ServerDesiredState::Enabled,
            last_answer: None,
            needs_login: false,
        });
        let upstream = crew.upstreams.iter().map(|upstream| ServerStatus {
            id: upstream.id().clone(),
            transport: upstream.transport(),
            status: upstream.status(),
            desired: upstream.desired_state(),
            last_answer: upstream.last_answer(),
            needs_login: upstream.needs_login(),
        });
        builtin.chain(upstream).collect()
    }

    /// The state of a server in one word, for any caller. The reason may contain the server's
    /// stderr and is for operators only.
    pub(crate) fn word(&self, server: &ServerId) -> &'static str {
        let crew = self.crew.load();
        let upstream = crew.find(server.as_str());
        upstream.map_or("gone", |upstream| upstream.status().state.as_str())
    }

    /// The same for a caller whose tool is missing: whether it is worth while to try again.
    pub(crate) fn describe_absence(&self, server: &ServerId) -> &'static str {
        match self.word(server) {
            "starting" => "still starting; try again shortly",
            state => state,
        }
    }

    /// Whether calls reach it without starting it first. In-process servers are always up.
    pub(crate) fn is_up(&self, server: &ServerId) -> bool {
        let crew = self.crew.load();
        crew.find(server.as_str()).is_none_or(|upstream| upstream.is_up())
    }

    pub(crate) async fn test(&self, server: &str) -> Option<TestReport> {
        let crew = self.crew.load_full();
        if let Some((_, tools)) = crew.builtin.iter().find(|(id, _)| id.as_str() == server) {
            return Some(TestReport {
                verdict: TestVerdict::Works,
                message: "runs in this process".to_owned(),
                protocol: None,
                tools: *tools,
                took: Duration::ZERO,
            });
        }
        Some(crew.find(server)?.test().await)
    }

    pub(crate) fn history(&self, server: &str) -> Option<Vec<StateEpisode>> {
        let crew = self.crew.load();
        if crew.builtin.iter().any(|(id, _)| id.as_str() == server) {
            let UpstreamStatus { state, reason, since, .. } = self.builtin_status(0);
            return Some(vec![StateEpisode { at: since, state, reason }]);
        }
        Some(crew.find(server)?.history())
    }

    pub(crate) fn readiness(&self) -> Readiness {
        if self.settled.load(Ordering::Relaxed) { Readiness::Ready } else { Readiness::Starting }
    }

    /// Waits for the eager servers, each with its own timeout, and for a catalogue that has them.
    pub(crate) async fn wait_until_settled(&self, registry: &CatalogRegistry) {
        let crew = self.crew.load_full();
        let all =
            futures_util::future::join_all(crew.upstreams.iter().map(|it| it.wait_until_settled()));
        let _ = tokio::time::timeout(GRACE, all).await;
        registry.flush().await;
        self.settled.store(true, Ordering::Relaxed);
    }

    pub(crate) async fn stop(&self) {
        let crew = self.crew.load_full();
        futures_util::future::join_all(crew.upstreams.iter().map(|it| it.stop())).await;
    }

    fn builtin_status(&self, tools: usize) -> UpstreamStatus {
        UpstreamStatus {
            state: UpstreamState::Ready,
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
