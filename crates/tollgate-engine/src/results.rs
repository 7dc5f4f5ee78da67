//! The result store: results kept behind handles, because they were too large for the consumer or
//! came late.
//!
//! Each has a random handle and belongs to one principal, as long as that principal's credentials
//! are valid; others cannot see it. In memory, bounded in bytes, number and time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tollgate_core::call::{CallStatus, Outcome, ResultHandle};
use tollgate_core::shaping;
use tollgate_core::tool::FindingKind;
use tollgate_core::tool::hidden_text::RemovedCounts;
use tollgate_core::turn::{Actor, Principal};
use tollgate_mcp::memory_budget;

use crate::clock::Clock;
use crate::random::RandomSource;

/// Bounds of the store.
#[derive(Debug, Clone, Copy)]
struct ResultBounds {
    bytes: usize,
    entries: usize,
    life: Duration,
}

/// How long a result is stored.
pub const RESULT_LIFE: Duration = Duration::from_secs(10 * 60);

const BOUNDS: ResultBounds = ResultBounds { bytes: 64 << 20, entries: 1_000, life: RESULT_LIFE };
/// Divisor of the memory limit, for the bytes.
const SHARE_OF_MEMORY: u64 = 16;

pub struct ResultStore {
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    bounds: ResultBounds,
    table: Mutex<ResultTable>,
    /// What was removed from results since the start, in the order of [`RemovedCounts::KINDS`].
    removed: [AtomicU64; RemovedCounts::KINDS.len()],
}

/// A stored result, complete.
#[derive(Debug)]
pub struct StoredResult {
    /// The exposed name of the tool.
    pub tool: String,
    pub outcome: Outcome,
    /// Page size that suits the consumer.
    pub page_bytes: usize,
    /// The result as sent, with only secrets masked; `None`: nothing else was removed.
    pub raw: Option<Box<RawValue>>,
}

/// The state of a handle.
#[derive(Debug, Clone)]
pub enum ResultLookup {
    /// No such handle, expired, or of another principal.
    Unknown,
    /// The call has been running for this long.
    Pending {
        since: Duration,
    },
    Ready(Arc<StoredResult>),
}

/// Reserves the entry of a pending result. Dropped without a result, it leaves an error there.
pub(crate) struct ResultPromise {
    results: Arc<ResultStore>,
    actor: Actor,
    handle: ResultHandle,
    tool: String,
    page_bytes: usize,
}

impl ResultStore {
    pub(crate) fn new(clock: Arc<dyn Clock>, random: Arc<dyn RandomSource>) -> Arc<Self> {
        let share = memory_budget::share_of_memory_limit(SHARE_OF_MEMORY).unwrap_or(BOUNDS.bytes);
        Self::within(clock, random, ResultBounds { bytes: BOUNDS.bytes.min(share), ..BOUNDS })
    }

    fn within(
        clock: Arc<dyn Clock>,
        random: Arc<dyn RandomSource>,
        bounds: ResultBounds,
    ) -> Arc<Self> {
        let removed = std::array::from_fn(|_| AtomicU64::new(0));
        Arc::new(Self { clock, random, bounds, table: Mutex::default(), removed })
    }

    /// Counts what was removed from a result.
    pub(crate) fn count_removed(&self, removed: &RemovedCounts) {
        for (kind, count) in removed.iter() {
            let at = RemovedCounts::KINDS.iter().position(|known| *known == kind);
            if let Some(counter) = at.and_then(|at| self.removed.get(at)) {
                counter.fetch_add(count.into(), Ordering::Relaxed);
            }
        }
    }

    /// Counts of what was removed from results since the start, by kind.
    pub fn removed_counts(&self) -> impl Iterator<Item = (FindingKind, u64)> {
        let count =
            |(kind, count): (FindingKind, &AtomicU64)| (kind, count.load(Ordering::Relaxed));
        RemovedCounts::KINDS.into_iter().zip(&self.removed).map(count)
    }

    /// A handle for a result of this size, if it could be stored at all. Reserves nothing.
    pub(crate) fn spare(&self, bytes: usize) -> Option<ResultHandle> {
        (bytes <= self.bounds.bytes).then(|| ResultHandle::from_bits(self.random.bits()))
    }

    /// Stores a truncated result under the handle in its outcome.
    pub(crate) fn keep(&self, actor: &Actor, stored: StoredResult) {
        if let Some(handle) = stored.outcome.handle {
            self.put(actor, handle, ResultContent::Ready(Arc::new(stored)));
        }
    }

    /// Reserves an entry for a pending result.
    pub(crate) fn expect(
        self: &Arc<Self>,
        actor: Actor,
        tool: &str,
        page_bytes: usize,
    ) -> (ResultHandle, ResultPromise) {
        let handle = ResultHandle::from_bits(self.random.bits());
        self.put(&actor, handle, ResultContent::Pending);
        let results = Arc::clone(self);
        (handle, ResultPromise { results, actor, handle, tool: tool.to_owned(), page_bytes })
    }

