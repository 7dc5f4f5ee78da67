//! The audit ledger: calls and decisions, on disk. Its bounded queue gives back-pressure.
//!
//! Calls reserve a slot in the queue before they run, so each of them gets a row, even a cancelled
//! one. One thread writes; queued rows are committed together.
//!
//! Decisions (an approval, a key, a reload) are recorded with [`AuditLedger::note`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::thread::{self, JoinHandle, Thread};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use tollgate_core::turn::Principal;
use tollgate_store::Error;
pub use tollgate_store::Error as StoreError;
use tollgate_store::audit as store;
pub use tollgate_store::audit::{
    AuditDirection, AuditLoss, AuditPage, AuditQuery, AuditRow, VerifiedTrail,
};

use crate::clock::Clock;
use crate::record::CallRecord;
use crate::settings::{Audit, OnAuditFailure};

mod anchoring;
mod decision;
mod disk_space;
mod message;
mod pages;
mod retention;
mod writer;

use anchoring::AnchorThread;
pub use decision::{AuditAction, Decision};
use message::{AuditMessage, AuditPayload};
pub use pages::AuditPageReader;
use retention::Retention;
use writer::AuditWriter;

/// Principal of everything that the gateway does on its own.
const GATEWAY_PRINCIPAL: &str = "tollgate";
/// Capacity of the queue; further callers wait for a slot.
const QUEUE: usize = 8_192;

/// Handle to the audit ledger. Without a store it keeps nothing and reports success.
pub struct AuditLedger(Option<AuditLedgerInner>);

struct AuditLedgerInner {
    queue: mpsc::Sender<AuditMessage>,
    shared: Arc<AuditWriterState>,
    trail: store::Audit,
    clock: Arc<dyn Clock>,
    thread: Thread,
    writer: Mutex<Option<JoinHandle<()>>>,
    anchoring: Mutex<Option<AnchorThread>>,
}

/// State that the writer shares with those who wait for it.
struct AuditWriterState {
    /// The writer sleeps and has to be unparked.
    idle: AtomicBool,
    /// The ledger is being dropped: the writer flushes the queue and ends.
    closing: AtomicBool,
    /// Why nothing can be written, while that is the case.
    failing: watch::Sender<Option<Error>>,
    /// The disk is almost full.
    short: AtomicBool,
    /// Number of the last row that this process wrote.
    last: watch::Sender<u64>,
    /// Rows that were dropped because the queue was full while nothing could be written.
    lost: AtomicU64,
    policy: Mutex<Retention>,
}

impl AuditWriterState {
    fn new(policy: Retention) -> Self {
        Self {
            idle: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            failing: watch::Sender::new(None),
            short: AtomicBool::new(false),
            last: watch::Sender::new(0),
            lost: AtomicU64::new(0),
            policy: Mutex::new(policy),
        }
    }
}

/// Held by the writer thread: reports the failure to all waiters if the thread panics.
struct WriterPanicGuard(Arc<AuditWriterState>);

impl Drop for WriterPanicGuard {
    fn drop(&mut self) {
        if thread::panicking() {
            let why = "its writer crashed; restart the gateway".to_owned();
            self.0.failing.send_replace(Some(Error::Failed(why)));
        }
    }
}

/// Whether the caller waits until its row is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowDurability {
    Durable,
    /// Written shortly afterwards.
    Queued,
}

/// A row is not on disk yet. It will be written once writing works again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the audit trail cannot be written: {why}; {}", .why.remedy())]
pub struct AuditWriteError {
    pub why: Error,
}

impl AuditLedger {
    /// A ledger that keeps nothing.
    pub fn none() -> Self {
        Self(None)
    }

    /// Opens the ledger and starts its writer. Blocks briefly.
    pub fn open(
        trail: store::Audit,
        settings: &Audit,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let lost = anchoring::reconcile(&trail, &*clock);
        let journal = trail.journal()?;
        let newest = journal.newest()?;
        let (queue, rows) = mpsc::channel(QUEUE);
        let shared = Arc::new(AuditWriterState::new(Retention::new(settings, newest, &*clock)));
        let writer = AuditWriter::new(trail.clone(), journal, rows, &shared, &clock);
        let watched = WriterPanicGuard(Arc::clone(&shared));
        let run = move || {
            let _watched = watched;
            writer.run();
        };
        let started = thread::Builder::new().name("audit".to_owned()).spawn(run);
        let writer = started.map_err(|error| Error::Failed(error.to_string()))?;
        let thread = writer.thread().clone();
        let writer = Mutex::new(Some(writer));
        let anchoring = AnchorThread::start(trail.clone(), Arc::clone(&shared))?;
        let anchoring = Mutex::new(Some(anchoring));
        let ledger =
            Self(Some(AuditLedgerInner { queue, shared, trail, clock, thread, writer, anchoring }));
        lost.into_iter().for_each(|lost| ledger.note_later(lost));
        Ok(ledger)
    }

