//! Concurrency limit with back-pressure and load shedding: how many programs run at a time, and who
//! waits for that.
//!
//! A program that waits for a person stands aside meanwhile, so that others can run. Used by the
//! sandbox and by runs; knows no processes.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::program::SandboxUnavailableError;
use crate::stopwatch::Stopwatch;

/// For each that may run, so many may wait for their turn, and so many more may have begun: these
/// stand aside.
const MORE: usize = 4;

/// Bounded in every way: whoever waits costs memory, and whoever stands aside has a process.
#[derive(Debug)]
pub(crate) struct RunSlots {
    together: usize,
    seats: Arc<Semaphore>,
    /// Whoever has begun and not ended, in a seat or aside.
    begun: Arc<Semaphore>,
    /// Whoever has not begun waits here.
    line: Semaphore,
    /// Only the first of the line waits for a seat itself: whoever comes back, and may have done
    /// things already, waits for no more than one of them.
    front: Semaphore,
}

/// One of the programs that run at a time.
#[derive(Debug)]
pub(crate) struct RunSlot {
    seats: Arc<RunSlots>,
    /// `None` while it stands aside.
    place: Option<OwnedSemaphorePermit>,
    _begun: OwnedSemaphorePermit,
}

impl RunSlots {
    pub(crate) fn new(together: usize) -> Self {
        let together = together.clamp(1, Semaphore::MAX_PERMITS / (MORE + 1));
        Self {
            together,
            seats: Arc::new(Semaphore::new(together)),
            begun: Arc::new(Semaphore::new((MORE + 1) * together)),
            line: Semaphore::new(MORE * together),
            front: Semaphore::new(1),
        }
    }

    /// Waits for its turn until `deadline`, unless too many do.
    pub(crate) async fn take(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<RunSlot, SandboxUnavailableError> {
        let busy = || SandboxUnavailableError::Busy { together: self.together };
        let _waits = self.line.try_acquire().map_err(|_| busy())?;
        match tokio::time::timeout_at(deadline, self.turn()).await {
            Ok(Ok(seat)) => Ok(seat),
            Ok(Err(_)) => Err(SandboxUnavailableError::Shut),
            Err(_) => Err(busy()),
        }
    }

    /// Nobody gets a seat any more.
    pub(crate) fn close(&self) {
        for semaphore in [&*self.seats, &*self.begun, &self.front] {
            semaphore.close();
        }
    }

    async fn turn(self: &Arc<Self>) -> Result<RunSlot, AcquireError> {
        let _first = self.front.acquire().await?;
        let begun = Arc::clone(&self.begun).acquire_owned().await?;
        let place = self.place().await?;
        Ok(RunSlot { seats: Arc::clone(self), place: Some(place), _begun: begun })
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.seats).acquire_owned().await
    }
}

impl RunSlot {
    /// Waits for `calls`; once they hold `time`, others may sit here. Has a seat again when it
    /// comes back, which may take a while. An error: there are no seats any more.
    pub(crate) async fn during<T>(
        &mut self,
        calls: impl Future<Output = T>,
        time: &Stopwatch,
    ) -> Result<T, AcquireError> {
        let mut calls = pin!(calls);
        tokio::select! {
            biased;
            done = &mut calls => return Ok(done),
            () = time.stands() => self.place = None,
        }
        let done = calls.await;
        self.place = Some(self.seats.place().await?);
        Ok(done)
    }
}

#[cfg(test)]
mod tests;
