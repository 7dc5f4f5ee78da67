//! Concurrency limit of one provider, with load shedding: a maximum of concurrent requests, a
//! bounded queue, and rejection with a retry delay beyond that.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Maximum time in the queue; then the request is rejected as overloaded.
const MAX_QUEUE_WAIT: Duration = Duration::from_secs(5);
/// Queue size as a multiple of the slots; requests beyond it are rejected at once.
const QUEUE_FACTOR: usize = 4;

pub(super) struct ProviderConcurrencyLimit {
    free: Arc<Semaphore>,
    /// Queue positions.
    queue: Arc<Semaphore>,
}

/// Permit of a running request. Dropping it admits the next one.
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

    pub(super) fn has_free(&self) -> bool {
        self.free.available_permits() > 0
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