    /// Changes the retention of rows.
    pub fn reconfigure(&self, settings: &Audit) {
        if let Some(open) = &self.0 {
            open.shared.policy.lock().change(settings);
        }
    }

    /// Records a decision and waits until it is on disk. Whether a decision holds that could not be
    /// written is up to the caller.
    pub async fn note(&self, decision: Decision) -> Result<(), AuditWriteError> {
        let Some(open) = &self.0 else { return Ok(()) };
        let place = open.place().await;
        place
            .put(AuditPayload::Decision(open.clock.wall(), decision), RowDurability::Durable)
            .wait_until_written()
            .await
    }

    /// Like [`AuditLedger::note`], without waiting: for code that cannot block.
    pub fn note_later(&self, decision: Decision) {
        if let Some(open) = &self.0 {
            let what = AuditPayload::Decision(open.clock.wall(), decision);
            let place = AuditReservation { open, permit: open.queue.try_reserve().ok() };
            place.put(what, RowDurability::Queued);
        }
    }

    /// Reserves a slot for a call that is about to run; `None` if nothing is kept. Waits only while
    /// the queue is full.
    pub(crate) async fn place(&self) -> Option<AuditReservation<'_>> {
        let open = self.0.as_ref()?;
        if let Ok(permit) = open.queue.try_reserve() {
            return Some(AuditReservation { open, permit: Some(permit) });
        }
        Some(open.place().await)
    }

    /// Why the ledger cannot be written, if it cannot.
    pub fn trouble(&self) -> Option<Error> {
        let shared = &self.0.as_ref()?.shared;
        let short = || shared.short.load(Ordering::Relaxed).then_some(Error::Full);
        shared.failing.borrow().clone().or_else(short)
    }

    /// Whether a call with this durability may run now.
    pub(crate) fn admits(
        &self,
        weight: RowDurability,
        policy: OnAuditFailure,
    ) -> Result<(), AuditWriteError> {
        match (weight, policy) {
            (RowDurability::Durable, OnAuditFailure::Refuse) => {
                let trouble = self.trouble().or_else(|| self.0.as_ref()?.find_displaced_files());
                trouble.map_or(Ok(()), |why| Err(AuditWriteError { why }))
            }
            (RowDurability::Queued, _) | (_, OnAuditFailure::Continue) => Ok(()),
        }
    }

    /// Waits until all rows queued so far are on disk.
    pub async fn flush(&self) -> Result<(), AuditWriteError> {
        let Some(open) = &self.0 else { return Ok(()) };
        open.place()
            .await
            .put(AuditPayload::Nothing, RowDurability::Durable)
            .wait_until_written()
            .await
    }

    /// Changes with every commit of this process.
    pub fn commits(&self) -> Option<watch::Receiver<u64>> {
        Some(self.0.as_ref()?.shared.last.subscribe())
    }

    /// Rows of the trail; empty if nothing is kept.
    pub async fn page(&self, query: AuditQuery) -> Result<AuditPage, Error> {
        self.pages().page(query).await
    }

    /// For reading more than one page.
    pub fn pages(&self) -> AuditPageReader {
        AuditPageReader::new(self.0.as_ref().map(|open| open.trail.clone()))
    }

    /// Clears the losses that were noted beside the trail, and records that they were acknowledged.
    /// May block.
    pub async fn acknowledge_losses(&self, by: &Principal) -> Result<Vec<AuditLoss>, Error> {
        let Some(open) = &self.0 else { return Ok(Vec::new()) };
        let trail = open.trail.clone();
        let forgotten = tokio::task::spawn_blocking(move || trail.acknowledge_losses());
        let losses =
            forgotten.await.unwrap_or_else(|panic| Err(Error::Failed(panic.to_string())))?;
        for loss in &losses {
            let decision =
                Decision::new(AuditAction::Lost, by, "acknowledged").because(&loss.to_string());
            self.note(decision).await.map_err(|unwritten| unwritten.why)?;
        }
        Ok(losses)
    }

    /// Verifies the whole trail.
    pub async fn verify(&self) -> Result<Option<VerifiedTrail>, Error> {
        let Some(open) = &self.0 else { return Ok(None) };
        let trail = open.trail.clone();
        let verified = tokio::task::spawn_blocking(move || trail.reader()?.verify().map(Some));
        verified.await.unwrap_or_else(|panic| Err(Error::Failed(panic.to_string())))
    }
}

