//! A budget of memory that many tasks share, with back-pressure: who does not fit waits briefly.
//!
//! Used for the bodies of requests and for the answers of servers and models. One principal gets at
//! most half of it, so that it cannot take everything from others. Who would hold least goes first.

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
        self.reserve_within(request, RESERVE_TIMEOUT).await
    }

    /// The same, waiting no longer than `patience`.
    pub async fn reserve_within(
        &self,
        request: ReservationRequest<'_>,
        patience: Duration,
    ) -> Result<(), NoRoomError> {
        let (ticket, waiting) = {
            let mut state = self.state.lock();
            if self.may_take(&state, request) {
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
        match tokio::time::timeout(patience, &mut queued.waiting).await {
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
        if self.may_take(&state, request) {
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

    /// Like [`Self::transfer`], but not beyond the share of `to`.
    pub fn try_transfer(
        &self,
        from: Option<&Principal>,
        to: Option<&Principal>,
        bytes: usize,
    ) -> Result<(), NoRoomError> {
        if from == to || bytes == 0 {
            return Ok(());
        }
        let mut state = self.state.lock();
        let request = ReservationRequest { principal: to, bytes, held: 0 };
        if !self.fits_share(&state, request) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(NoRoomError);
        }
        state.give_back(from, bytes);
        state.take(to, bytes);
        self.grant(&mut state);
        Ok(())
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

    /// Whether a request that has just come may be granted at once.
    fn may_take(&self, state: &BudgetState, request: ReservationRequest<'_>) -> bool {
        self.fits_total(state, request)
            && self.fits_share(state, request)
            && !self.passes_waiting(state, request)
    }

    /// Whether granting it would let a new message pass one of somebody who would hold less: who has
    /// much already would keep others from ever finding room.
    fn passes_waiting(&self, state: &BudgetState, request: ReservationRequest<'_>) -> bool {
        if request.held > 0 || state.waiting.is_empty() {
            return false;
        }
        let own = state.held_after(request);
        state.waiting.iter().any(|one| {
            let waiting = one.request();
            state.held_after(waiting) < own && self.fits_share(state, waiting)
        })
    }

    fn fits_total(&self, state: &BudgetState, request: ReservationRequest<'_>) -> bool {
        fits(request, state.reserved, self.total)
    }

    fn fits_share(&self, state: &BudgetState, request: ReservationRequest<'_>) -> bool {
        fits(request, state.held_by(request.principal), self.share(request.principal))
    }

    /// Grants free memory to waiting reservations: first to messages that grow, whose memory comes
    /// back soon, then to the principal that would hold least, then in order of arrival.
    fn grant(&self, state: &mut BudgetState) {
        loop {
            let first = (0..state.waiting.len())
                .filter(|at| self.fits_share(state, state.waiting[*at].request()))
                .filter(|at| {
                    let request = state.waiting[*at].request();
                    request.held == 0 || self.fits_total(state, request)
                })
                .min_by_key(|at| {
                    let one = &state.waiting[*at];
                    let is_new = one.held == 0;
                    (is_new, state.held_after(one.request()), one.ticket)
                });
            let Some(at) = first else { return };
            if !self.fits_total(state, state.waiting[at].request()) {
                // Nobody passes the first of the new messages.
                return;
            }
            let one = state.waiting.remove(at);
            // Whoever waited may be gone.
            if one.granted.send(()).is_ok() {
                state.take(one.principal.as_ref(), one.bytes);
            }
        }
    }
}

/// Whether it fits beside what is used. A message that is alone always does: otherwise it could
/// never be read.
fn fits(request: ReservationRequest<'_>, used: usize, limit: usize) -> bool {
    used.saturating_add(request.bytes) <= limit || used <= request.held
}

impl BudgetState {
    fn held_by(&self, principal: Option<&Principal>) -> usize {
        // Few principals have large messages at the same time, so a linear scan is fine.
        let mut all = self.by_principal.iter();
        all.find(|(it, _)| it.as_ref() == principal).map_or(0, |(_, bytes)| *bytes)
    }

    /// What its principal would hold with it.
    fn held_after(&self, request: ReservationRequest<'_>) -> usize {
        self.held_by(request.principal).saturating_add(request.bytes)
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
