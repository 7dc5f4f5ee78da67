//! Back-pressure by memory: budget for the bodies of all requests.
//!
//! A request reserves memory before its body is read, waits for it briefly, and releases it when
//! the body is dropped. Small bodies need no reservation, so they never queue behind large ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tollgate_core::turn::Principal;

use crate::api_error::ApiError;
use crate::pressure::{ConnectionMemory, MemoryLimit};

/// Bodies up to this size reserve nothing for themselves, only for what is parsed from them. Their
/// number is bounded by `limits.in_flight`.
pub(crate) const SMALL_BODY: usize = 64 << 10;
/// How long a request waits for a reservation.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(2);
/// `Retry-After` of a refused request.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Divisor of the memory limit: a request takes up to four times its body, and half of the memory
/// is for everything else.
const SHARE_OF_MEMORY: u64 = 8;
/// Budget if no memory limit is known.
const WITHOUT_LIMIT: usize = 1 << 30;
/// Lower bound of the budget.
const MIN_BUDGET_BYTES: usize = 4 << 20;

pub(crate) struct BodyBudget {
    total: usize,
    state: Mutex<BudgetState>,
}

#[derive(Default)]
struct BudgetState {
    reserved: usize,
    /// Bytes per principal, for those with reservations. `None`: callers without a key.
    by_principal: HashMap<Option<Principal>, usize>,
    /// In order of arrival.
    waiting: Vec<WaitingBody>,
    next_ticket: u64,
}

struct WaitingBody {
    ticket: u64,
    principal: Option<Principal>,
    bytes: usize,
    granted: oneshot::Sender<()>,
}

/// Memory permit for the body of one request, released when dropped. Initially empty.
pub(crate) struct BodyPermit {
    budget: Arc<BodyBudget>,
    principal: Option<Principal>,
    bytes: AtomicUsize,
    /// The connection to which the memory is charged.
    connection: Option<Arc<ConnectionMemory>>,
}

/// Why a reservation failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyBudgetError {
    /// It exceeds the whole budget.
    NeverFits { limit: usize },
    /// Timed out.
    NoRoom,
}

impl BodyBudgetError {
    pub(crate) fn problem(&self) -> ApiError {
        match self {
            Self::NeverFits { limit } => {
                let detail = format!(
                    "the body needs more memory than one request may use: the limit is {limit} \
                     bytes, an eighth of the memory limit (`limits.memory_mb`)"
                );
                ApiError::with_detail(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
            }
            Self::NoRoom => ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "no_room_for_body",
                "other large requests use the available memory (`limits.memory_mb`); try again in \
                 a moment",
            )
            .later(RETRY_AFTER),
        }
    }
}

impl BodyBudget {
    pub(crate) fn new(memory: &MemoryLimit) -> Arc<Self> {
        let share = memory.limit().map(|limit| limit / SHARE_OF_MEMORY);
        let total =
            share.map_or(WITHOUT_LIMIT, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        Self::of_bytes(total.max(MIN_BUDGET_BYTES))
    }

    fn of_bytes(total: usize) -> Arc<Self> {
        Arc::new(Self { total, state: Mutex::default() })
    }

    pub(crate) fn permit(self: &Arc<Self>, principal: Option<Principal>) -> BodyPermit {
        let budget = Arc::clone(self);
        let bytes = AtomicUsize::new(0);
        BodyPermit { budget, principal, bytes, connection: None }
    }

    #[cfg(test)]
    fn reserved_bytes(&self) -> usize {
        self.state.lock().reserved
    }

    /// Limit of one principal: a key leaves half of the budget to others.
    fn share(&self, principal: Option<&Principal>) -> usize {
        if principal.is_some() { self.total / 2 } else { self.total }
    }

    async fn reserve(
        &self,
        principal: Option<&Principal>,
        bytes: usize,
    ) -> Result<(), BodyBudgetError> {
        let limit = self.share(principal);
        if bytes > limit {
            return Err(BodyBudgetError::NeverFits { limit });
        }
        let (ticket, waiting) = {
            let mut state = self.state.lock();
            if self.fits(&state, principal, bytes) {
                state.take(principal, bytes);
                return Ok(());
            }
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            let (granted, waiting) = oneshot::channel();
            let principal = principal.cloned();
            state.waiting.push(WaitingBody { ticket, principal, bytes, granted });
            (ticket, waiting)
        };
        let mut place = QueuedReservation { budget: self, principal, bytes, ticket, waiting };
        match tokio::time::timeout(RESERVE_TIMEOUT, &mut place.waiting).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(BodyBudgetError::NoRoom),
        }
    }

    fn fits(&self, state: &BudgetState, principal: Option<&Principal>, bytes: usize) -> bool {
        let own = state.held_by(principal).saturating_add(bytes);
        state.reserved.saturating_add(bytes) <= self.total && own <= self.share(principal)
    }

    fn release(&self, principal: Option<&Principal>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut state = self.state.lock();
        state.give_back(principal, bytes);
        self.grant(&mut state);
    }

    /// Grants free memory to waiting requests: first to the principal with the least, then in order
    /// of arrival.
    fn grant(&self, state: &mut BudgetState) {
        loop {
            let next = (0..state.waiting.len())
                .filter(|at| {
                    let one = &state.waiting[*at];
                    self.fits(state, one.principal.as_ref(), one.bytes)
                })
                .min_by_key(|at| {
                    let one = &state.waiting[*at];
                    (state.held_by(one.principal.as_ref()), one.ticket)
                });
            let Some(at) = next else { return };
            let one = state.waiting.remove(at);
            // The request may have been dropped meanwhile.
            if one.granted.send(()).is_ok() {
                state.take(one.principal.as_ref(), one.bytes);
            }
        }
    }
}

impl BudgetState {
    fn held_by(&self, principal: Option<&Principal>) -> usize {
        // Few principals send large bodies at the same time, so a linear scan is fine.
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

/// A waiting request. Dropping it removes it from the queue and releases what was granted
/// meanwhile.
struct QueuedReservation<'b> {
    budget: &'b BodyBudget,
    principal: Option<&'b Principal>,
    bytes: usize,
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
            state.give_back(self.principal, self.bytes);
            self.budget.grant(&mut state);
        }
    }
}

impl BodyPermit {
    /// Charges its memory to this connection. Call it before the permit grows.
    pub(crate) fn on_account_of(mut self, connection: Option<Arc<ConnectionMemory>>) -> Self {
        self.connection = connection;
        self
    }

    /// Reserves `bytes` more.
    pub(crate) async fn grow(&self, bytes: usize) -> Result<(), BodyBudgetError> {
        let principal = self.principal.as_ref();
        let limit = self.budget.share(principal);
        if self.bytes.load(Ordering::Relaxed).saturating_add(bytes) > limit {
            return Err(BodyBudgetError::NeverFits { limit });
        }
        self.budget.reserve(principal, bytes).await?;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(connection) = &self.connection {
            connection.reserve(bytes);
        }
        Ok(())
    }

    /// Bytes reserved.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Drop for BodyPermit {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        self.budget.release(self.principal.as_ref(), bytes);
        if let Some(connection) = &self.connection {
            connection.release(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
