//! Stopwatch of a run, paused while a person is waited for. The host pauses it; the run ends by it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock;

/// Clones share the same time.
#[derive(Debug, Clone)]
pub struct Stopwatch(Arc<watch::Sender<StopwatchReading>>);

/// Pauses the stopwatch until it is dropped.
#[derive(Debug)]
#[must_use = "the stopwatch runs on when this is dropped"]
pub struct StopwatchHold(Stopwatch);

#[derive(Debug, Clone, Copy)]
struct StopwatchReading {
    /// Accumulated time up to the last change.
    ran: Duration,
    changed: Instant,
    holders: usize,
}

impl Stopwatch {
    pub fn start() -> Self {
        let reading = StopwatchReading { ran: Duration::ZERO, changed: clock::now(), holders: 0 };
        Self(Arc::new(watch::Sender::new(reading)))
    }

    /// Pauses it as long as the returned guard lives. Several guards may exist at once.
    pub fn hold(&self) -> StopwatchHold {
        self.change(|holders| holders + 1);
        StopwatchHold(self.clone())
    }

    /// Returns once the stopwatch shows `limit`.
    pub(crate) async fn reaches(&self, limit: Duration) {
        let mut changes = self.0.subscribe();
        loop {
            let due = changes.borrow_and_update().due(limit);
            let reached = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                // A hold at the last moment still counts.
                Ok(()) = changes.changed() => {}
                () = reached => return,
            }
        }
    }

    /// Returns once it is paused.
    pub(crate) async fn stands(&self) {
        // The sender lives as long as `self` does.
        let _ = self.0.subscribe().wait_for(|reading| reading.holders > 0).await;
    }

    fn change(&self, holders: impl FnOnce(usize) -> usize) {
        let now = clock::now();
        self.0.send_modify(|reading| {
            if reading.holders == 0 {
                reading.ran += now.saturating_duration_since(reading.changed);
            }
            reading.changed = now;
            reading.holders = holders(reading.holders);
        });
    }
}

impl Drop for StopwatchHold {
    fn drop(&mut self) {
        self.0.change(|holders| holders.saturating_sub(1));
    }
}

impl StopwatchReading {
    /// When it will show `limit`, unless it is paused.
    fn due(self, limit: Duration) -> Option<Instant> {
        (self.holders == 0).then(|| self.changed + limit.saturating_sub(self.ran))
    }
}

#[cfg(test)]
mod tests;
