//! Back-pressure by memory: budget for the bodies of all requests.
//!
//! A request reserves memory before its body is read, waits for it briefly, and releases it when
//! the body is dropped. Small bodies need no reservation, so they never queue behind large ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use tollgate_core::turn::Principal;
use tollgate_mcp::memory_budget::{MemoryBudget, NoRoomError, ReservationRequest};

use crate::api_error::ApiError;
use crate::pressure::{ConnectionMemory, MemoryLimit};

/// Bodies up to this size reserve nothing for themselves, only for what is parsed from them. Their
/// number is bounded by `limits.in_flight`.
pub(crate) const SMALL_BODY: usize = 64 << 10;
/// `Retry-After` of a refused request.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Divisor of the memory limit: a request takes up to four times its body, and half of the memory
/// is for everything else.
const SHARE_OF_MEMORY: u64 = 8;
/// Budget if no memory limit is known.
const WITHOUT_LIMIT: usize = 1 << 30;
/// Lower bound of the budget.
const MIN_BUDGET_BYTES: usize = 4 << 20;

pub(crate) struct BodyBudget(MemoryBudget);

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
        Arc::new(Self(MemoryBudget::new(total)))
    }

    pub(crate) fn permit(self: &Arc<Self>, principal: Option<Principal>) -> BodyPermit {
        let budget = Arc::clone(self);
        let bytes = AtomicUsize::new(0);
        BodyPermit { budget, principal, bytes, connection: None }
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
        let budget = &self.budget.0;
        let limit = budget.share(principal);
        let held = self.bytes();
        if held.saturating_add(bytes) > limit {
            return Err(BodyBudgetError::NeverFits { limit });
        }
        let reserved = budget.reserve(ReservationRequest { principal, bytes, held }).await;
        reserved.map_err(|NoRoomError| BodyBudgetError::NoRoom)?;
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
        self.budget.0.release(self.principal.as_ref(), bytes);
        if let Some(connection) = &self.connection {
            connection.release(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
