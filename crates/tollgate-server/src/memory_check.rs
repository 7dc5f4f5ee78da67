//! How the memory's database is. Nothing here waits for it: what was found last is told, and looked
//! at again beside it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use tollgate_engine::gate::Gate;
use tollgate_mcp::tasks::{self, Task};
use tollgate_store::memory::MemoryError;

/// For so long what was found last is told without looking again.
const FRESH: Duration = Duration::from_millis(250);
/// Whoever asks waits no longer for what is being found out.
const LOOK_TIME: Duration = Duration::from_millis(40);

/// Asks the memory's database how it is, when somebody wants to know.
pub(crate) struct MemoryCheck {
    shared: Arc<MemoryCheckState>,
    _task: Task,
}

struct MemoryCheckState {
    requested: Notify,
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
        let shared = Arc::new(MemoryCheckState {
            requested: Notify::new(),
            found: watch::Sender::new(None),
        });
        let gate = Arc::downgrade(gate);
        let checked = Arc::clone(&shared);
        let task = tasks::spawn("memory check", async move {
            loop {
                checked.requested.notified().await;
                let Some(gate) = gate.upgrade() else { return };
                let Some(memory) = gate.memory() else { return };
                let state = match memory.health().await {
                    Ok(()) => "ready",
                    Err(MemoryError::Slow(_)) => "slow",
                    Err(MemoryError::Away(_)) => "away",
                    Err(
                        MemoryError::Failed(_) | MemoryError::Invalid(_) | MemoryError::NoEntity(_),
                    ) => "failed",
                };
                checked.found.send_replace(Some(MemoryCheckResult { at: now(), state }));
            }
        });
        Some(Self { shared, _task: task })
    }

    /// What was found last, or is found within a moment.
    pub(crate) async fn latest(&self, now: Instant) -> &'static str {
        let mut found = self.shared.found.subscribe();
        let is_fresh = |found: &MemoryCheckResult| now.saturating_duration_since(found.at) < FRESH;
        let last = *found.borrow_and_update();
        if let Some(last) = last.filter(is_fresh) {
            return last.state;
        }
        self.shared.requested.notify_one();
        let looked = tokio::time::timeout(LOOK_TIME, found.changed()).await;
        let now = looked.ok().and_then(|_| *found.borrow());
        now.or(last).map_or("slow", |found| found.state)
    }
}
