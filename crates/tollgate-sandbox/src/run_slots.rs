//! Concurrency limit of programs, with back-pressure and load shedding.
//!
//! A program that waits for a person releases its slot meanwhile, so that others can run. Used by
//! the sandbox and by runs; independent of processes.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::program::SandboxUnavailableError;
use crate::stopwatch::Stopwatch;

/// Per slot, this many programs may be queued, and this many started ones may have released their
/// slot.
const MORE: usize = 4;

/// Everything is bounded: a queued program costs memory, and a started one a process.
#[derive(Debug)]
pub(crate) struct RunSlots {
    together: usize,
    seats: Arc<Semaphore>,
    /// Programs that have started and not ended, with or without a slot.
    begun: Arc<Semaphore>,
    /// The queue of programs that have not started.
    line: Semaphore,
    /// Only the head of the queue waits for a slot itself: a program that resumes, and may already
    /// have had effects, waits behind at most one of them.
    front: Semaphore,
}

/// The slot of a started program.
#[derive(Debug)]
pub(crate) struct RunSlot {
    seats: Arc<RunSlots>,
    /// `None` while the slot is released.
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

    /// Waits for a slot until `deadline`, unless the queue is full.
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

    /// No more slots are given out.
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
    /// Waits for `calls`; while they hold `time`, the slot is released. Takes a slot again before
    /// it returns, which may take a while. An error: the slots were closed.
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
