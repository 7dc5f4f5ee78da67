//! Batches transcript appends of all callers into one transaction (group commit); each caller is
//! answered after the commit. Otherwise concurrent writers would wait for each other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tollgate_core::memory::{EntryId, MemoryTarget};

use super::pool::{ANSWER, PgDeadline, now};
use super::ready_pool::ReadyPool;
use super::transcripts::{self, PgIndexedEntry};
use crate::memory::MemoryError;

/// Maximum queued calls.
const WAITING: usize = 1_024;
/// Maximum rows per transaction: more would delay others noticeably.
const BATCH: usize = 4_000;
/// Calls with less time left than this are refused.
const SPARE: Duration = Duration::from_millis(100);

pub(super) struct AppendBatcher {
    queue: Sender<AppendJob>,
}

struct AppendJob {
    place: MemoryTarget,
    entries: Vec<PgIndexedEntry>,
    queued_at: Instant,
    reply: oneshot::Sender<AppendResult>,
}

type AppendResult = Result<Vec<EntryId>, MemoryError>;

impl AppendBatcher {
    /// Ends when the last sender is dropped.
    pub(super) fn start(runtime: &Handle, door: Arc<ReadyPool>) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING);
        runtime.spawn(write(door, waiting));
        Self { queue }
    }

    pub(super) async fn append(
        &self,
        place: MemoryTarget,
        entries: Vec<PgIndexedEntry>,
    ) -> AppendResult {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let (reply, answer) = oneshot::channel();
        let job = AppendJob { place, entries, queued_at: now(), reply };
        self.queue.try_send(job).map_err(|_| MemoryError::Slow(ANSWER))?;
        let ended = |_| Err(MemoryError::Away("the gateway is shutting down".to_owned()));
        answer.await.unwrap_or_else(ended)
    }
}

async fn write(door: Arc<ReadyPool>, mut waiting: Receiver<AppendJob>) {
    let mut next = None;
    while let Some(first) = match next.take() {
        Some(job) => Some(job),
        None => waiting.recv().await,
    } {
        let mut rows = first.entries.len();
        let mut batch = vec![first];
        while let Ok(job) = waiting.try_recv() {
            rows += job.entries.len();
            if rows > BATCH {
                next = Some(job);
                break;
            }
            batch.push(job);
        }
        let at = now();
        for late in batch.extract_if(.., |job| job.term(0).until < at + SPARE) {
            late.answer(Err(MemoryError::Slow(ANSWER)));
        }
        keep(&door, batch).await;
    }
}

/// Writes all at once; if one of them makes that fail, each alone.
async fn keep(door: &ReadyPool, mut batch: Vec<AppendJob>) {
    // Partitions are locked in the same order by all gateways, to avoid deadlocks.
    batch.sort_by(|one, two| one.partition_key().cmp(&two.partition_key()));
    match together(door, &batch).await {
        (Ok(mut ids), _) => {
            for job in batch {
                let rest = ids.split_off(job.entries.len().min(ids.len()));
                job.answer(Ok(std::mem::replace(&mut ids, rest)));
            }
        }
        (Err(_), RollbackCertainty::Certainly) if batch.len() > 1 => {
            for job in batch {
                let (ended, _) = together(door, std::slice::from_ref(&job)).await;
                job.answer(ended);
            }
        }
        (Err(trouble), _) => batch.into_iter().for_each(|job| job.answer(Err(trouble.clone()))),
    }
}

/// Whether a failed batch can be retried.
enum RollbackCertainty {
    /// One of them was rejected: everything was rolled back.
    Certainly,
    No,
}

/// The ids of all entries, in the order of the jobs.
async fn together(door: &ReadyPool, batch: &[AppendJob]) -> (AppendResult, RollbackCertainty) {
    let rows = batch.iter().map(|job| job.entries.len()).sum();
    let Some(term) = batch.iter().map(|job| job.term(rows)).min_by_key(|term| term.until) else {
        return (Ok(Vec::new()), RollbackCertainty::No);
    };
    let lease = match door.begin(term).await {
        Ok(lease) => lease,
        Err(trouble) => return (Err(trouble), RollbackCertainty::No),
    };
    let mut done = Ok(Vec::new());
    for of_one_place in batch.chunk_by(|one, two| one.place == two.place) {
        let entries: Vec<&PgIndexedEntry> =
            of_one_place.iter().flat_map(|job| &job.entries).collect();
        match transcripts::append(&lease, &of_one_place[0].place, &entries).await {
            Ok(ids) => done.iter_mut().for_each(|all: &mut Vec<EntryId>| all.extend(&ids)),
            Err(trouble) => done = Err(trouble),
        }
        if done.is_err() {
            break;
        }
    }
    let is_refused = matches!(done, Err(MemoryError::Failed(_)));
    let undone = if is_refused { RollbackCertainty::Certainly } else { RollbackCertainty::No };
    (lease.finish(done).await, undone)
}

impl AppendJob {
    fn partition_key(&self) -> (&str, Option<&str>) {
        let owner = self.place.audience.owner();
        (self.place.namespace.as_str(), owner.map(|agent| agent.as_str()))
    }

    /// The deadline of this call in a batch of so many rows.
    fn term(&self, rows: usize) -> PgDeadline {
        PgDeadline::for_rows(rows.max(self.entries.len()), self.queued_at)
    }

    fn answer(self, answer: AppendResult) {
        // The receiver may be gone.
        let _ = self.reply.send(answer);
    }
}