    pub fn read(&self, principal: &Principal, handle: ResultHandle) -> ResultLookup {
        let now = self.clock.now();
        let mut table = self.table.lock();
        table.expire(now, self.bounds.life);
        let is_theirs = |ResultEntry { actor, .. }: &&ResultEntry| {
            actor.principal == *principal && actor.lease.revocation().is_none()
        };
        let entry = table.entries.get(&handle).filter(is_theirs);
        match entry {
            None => ResultLookup::Unknown,
            Some(ResultEntry { content: ResultContent::Pending, since, .. }) => {
                ResultLookup::Pending { since: now.saturating_duration_since(*since) }
            }
            Some(ResultEntry { content: ResultContent::Ready(stored), .. }) => {
                ResultLookup::Ready(Arc::clone(stored))
            }
        }
    }

    fn put(&self, actor: &Actor, handle: ResultHandle, content: ResultContent) {
        if content.bytes() > self.bounds.bytes {
            return;
        }
        let since = self.clock.now();
        let mut table = self.table.lock();
        table.expire(since, self.bounds.life);
        table.put(handle, ResultEntry { actor: actor.clone(), since, number: 0, content });
        table.shrink(self.bounds);
    }
}

impl ResultPromise {
    pub(crate) fn handle(&self) -> ResultHandle {
        self.handle
    }

    /// Stores the complete result.
    pub(crate) fn keep(self, outcome: Outcome) {
        self.fulfil(outcome);
    }

    fn fulfil(&self, outcome: Outcome) {
        let outcome = Outcome { handle: Some(self.handle), ..outcome };
        let stored = StoredResult {
            tool: self.tool.clone(),
            outcome,
            page_bytes: self.page_bytes,
            raw: None,
        };
        self.results.put(&self.actor, self.handle, ResultContent::Ready(Arc::new(stored)));
    }
}

impl Drop for ResultPromise {
    fn drop(&mut self) {
        let table = self.results.table.lock();
        let entry = table.entries.get(&self.handle);
        let is_open = entry.is_some_and(|entry| matches!(entry.content, ResultContent::Pending));
        drop(table);
        if is_open {
            let message = format!("`{}` was cancelled before it answered", self.tool);
            self.fulfil(shaping::failure(CallStatus::Error, &message, Duration::ZERO));
        }
    }
}

/// Invariant: `order` has the handle of every entry by its number, the oldest first.
#[derive(Default)]
struct ResultTable {
    entries: HashMap<ResultHandle, ResultEntry>,
    order: BTreeMap<u64, ResultHandle>,
    bytes: usize,
    next: u64,
}

struct ResultEntry {
    actor: Actor,
    since: Instant,
    number: u64,
    content: ResultContent,
}

enum ResultContent {
    Pending,
    Ready(Arc<StoredResult>),
}

impl ResultContent {
    fn bytes(&self) -> usize {
        match self {
            Self::Pending => 0,
            Self::Ready(stored) => {
                let raw = stored.raw.as_ref().map_or(0, |raw| raw.get().len());
                stored.outcome.result.get().len() + raw
            }
        }
    }
}

impl ResultTable {
    fn put(&mut self, handle: ResultHandle, entry: ResultEntry) {
        self.remove(handle);
        self.next += 1;
        self.bytes += entry.content.bytes();
        self.order.insert(self.next, handle);
        self.entries.insert(handle, ResultEntry { number: self.next, ..entry });
    }

    fn remove(&mut self, handle: ResultHandle) {
        if let Some(entry) = self.entries.remove(&handle) {
            self.order.remove(&entry.number);
            self.bytes -= entry.content.bytes();
        }
    }

    /// Pending results do not expire.
    fn expire(&mut self, now: Instant, life: Duration) {
        let entries =
            self.order.values().filter_map(|handle| Some((*handle, self.entries.get(handle)?)));
        let old = entries.take_while(|(_, it)| now.saturating_duration_since(it.since) >= life);
        let over = old.filter(|(_, it)| matches!(it.content, ResultContent::Ready(_)));
        for handle in over.map(|(handle, _)| handle).collect::<Vec<_>>() {
            self.remove(handle);
        }
    }

    /// Evicts from the principal that uses the most, so that one cannot crowd out another.
    fn shrink(&mut self, bounds: ResultBounds) {
        loop {
            let weight: fn(&ResultEntry) -> usize = match () {
                () if self.bytes > bounds.bytes => |entry| entry.content.bytes(),
                () if self.entries.len() > bounds.entries => |_| 1,
                () => return,
            };
            let mut shares: HashMap<&Principal, usize> = HashMap::new();
            for entry in self.entries.values() {
                *shares.entry(&entry.actor.principal).or_default() += weight(entry);
            }
            let Some((greediest, _)) = shares.into_iter().max_by_key(|(_, share)| *share) else {
                return;
            };
            let is_theirs = |handle: &&ResultHandle| {
                let entry = self.entries.get(handle);
                entry.is_some_and(|it| it.actor.principal == *greediest && weight(it) > 0)
            };
            let Some(oldest) = self.order.values().find(is_theirs).copied() else { return };
            self.remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests;
