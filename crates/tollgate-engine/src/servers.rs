//! All servers of this gateway, for those who watch over them: state, test, stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use tollgate_core::id::ServerId;

use crate::registry::Registry;
use crate::upstream::{State, Status, TestReport, Upstream, Verdict};

/// How long a start waits for servers that neither come up nor fail.
const GRACE: Duration = Duration::from_millis(2_500);

pub(crate) struct Servers {
    builtin: Vec<(ServerId, usize)>,
    upstreams: Vec<Arc<Upstream>>,
    started: SystemTime,
    settled: AtomicBool,
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
}

impl Servers {
    pub(crate) fn new(
        builtin: Vec<(ServerId, usize)>,
        upstreams: Vec<Arc<Upstream>>,
        started: SystemTime,
    ) -> Self {
        Self { builtin, upstreams, started, settled: AtomicBool::new(false) }
    }

    pub(crate) fn statuses(&self) -> Vec<ServerStatus> {
        let builtin = self.builtin.iter().map(|(id, tools)| ServerStatus {
            id: id.clone(),
            transport: "in-process",
            status: self.builtin_status(*tools),
        });
        let upstream = self.upstreams.iter().map(|upstream| ServerStatus {
            id: upstream.id().clone(),
            transport: upstream.transport(),
            status: upstream.status(),
        });
        builtin.chain(upstream).collect()
    }

    /// How a server stands, in a word that any caller may hear: why it does may hold what the
    /// server wrote to stderr, and is for those who look after it.
    pub(crate) fn word(&self, server: &ServerId) -> &'static str {
        let upstream = self.upstreams.iter().find(|upstream| upstream.id() == server);
        upstream.map_or("gone", |upstream| upstream.status().state.as_str())
    }

    /// Whether calls reach it without it being started for them. What runs in this process is up.
    pub(crate) fn is_up(&self, server: &ServerId) -> bool {
        let upstream = self.upstreams.iter().find(|upstream| upstream.id() == server);
        upstream.is_none_or(|upstream| upstream.is_up())
    }

    pub(crate) async fn test(&self, server: &str) -> Option<TestReport> {
        if let Some((_, tools)) = self.builtin.iter().find(|(id, _)| id.as_str() == server) {
            return Some(TestReport {
                verdict: Verdict::Works,
                message: "runs in this process".to_owned(),
                protocol: None,
                tools: *tools,
                took: Duration::ZERO,
            });
        }
        let upstream = self.upstreams.iter().find(|upstream| upstream.id().as_str() == server)?;
        Some(upstream.test().await)
    }

    pub(crate) fn readiness(&self) -> Readiness {
        if self.settled.load(Ordering::Relaxed) { Readiness::Ready } else { Readiness::Starting }
    }

    /// Waits for the eager servers, each in its own time, and for a catalogue that has them.
    pub(crate) async fn settled(&self, registry: &Registry) {
        let all = futures_util::future::join_all(self.upstreams.iter().map(|it| it.settled()));
        let _ = tokio::time::timeout(GRACE, all).await;
        registry.flushed().await;
        self.settled.store(true, Ordering::Relaxed);
    }

    pub(crate) async fn stop(&self) {
        futures_util::future::join_all(self.upstreams.iter().map(|it| it.stop())).await;
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
