//! How many requests to one provider may be under way at the same time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Whoever waits longer is told to come again.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// More than so many times the slots do not wait at all.
const QUEUE: usize = 4;

pub(super) struct Slots {
    free: Arc<Semaphore>,
    /// Places to wait in.
    queue: Arc<Semaphore>,
}

/// A request under way. Dropping it lets the next one go.
#[derive(Debug)]
pub(super) struct Slot {
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

impl Slots {
    pub(super) fn new(concurrent: u32) -> Self {
        let slots = usize::try_from(concurrent).unwrap_or(usize::MAX).clamp(1, 1 << 20);
        let queue = Arc::new(Semaphore::new(slots * QUEUE));
        Self { free: Arc::new(Semaphore::new(slots)), queue }
    }

    pub(super) async fn take(&self) -> Result<Slot, Full> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(Slot { _permit: permit });
        }
        let _place = self.queue.try_acquire().map_err(|_| Full)?;
        let waited = timeout(LONGEST_WAIT, Arc::clone(&self.free).acquire_owned()).await;
        let permit = waited.map_err(|_| Full)?.map_err(|_| Full)?;
        Ok(Slot { _permit: permit })
    }
}

#[cfg(test)]
mod tests;
