//! Back-pressure on large answers: one budget of memory for what servers and models send.
//!
//! A reader reserves memory while a message grows. Without room it stops reading for a moment, so
//! that the sender waits, and then gives up. Small messages reserve nothing.
//!
//! An [`AnswerAccount`] holds what was reserved for one request until its response was sent. It
//! travels beside the code that reads, encodes and sends, as a task-local value.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::futures::TaskLocalFuture;
use tollgate_core::turn::Principal;

use crate::memory_budget::{self, MemoryBudget, NoRoomError, ReservationRequest};

/// Messages up to this size reserve nothing. Their number is bounded by the limits of calls in
/// flight.
pub const SMALL_ANSWER: usize = 64 << 10;
/// Step by which a message of unknown size reserves memory.
const STEP: usize = 512 << 10;
/// Copies of an answer in memory at the peak: as read, as parsed, as shaped and as encoded.
pub const ANSWER_COPIES: usize = 4;
/// When to try again after a refusal.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Divisor of the memory limit. Bodies of requests take up to a half of the memory.
const SHARE_OF_MEMORY: u64 = 4;
/// Budget if no memory limit is known.
const WITHOUT_LIMIT: usize = 2 << 30;
/// Lower bound of the budget.
const MIN_BUDGET_BYTES: usize = 16 << 20;

static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new(budget_bytes()));

tokio::task_local! {
    static ACCOUNT: AnswerAccount;
}

/// Sizes the budget by the memory limit of the process.
fn budget_bytes() -> usize {
    let share = memory_budget::share_of_memory_limit(SHARE_OF_MEMORY);
    share.map_or(WITHOUT_LIMIT, |share| share.max(MIN_BUDGET_BYTES))
}

/// The state of the budget, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerBudgetUsage {
    pub reserved_bytes: usize,
    pub limit_bytes: usize,
    /// Answers that were refused since the start.
    pub refused: u64,
}

pub fn usage() -> AnswerBudgetUsage {
    AnswerBudgetUsage {
        reserved_bytes: BUDGET.reserved_bytes(),
        limit_bytes: BUDGET.total(),
        refused: BUDGET.refusal_count(),
    }
}

/// Memory of one message, released when dropped. Initially empty.
#[derive(Debug, Default)]
pub struct AnswerPermit {
    principal: Option<Principal>,
    bytes: usize,
}

impl AnswerPermit {
    /// Whether it suffices for a message of `length` bytes.
    pub fn covers(&self, length: usize) -> bool {
        length <= SMALL_ANSWER || length.saturating_mul(ANSWER_COPIES) <= self.bytes
    }

    /// Reserves memory for a message that has grown to `length` bytes.
    pub async fn cover(&mut self, length: usize) -> Result<(), NoRoomError> {
        if self.covers(length) {
            return Ok(());
        }
        self.grow_to(length.saturating_mul(ANSWER_COPIES)).await
    }

    /// The same for a message of unknown size, in steps.
    pub async fn cover_growing(&mut self, length: usize) -> Result<(), NoRoomError> {
        if self.covers(length) {
            return Ok(());
        }
        self.grow_to((length + STEP).saturating_mul(ANSWER_COPIES)).await
    }

