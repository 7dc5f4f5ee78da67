//! Readiness probe for load balancers and orchestrators, answered within milliseconds under any
//! load.
//!
//! It never waits for a database: it reports the last result, and refreshes it in the background.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use tokio::sync::{Notify, watch};
use tollgate_engine::gate::Gate;
use tollgate_engine::servers::Readiness;
use tollgate_mcp::tasks::{self, Task};
use tollgate_store::memory::MemoryError;

use crate::mcp::AppState;
use crate::pressure::PressureLevel;

/// The last result is reported without a new check for this long.
const FRESH: Duration = Duration::from_millis(250);
/// How long a probe waits for a check in progress.
const LOOK_TIME: Duration = Duration::from_millis(40);

/// A memory database that is away does not affect readiness: only its tools fail. An audit ledger
/// that cannot be written does, if calls are refused because of it. The route is public, so it
/// contains no locations.
#[derive(Serialize)]
struct ReadyJson {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    audit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<&'static str>,
}

pub(crate) async fn response(front: &AppState) -> Response {
    let audit = front.gate.ledger().trouble().map(|_| "failing");
    let state = state(front, audit.is_some());
    let memory = match &front.memory_check {
        Some(check) => Some(check.latest(front.clock.now()).await),
        None => None,
    };
    let status = if state == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(ReadyJson { state, audit, memory })).into_response()
}

fn state(front: &AppState, is_audit_failing: bool) -> &'static str {
    if front.stopping.is_cancelled() || front.stop.is_cancelled() {
        return "stopping";
    }
    if front.pressure.level() >= PressureLevel::Severe {
        return "short_of_memory";
    }
    if is_audit_failing && front.gate.needs_audit() {
        return "audit_failing";
    }
    match front.gate.is_ready() {
        Readiness::Ready => "ready",
        Readiness::Starting => "starting",
    }
}

/// Checks the memory's database on demand, in the background.
pub(crate) struct MemoryCheck {
    shared: Arc<MemoryCheckState>,
    _task: Task,
}

struct MemoryCheckState {
    wanted: Notify,
    found: watch::Sender<Option<MemoryCheckResult>>,
}

#[derive(Debug, Clone, Copy)]
struct MemoryCheckResult {
    at: Instant,
    state: &'static str,
}

impl MemoryCheck {
    /// `None` without a memory. Must be called within a runtime.
    pub(crate) fn start(
        gate: &Arc<Gate>,
        now: impl Fn() -> Instant + Send + 'static,
    ) -> Option<Self> {
        gate.memory()?;
        let shared =
            Arc::new(MemoryCheckState { wanted: Notify::new(), found: watch::Sender::new(None) });
        let (gate, asked) = (Arc::downgrade(gate), Arc::clone(&shared));
        let task = tasks::spawn("memory check", async move {
            loop {
                asked.wanted.notified().await;
                let Some(gate) = gate.upgrade() else { return };
                let Some(mind) = gate.memory() else { return };
                let state = match mind.health().await {
                    Ok(()) => "ready",
                    Err(MemoryError::Slow(_)) => "slow",
                    Err(MemoryError::Away(_)) => "away",
                    Err(
                        MemoryError::Failed(_) | MemoryError::Invalid(_) | MemoryError::NoEntity(_),
                    ) => "failed",
                };
                asked.found.send_replace(Some(MemoryCheckResult { at: now(), state }));
            }
        });
        Some(Self { shared, _task: task })
    }

    /// The last result, or a new one if it arrives within a moment.
    async fn latest(&self, now: Instant) -> &'static str {
        let mut found = self.shared.found.subscribe();
        let is_fresh = |found: &MemoryCheckResult| now.saturating_duration_since(found.at) < FRESH;
        let last = *found.borrow_and_update();
        if let Some(last) = last.filter(is_fresh) {
            return last.state;
        }
        self.shared.wanted.notify_one();
        let looked = tokio::time::timeout(LOOK_TIME, found.changed()).await;
        let now = looked.ok().and_then(|_| *found.borrow());
        now.or(last).map_or("slow", |found| found.state)
    }
}