impl Default for AuditLedger {
    fn default() -> Self {
        Self::none()
    }
}

impl Drop for AuditLedger {
    fn drop(&mut self) {
        let Some(open) = &self.0 else { return };
        open.shared.closing.store(true, Ordering::Release);
        open.thread.unpark();
        if let Some(writer) = open.writer.lock().take() {
            // The panic hook has already reported a panic of this thread.
            let _ = writer.join();
        }
        if let Some(anchoring) = open.anchoring.lock().take() {
            anchoring.finish();
        }
    }
}

impl AuditLedgerInner {
    /// While nothing can be written the queue may be full: read-only calls then run without a slot.
    async fn place(&self) -> AuditReservation<'_> {
        let mut failing = self.shared.failing.subscribe();
        let permit = tokio::select! {
            biased;
            permit = self.queue.reserve() => permit.ok(),
            _ = failing.wait_for(Option::is_some) => None,
        };
        AuditReservation { open: self, permit }
    }

    /// Looks for itself: a call must not run because the writer has not noticed yet. The writer
    /// reports it.
    fn find_displaced_files(&self) -> Option<Error> {
        let why = self.trail.check_files().err()?;
        self.thread.unpark();
        Some(why)
    }

    fn wake(&self, weight: RowDurability) {
        // Either the writer sees the row before it sleeps, or we see that it sleeps.
        fence(Ordering::SeqCst);
        if weight == RowDurability::Durable || self.shared.idle.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

/// A slot in the queue.
pub(crate) struct AuditReservation<'l> {
    open: &'l AuditLedgerInner,
    permit: Option<mpsc::Permit<'l, AuditMessage>>,
}

impl<'l> AuditReservation<'l> {
    pub(crate) fn note(self, decision: Decision, weight: RowDurability) -> PendingAuditRow<'l> {
        let at = self.open.clock.wall();
        self.put(AuditPayload::Decision(at, decision), weight)
    }

    pub(crate) fn keep(self, record: CallRecord, weight: RowDurability) -> PendingAuditRow<'l> {
        self.put(AuditPayload::Call(record), weight)
    }

    fn put(self, what: AuditPayload, weight: RowDurability) -> PendingAuditRow<'l> {
        let Self { open, permit } = self;
        let (done, waiting) = match weight {
            RowDurability::Queued => (None, None),
            RowDurability::Durable => {
                let (done, waiting) = oneshot::channel();
                (Some(done), Some(waiting))
            }
        };
        let message = AuditMessage { what, done };
        match permit {
            Some(permit) => permit.send(message),
            None => {
                if open.queue.try_send(message).is_err() {
                    open.shared.lost.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        open.wake(weight);
        PendingAuditRow { shared: &open.shared, waiting }
    }
}

/// A row in the queue. It is written whether or not someone waits for it.
pub(crate) struct PendingAuditRow<'l> {
    shared: &'l AuditWriterState,
    waiting: Option<oneshot::Receiver<()>>,
}

impl PendingAuditRow<'_> {
    /// Returns at once for rows that need not be durable.
    pub(crate) async fn wait_until_written(self) -> Result<(), AuditWriteError> {
        let Some(waiting) = self.waiting else { return Ok(()) };
        let mut failing = self.shared.failing.subscribe();
        let why = tokio::select! {
            biased;
            written = waiting => match written {
                Ok(()) => return Ok(()),
                // The row was dropped: the queue was full, or the writer is gone.
                Err(_) => None,
            },
            why = failing.wait_for(Option::is_some) => why.ok().and_then(|why| why.clone()),
        };
        let why = why.or_else(|| self.shared.failing.borrow().clone());
        let gone = || Error::Failed("the queue is full, or the writer has stopped".to_owned());
        Err(AuditWriteError { why: why.unwrap_or_else(gone) })
    }
}

#[cfg(test)]
mod tests;