    /// The same, waiting no longer than `patience`.
    pub async fn cover_growing_within(
        &mut self,
        length: usize,
        patience: Duration,
    ) -> Result<(), NoRoomError> {
        if self.covers(length) {
            return Ok(());
        }
        let bytes = (length + STEP).saturating_mul(ANSWER_COPIES);
        let request = self.request(bytes);
        if patience.is_zero() {
            BUDGET.try_reserve(request)?;
        } else {
            BUDGET.reserve_within(request, patience).await?;
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Charges it to this principal. Call it before it grows.
    pub fn charge_to(&mut self, principal: Option<Principal>) {
        debug_assert!(self.is_empty(), "what is reserved is charged already");
        self.principal = principal;
    }

    /// Has at least `bytes` afterwards.
    async fn grow_to(&mut self, bytes: usize) -> Result<(), NoRoomError> {
        let request = self.request(bytes);
        BUDGET.reserve(request).await?;
        self.bytes = bytes;
        Ok(())
    }

    /// What is missing to have `bytes`.
    fn request(&mut self, bytes: usize) -> ReservationRequest<'_> {
        if self.bytes == 0 && self.principal.is_none() {
            self.principal = AnswerAccount::current().and_then(|account| account.principal());
        }
        let more = bytes.saturating_sub(self.bytes);
        ReservationRequest { principal: self.principal.as_ref(), bytes: more, held: self.bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Has at most `bytes` afterwards.
    pub fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.bytes.saturating_sub(bytes);
        BUDGET.release(self.principal.as_ref(), surplus);
        self.bytes -= surplus;
    }

    /// Hands it to the account of the current request. Without one, it stays with the bytes.
    pub fn attach_to(self, bytes: Bytes) -> Bytes {
        if self.bytes == 0 {
            return bytes;
        }
        match AnswerAccount::current() {
            Some(account) => {
                account.keep(self);
                bytes
            }
            None => Bytes::from_owner(PermittedBytes { bytes, _permit: self }),
        }
    }
}

impl Drop for AnswerPermit {
    fn drop(&mut self) {
        BUDGET.release(self.principal.as_ref(), self.bytes);
    }
}

/// Memory for a copy of `length` bytes, if there is room right now.
pub fn try_reserve(length: usize) -> Result<AnswerPermit, NoRoomError> {
    if length <= SMALL_ANSWER {
        return Ok(AnswerPermit::default());
    }
    BUDGET.try_reserve(ReservationRequest { principal: None, bytes: length, held: 0 })?;
    Ok(AnswerPermit { principal: None, bytes: length })
}

struct PermittedBytes {
    bytes: Bytes,
    _permit: AnswerPermit,
}

impl AsRef<[u8]> for PermittedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The memory that one request holds for answers, released when its last clone is dropped.
#[derive(Clone)]
pub struct AnswerAccount(Arc<AccountState>);

struct AccountState {
    principal: Option<Principal>,
    bytes: AtomicUsize,
}

impl AnswerAccount {
    /// `None`: a caller without a share of its own.
    pub fn new(principal: Option<Principal>) -> Self {
        Self(Arc::new(AccountState { principal, bytes: AtomicUsize::new(0) }))
    }

    /// The account of the request that this task works for.
    pub fn current() -> Option<Self> {
        ACCOUNT.try_with(Clone::clone).ok()
    }

    /// An account for a part of the current request.
    pub fn for_part() -> Self {
        Self::new(Self::current().and_then(|account| account.principal()))
    }

    pub(crate) fn principal(&self) -> Option<Principal> {
        self.0.principal.clone()
    }

    /// Runs the future with this account.
    pub fn scope<F: Future>(&self, future: F) -> TaskLocalFuture<Self, F> {
        ACCOUNT.scope(self.clone(), future)
    }

    /// Runs the closure with this account.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        ACCOUNT.sync_scope(self.clone(), work)
    }

    /// Takes over the memory of a message.
    pub fn keep(&self, mut permit: AnswerPermit) {
        let bytes = std::mem::take(&mut permit.bytes);
        BUDGET.transfer(permit.principal.as_ref(), self.0.principal.as_ref(), bytes);
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The same within the share of its principal, if the permit was reserved by nobody in
    /// particular.
    pub fn try_keep(&self, mut permit: AnswerPermit) -> Result<(), NoRoomError> {
        let to = self.0.principal.as_ref();
        BUDGET.try_transfer(permit.principal.as_ref(), to, permit.bytes)?;
        self.0.bytes.fetch_add(std::mem::take(&mut permit.bytes), Ordering::Relaxed);
        Ok(())
    }

    pub fn bytes(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Reserves memory for a copy of an answer of `length` bytes, beyond what is held already.
    pub async fn cover(&self, length: usize) -> Result<(), NoRoomError> {
        if length <= SMALL_ANSWER {
            return Ok(());
        }
        self.grow_to(length.saturating_mul(ANSWER_COPIES)).await
    }

    /// Holds at least `bytes` afterwards.
    pub async fn grow_to(&self, bytes: usize) -> Result<(), NoRoomError> {
        let held = self.bytes();
        let more = bytes.saturating_sub(held);
        if more == 0 {
            return Ok(());
        }
        let principal = self.0.principal.as_ref();
        BUDGET.reserve(ReservationRequest { principal, bytes: more, held }).await?;
        self.0.bytes.fetch_add(more, Ordering::Relaxed);
        Ok(())
    }

    /// Holds at most `bytes` afterwards.
    pub fn shrink_to(&self, bytes: usize) {
        let shrink = |held: usize| (held > bytes).then_some(bytes);
        if let Ok(held) = self.0.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, shrink) {
            BUDGET.release(self.0.principal.as_ref(), held - bytes);
        }
    }

    /// The part of the request is over, and this is the size of its result: hands what that needs
    /// to the account of the whole request, and releases the rest.
    pub fn settle(&self, length: usize) {
        let needed = if length <= SMALL_ANSWER { 0 } else { length.saturating_mul(ANSWER_COPIES) };
        self.shrink_to(needed);
        if let Some(whole) = Self::current() {
            let bytes = self.0.bytes.swap(0, Ordering::Relaxed);
            whole.keep(AnswerPermit { principal: self.principal(), bytes });
        }
    }
}

impl fmt::Debug for AnswerAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerAccount").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Drop for AccountState {
    fn drop(&mut self) {
        BUDGET.release(self.principal.as_ref(), *self.bytes.get_mut());
    }
}

#[cfg(test)]
mod tests;
