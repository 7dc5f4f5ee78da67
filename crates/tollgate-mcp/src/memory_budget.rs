//! A budget of memory that many tasks share, with back-pressure: who does not fit waits briefly.
//!
//! Used for the bodies of requests and for the answers of servers and models. One principal gets at
//! most half of it, so that it cannot take everything from others.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tollgate_core::turn::Principal;

/// How long a reservation waits.
pub const RESERVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Memory limit of the process; zero: unknown.
static MEMORY_LIMIT: AtomicU64 = AtomicU64::new(0);

/// Sets the memory limit of the process. Must be called before anything is sized by it.
pub fn set_memory_limit(bytes: Option<u64>) {
    MEMORY_LIMIT.store(bytes.unwrap_or(0), Ordering::Relaxed);
}

/// One `divisor`th of the memory limit; `None`: there is no limit.
pub fn share_of_memory_limit(divisor: u64) -> Option<usize> {
    let limit = MEMORY_LIMIT.load(Ordering::Relaxed);
    (limit > 0).then(|| usize::try_from(limit / divisor).unwrap_or(usize::MAX))
}

/// Other reservations use the memory, and did not release it in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("other large messages use the available memory (`limits.memory_mb`)")]
pub struct NoRoomError;

pub struct MemoryBudget {
    total: usize,
    /// Reservations that were not granted in time.
    refused: AtomicU64,
    state: Mutex<BudgetState>,
}

/// Who wants how many bytes more.
#[derive(Debug, Clone, Copy)]
pub struct ReservationRequest<'r> {
    /// `None`: somebody without a share of their own.
    pub principal: Option<&'r Principal>,
    pub bytes: usize,
    /// Bytes that the same message has already. A message that is alone is never refused.
    pub held: usize,
}

#[derive(Default)]
struct BudgetState {
    reserved: usize,
    /// Bytes per principal, for those with reservations.
    by_principal: HashMap<Option<Principal>, usize>,
    /// In order of arrival.
    waiting: Vec<WaitingReservation>,
    next_ticket: u64,
}

struct WaitingReservation {
    ticket: u64,
    principal: Option<Principal>,
    bytes: usize,
    held: usize,
    granted: oneshot::Sender<()>,
}

impl WaitingReservation {
    fn request(&self) -> ReservationRequest<'_> {
        let Self { bytes, held, .. } = *self;
        ReservationRequest { principal: self.principal.as_ref(), bytes, held }
    }
}

impl MemoryBudget {
    pub fn new(total: usize) -> Self {
        Self { total, refused: AtomicU64::new(0), state: Mutex::default() }
    }

    pub fn total(&self) -> usize {
        self.total
    }

    pub fn reserved_bytes(&self) -> usize {
        self.state.lock().reserved
    }

    pub fn refusal_count(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Limit of one principal: a key leaves half of the budget to others.
    pub fn share(&self, principal: Option<&Principal>) -> usize {
        if principal.is_some() { self.total / 2 } else { self.total }
    }

    /// Waits for room. What is granted has to be given back with [`Self::release`].
    pub async fn reserve(&self, request: ReservationRequest<'_>) -> Result<(), NoRoomError> {
        let (ticket, waiting) = {
            let mut state = self.state.lock();
            if self.fits(&state, request) {
                state.take(request.principal, request.bytes);
                return Ok(());
            }
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            let (granted, waiting) = oneshot::channel();
            let ReservationRequest { bytes, held, .. } = request;
            let principal = request.principal.cloned();
            state.waiting.push(WaitingReservation { ticket, principal, bytes, held, granted });
            (ticket, waiting)
        };
        let mut queued = QueuedReservation { budget: self, request, ticket, waiting };
        match tokio::time::timeout(RESERVE_TIMEOUT, &mut queued.waiting).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(NoRoomError)
            }
        }
    }

    /// The same without waiting.
    pub fn try_reserve(&self, request: ReservationRequest<'_>) -> Result<(), NoRoomError> {
        let mut state = self.state.lock();
        if self.fits(&state, request) {
            state.take(request.principal, request.bytes);
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(NoRoomError)
    }

    pub fn release(&self, principal: Option<&Principal>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut state = self.state.lock();
        state.give_back(principal, bytes);
        self.grant(&mut state);
    }

    /// From now on the bytes count against `to`, even beyond its share.
    pub fn transfer(&self, from: Option<&Principal>, to: Option<&Principal>, bytes: usize) {
        if from == to || bytes == 0 {
            return;
        }
        let mut state = self.state.lock();
        state.give_back(from, bytes);
        state.take(to, bytes);
        self.grant(&mut state);
    }

    fn fits(&self, state: &BudgetState, request: ReservationRequest<'_>) -> bool {
        let ReservationRequest { principal, bytes, held } = request;
        let own = state.held_by(principal);
        let within = |used: usize, limit: usize| {
            // A message that is alone always fits: otherwise it could never be read.
            used.saturating_add(bytes) <= limit || used <= held
        };
        within(state.reserved, self.total) && within(own, self.share(principal))
    }

    /// Grants free memory to waiting reservations: first to the principal with the least, then in
    /// order of arrival.
    fn grant(&self, state: &mut BudgetState) {
        loop {
            let next = (0..state.waiting.len())
                .filter(|at| self.fits(state, state.waiting[*at].request()))
                .min_by_key(|at| {
                    let one = &state.waiting[*at];
                    (state.held_by(one.principal.as_ref()), one.ticket)
                });
            let Some(at) = next else { return };
            let one = state.waiting.remove(at);
            // Whoever waited may be gone.
            if one.granted.send(()).is_ok() {
                state.take(one.principal.as_ref(), one.bytes);
            }
        }
    }
}

impl BudgetState {
    fn held_by(&self, principal: Option<&Principal>) -> usize {
        // Few principals have large messages at the same time, so a linear scan is fine.
        let mut all = self.by_principal.iter();
        all.find(|(it, _)| it.as_ref() == principal).map_or(0, |(_, bytes)| *bytes)
    }

    fn take(&mut self, principal: Option<&Principal>, bytes: usize) {
        self.reserved += bytes;
        *self.by_principal.entry(principal.cloned()).or_insert(0) += bytes;
    }

    fn give_back(&mut self, principal: Option<&Principal>, bytes: usize) {
        self.reserved -= bytes;
        let principal = principal.cloned();
        if let Some(held) = self.by_principal.get_mut(&principal) {
            *held -= bytes;
            if *held == 0 {
                self.by_principal.remove(&principal);
            }
        }
    }
}

/// A waiting reservation. Dropping it removes it from the queue and releases what was granted
/// meanwhile.
struct QueuedReservation<'b> {
    budget: &'b MemoryBudget,
    request: ReservationRequest<'b>,
    ticket: u64,
    waiting: oneshot::Receiver<()>,
}

impl Drop for QueuedReservation<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state.lock();
        let before = state.waiting.len();
        state.waiting.retain(|one| one.ticket != self.ticket);
        let was_waiting = state.waiting.len() < before;
        if !was_waiting && self.waiting.try_recv().is_ok() {
            state.give_back(self.request.principal, self.request.bytes);
            self.budget.grant(&mut state);
        }
    }
}

#[cfg(test)]
mod tests;
