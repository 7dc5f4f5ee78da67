//! The two background tasks of the meters: one evaluates samples, one saves them.

use std::sync::Arc;
use std::time::Duration;

use tollgate_mcp::tasks::{self, Task};

use super::ToolMeters;

/// Calls that end within this time are evaluated together.
const GATHER: Duration = Duration::from_millis(50);
/// Measurements that a crash may lose.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
/// After a failure.
const RETRY: Duration = Duration::from_secs(10);

/// Runs both tasks until it is dropped; then saves the rest.
pub(crate) struct MeterMaintenance {
    meters: Arc<ToolMeters>,
    _judge: Task,
    _save: Option<Task>,
}

impl ToolMeters {
    pub(crate) fn start_maintenance(self: &Arc<Self>) -> MeterMaintenance {
        let save = self.archive.is_some().then(|| {
            let meters = Arc::clone(self);
            tasks::spawn("measurements", async move { meters.keep_saving().await })
        });
        let meters = Arc::clone(self);
        let judge = tasks::spawn("tiers", async move { meters.keep_judging().await });
        MeterMaintenance { meters: Arc::clone(self), _judge: judge, _save: save }
    }

    /// Saves everything measured so far.
    pub(crate) async fn flush(self: &Arc<Self>) -> Result<(), tollgate_store::Error> {
        let meters = Arc::clone(self);
        let saved = tokio::task::spawn_blocking(move || meters.save()).await;
        // The panic hook has already reported a panic.
        saved.unwrap_or(Ok(()))
    }

    async fn keep_judging(&self) {
        loop {
            let look = async {
                match self.next_look() {
                    Some(due) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.wake.notified() => {}
                () = look => {}
            }
            tokio::time::sleep(GATHER).await;
            self.judge();
        }
    }

    async fn keep_saving(self: &Arc<Self>) {
        let meters = Arc::clone(self);
        let forgotten = tokio::task::spawn_blocking(move || {
            if let Some(archive) = &meters.archive {
                archive.forget_old(meters.clock.wall());
            }
        });
        let _ = forgotten.await;
        loop {
            self.judged.notified().await;
            tokio::time::sleep(SAVE_INTERVAL).await;
            while self.flush().await.is_err() {
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

impl Drop for MeterMaintenance {
    fn drop(&mut self) {
        // Already logged, and there is no further attempt.
        let _ = self.meters.save();
    }
}
