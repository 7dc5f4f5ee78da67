//! Stopwatch of a run, paused while a person is waited for. The host pauses it; the run ends by it.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock;

/// Clones share the same time.
#[derive(Debug, Clone)]
pub struct Stopwatch {
    reading: Arc<watch::Sender<StopwatchReading>>,
    /// What is waited for, in words, by the number of its hold.
    reasons: Arc<Mutex<BTreeMap<u64, String>>>,
}

/// Pauses the stopwatch until it is dropped.
#[derive(Debug)]
#[must_use = "the stopwatch runs on when this is dropped"]
pub struct StopwatchHold {
    watch: Stopwatch,
    /// Number of its reason.
    reason: Option<u64>,
}

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
        Self { reading: Arc::new(watch::Sender::new(reading)), reasons: Arc::default() }
    }

    /// Pauses it as long as the returned guard lives. Several guards may exist at once.
    pub fn hold(&self) -> StopwatchHold {
        self.change(|holders| holders + 1);
        StopwatchHold { watch: self.clone(), reason: None }
    }

    /// The same, with what is waited for: a program that is ended meanwhile is told.
    pub fn hold_for(&self, what: String) -> StopwatchHold {
        let mut reasons = self.reasons.lock();
        let number = reasons.last_key_value().map_or(0, |(last, _)| last + 1);
        reasons.insert(number, what);
        drop(reasons);
        self.change(|holders| holders + 1);
        StopwatchHold { watch: self.clone(), reason: Some(number) }
    }

    /// What is waited for, the longest wait first.
    pub(crate) fn reasons(&self) -> Vec<String> {
        self.reasons.lock().values().cloned().collect()
    }

    /// Returns once the stopwatch shows `limit`.
    pub(crate) async fn reaches(&self, limit: Duration) {
        let mut changes = self.reading.subscribe();
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
        let _ = self.reading.subscribe().wait_for(|reading| reading.holders > 0).await;
    }

    fn change(&self, holders: impl FnOnce(usize) -> usize) {
        let now = clock::now();
        self.reading.send_modify(|reading| {
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
        if let Some(number) = self.reason {
            self.watch.reasons.lock().remove(&number);
        }
        self.watch.change(|holders| holders.saturating_sub(1));
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
