//! Concurrency limit of programs, with back-pressure and load shedding.
//!
//! A program that waits for a person releases its slot meanwhile, so that others can run. Used by
//! the sandbox and by runs; independent of processes.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::program::SandboxUnavailableError;
use crate::stopwatch::Stopwatch;

/// Per slot, this many programs may be queued, and this many started ones may have released their
/// slot.
const MORE: usize = 4;
/// An owner gets this part of everything, and leaves the rest to others.
const OWNER_SHARE: usize = 2;

/// Everything is bounded: a queued program costs memory, and a started one a process.
#[derive(Debug)]
pub(crate) struct RunSlots {
    together: usize,
    seats: Arc<Semaphore>,
    /// Programs that have started and not ended, with or without a slot.
    begun: Arc<Semaphore>,
    max_begun: usize,
    /// The queue of programs that have not started.
    line: Semaphore,
    /// Only the head of the queue waits for a slot itself: a program that resumes, and may already
    /// have had effects, waits behind at most one of them.
    front: Semaphore,
    /// Of those who have programs.
    owners: Mutex<HashMap<String, Weak<OwnerSlots>>>,
}

/// The share of one owner.
#[derive(Debug)]
struct OwnerSlots {
    together: usize,
    seats: Arc<Semaphore>,
    begun: Arc<Semaphore>,
    line: Semaphore,
}

/// The slot of a started program.
#[derive(Debug)]
pub(crate) struct RunSlot {
    seats: Arc<RunSlots>,
    owner: Option<Arc<OwnerSlots>>,
    /// `None` while the slot is released.
    place: Option<SlotPermits>,
    _begun: SlotPermits,
}

/// Permits of all, and of the owner. The owner's is taken first, so that nobody who has used up
/// their share is in the way of others.
#[derive(Debug)]
struct SlotPermits {
    _all: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

impl RunSlots {
    /// For `together` programs that run, and at most `processes` that have started.
    pub(crate) fn new(together: usize, processes: usize) -> Self {
        let processes = processes.max(1);
        let together = together.clamp(1, Semaphore::MAX_PERMITS / (MORE + 1)).min(processes);
        let max_begun = ((MORE + 1) * together).min(processes);
        Self {
            together,
            seats: Arc::new(Semaphore::new(together)),
            begun: Arc::new(Semaphore::new(max_begun)),
            max_begun,
            line: Semaphore::new(MORE * together),
            front: Semaphore::new(1),
            owners: Mutex::default(),
        }
    }

    /// Waits for a slot until `deadline`, unless the queue is full. Without an owner there is no
    /// share.
    pub(crate) async fn take(
        self: &Arc<Self>,
        owner: Option<&str>,
        deadline: Instant,
    ) -> Result<RunSlot, SandboxUnavailableError> {
        let busy = || SandboxUnavailableError::Busy { together: self.together };
        let owner = owner.map(|owner| self.owner(owner));
        let own_busy = || match &owner {
            Some(owner) => SandboxUnavailableError::OwnerBusy { together: owner.together },
            None => busy(),
        };
        let _own_waits = match &owner {
            Some(owner) => Some(owner.line.try_acquire().map_err(|_| own_busy())?),
            None => None,
        };
        let own = async {
            let Some(owner) = &owner else { return Ok((None, None)) };
            let begun = Arc::clone(&owner.begun).acquire_owned().await?;
            Ok::<_, AcquireError>((Some(begun), Some(owner.place().await?)))
        };
        let (own_begun, own_place) = match tokio::time::timeout_at(deadline, own).await {
            Ok(own) => own.map_err(|_| SandboxUnavailableError::Shut)?,
            Err(_) => return Err(own_busy()),
        };
        let _waits = self.line.try_acquire().map_err(|_| busy())?;
        match tokio::time::timeout_at(deadline, self.turn()).await {
            Ok(Ok((begun, place))) => Ok(RunSlot {
                seats: Arc::clone(self),
                place: Some(SlotPermits { _all: place, _own: own_place }),
                _begun: SlotPermits { _all: begun, _own: own_begun },
                owner: owner.clone(),
            }),
            Ok(Err(_)) => Err(SandboxUnavailableError::Shut),
            Err(_) => Err(busy()),
        }
    }

    fn owner(&self, name: &str) -> Arc<OwnerSlots> {
        let mut owners = self.owners.lock();
        if let Some(known) = owners.get(name).and_then(Weak::upgrade) {
            return known;
        }
        owners.retain(|_, known| known.strong_count() > 0);
        let share = |all: usize| (all / OWNER_SHARE).max(1);
        let together = share(self.together);
        let slots = Arc::new(OwnerSlots {
            together,
            seats: Arc::new(Semaphore::new(together)),
            begun: Arc::new(Semaphore::new(share(self.max_begun))),
            line: Semaphore::new(share(MORE * self.together)),
        });
        owners.insert(name.to_owned(), Arc::downgrade(&slots));
        slots
    }

    /// No more slots are given out.
    pub(crate) fn close(&self) {
        for semaphore in [&*self.seats, &*self.begun, &self.front] {
            semaphore.close();
        }
    }

    /// The permits of a program that starts: among those that have started, and to run.
    async fn turn(&self) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), AcquireError> {
        let _first = self.front.acquire().await?;
        let begun = Arc::clone(&self.begun).acquire_owned().await?;
        Ok((begun, self.place().await?))
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        Arc::clone(&self.seats).acquire_owned().await
    }
}

impl OwnerSlots {
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
        let own = match &self.owner {
            Some(owner) => Some(owner.place().await?),
            None => None,
        };
        self.place = Some(SlotPermits { _all: self.seats.place().await?, _own: own });
        Ok(done)
    }
}

#[cfg(test)]
mod tests;
