//! Concurrency limit of one provider, with load shedding: how many requests may be under way at the
//! same time, how many may wait for their turn, and who is told to come again.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Whoever waits longer is told to come again.
const MAX_QUEUE_WAIT: Duration = Duration::from_secs(5);
/// More than so many times the slots do not wait at all.
const QUEUE_FACTOR: usize = 4;

pub(super) struct ProviderConcurrencyLimit {
    free: Arc<Semaphore>,
    /// Places to wait in.
    queue: Arc<Semaphore>,
}

/// A request under way. Dropping it lets the next one go.
#[derive(Debug)]
pub(super) struct ProviderPermit {
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProviderFullError;

impl ProviderConcurrencyLimit {
    pub(super) fn new(concurrent: u32) -> Self {
        let slots = usize::try_from(concurrent).unwrap_or(usize::MAX).clamp(1, 1 << 20);
        let queue = Arc::new(Semaphore::new(slots * QUEUE_FACTOR));
        Self { free: Arc::new(Semaphore::new(slots)), queue }
    }

    pub(super) async fn take(&self) -> Result<ProviderPermit, ProviderFullError> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(ProviderPermit { _permit: permit });
        }
        let _place = self.queue.try_acquire().map_err(|_| ProviderFullError)?;
        let waited = timeout(MAX_QUEUE_WAIT, Arc::clone(&self.free).acquire_owned()).await;
        let permit = waited.map_err(|_| ProviderFullError)?.map_err(|_| ProviderFullError)?;
        Ok(ProviderPermit { _permit: permit })
    }
}

#[cfg(test)]
mod tests;
