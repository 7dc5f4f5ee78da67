//! Writer thread of the memory's file. Queued writes share one commit (group commit); callers are
//! answered afterwards. A failing write fails alone. The writes themselves are defined elsewhere.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::queue::BoundedQueue;
use super::readers::{queue_error, threads_ended_error};
use super::{MemoryError, STATEMENTS, now};
use crate::database::FilesInUse;
use crate::error::Error;

/// How long we wait for another process, and how long others wait for us.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_millis(400);
const MAX_WAIT: Duration = Duration::from_millis(900);
const WAITING: usize = 1_024;
/// Maximum rows per commit: more would delay others noticeably.
const BATCH: usize = 4_000;
/// Page cache in KiB.
const CACHE: i32 = 64 << 10;
/// Pages in the write-ahead log before a checkpoint, and its size limit in bytes afterwards.
const LOG_PAGES: i32 = 4_000;
const LOG_BYTES: i32 = 64 << 20;

pub(super) struct SqliteWriter {
    queue: Arc<BoundedQueue<QueuedWrite>>,
    thread: Option<JoinHandle<()>>,
}

struct QueuedWrite {
    job: Box<dyn WriteJob>,
    rows: usize,
    queued_at: Instant,
}

/// One caller's work. It may run a second time, if it was rolled back together with others.
trait WriteJob: Send {
    fn run(&mut self, to: &Connection) -> Result<(), MemoryError>;
    fn answer(self: Box<Self>, ended: Result<(), MemoryError>);
}

struct WriteWork<T, F> {
    work: F,
    done: Option<T>,
    reply: oneshot::Sender<Result<T, MemoryError>>,
}

/// State of the thread. However it ends, no caller is left waiting.
struct WriterThread {
    connection: Connection,
    files: Arc<FilesInUse>,
    queue: Arc<BoundedQueue<QueuedWrite>>,
}

impl SqliteWriter {
    pub(super) fn start(connection: Connection, files: Arc<FilesInUse>) -> Result<Self, Error> {
        // Acknowledged data must be on disk (fsync on every commit).
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "cache_size", -CACHE)?;
        connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let queue = Arc::new(BoundedQueue::new(WAITING));
        let pen = WriterThread { connection, files, queue: Arc::clone(&queue) };
        let thread = thread::Builder::new().name("memory-write".to_owned());
        Ok(Self { queue, thread: Some(thread.spawn(move || pen.run())?) })
    }

    /// Runs `work` in a shared commit; `rows` is its approximate size.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        rows: usize,
        work: impl Fn(&Connection) -> Result<T, MemoryError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(WriteWork { work, done: None, reply });
        self.queue.push(QueuedWrite { job, rows, queued_at: now() }).map_err(queue_error)?;
        answer.await.unwrap_or_else(|_| Err(threads_ended_error()))
    }
}

impl Drop for SqliteWriter {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl<T: Send, F: Fn(&Connection) -> Result<T, MemoryError> + Send> WriteJob for WriteWork<T, F> {
    fn run(&mut self, to: &Connection) -> Result<(), MemoryError> {
        self.done = Some((self.work)(to)?);
        Ok(())
    }

    fn answer(self: Box<Self>, ended: Result<(), MemoryError>) {
        let Self { done, reply, .. } = *self;
        let missing = || MemoryError::Failed(Error::Failed("nothing was done".to_owned()));
        // The receiver may be gone.
        let _ = reply.send(ended.and_then(|()| done.ok_or_else(missing)));
    }
}

impl WriterThread {
    fn run(mut self) {
        while let Some(first) = self.queue.take() {
            let batch = self.with_all_that_waits(first);
            self.commit(batch);
        }
    }

    fn with_all_that_waits(&self, first: QueuedWrite) -> Vec<QueuedWrite> {
        let mut rows = first.rows;
        let mut batch = vec![first];
        while let Some(next) = self.queue.take_if(|next| rows + next.rows <= BATCH) {
            rows += next.rows;
            batch.push(next);
        }
        let at = now();
        let is_late = |waiting: &mut QueuedWrite| at > waiting.queued_at + MAX_WAIT;
        for late in batch.extract_if(.., is_late) {
            late.job.answer(Err(MemoryError::Slow(MAX_WAIT)));
        }
        batch
    }

    fn commit(&mut self, mut batch: Vec<QueuedWrite>) {
        match self.together(&mut batch) {
            Ok(each) => {
                for (waiting, ended) in batch.into_iter().zip(each) {
                    waiting.job.answer(ended);
                }
            }
            Err(trouble @ MemoryError::Slow(_)) => self.refuse(batch, &trouble),
            Err(trouble) if batch.len() < 2 => self.refuse_each(batch, &trouble),
            // One of them made the batch fail: retry each alone.
            Err(_) => batch.into_iter().for_each(|alone| self.commit(vec![alone])),
        }
    }

    /// The result of each, once all of them are on disk.
    fn together(
        &mut self,
        batch: &mut [QueuedWrite],
    ) -> Result<Vec<Result<(), MemoryError>>, MemoryError> {
        let immediate = TransactionBehavior::Immediate;
        let mut transaction = self.connection.transaction_with_behavior(immediate)?;
        let mut each = Vec::with_capacity(batch.len());
        for waiting in batch {
            let savepoint = transaction.savepoint()?;
            let ended = waiting.job.run(&savepoint);
            match &ended {
                Ok(()) => savepoint.commit()?,
                // A full disk rolls back the whole transaction.
                Err(trouble) if savepoint.is_autocommit() => return Err(trouble.clone()),
                Err(_) => savepoint.finish()?,
            }
            each.push(ended);
        }
        self.files.check()?;
        transaction.commit()?;
        Ok(each)
    }

    /// Another process holds the lock: jobs queued meanwhile have waited long enough, too.
    fn refuse(&self, batch: Vec<QueuedWrite>, trouble: &MemoryError) {
        self.refuse_each(batch, trouble);
        while let Some(waiting) = self.queue.take_if(|_| true) {
            waiting.job.answer(Err(trouble.clone()));
        }
    }

    fn refuse_each(&self, batch: Vec<QueuedWrite>, trouble: &MemoryError) {
        for waiting in batch {
            waiting.job.answer(Err(trouble.clone()));
        }
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        if thread::panicking() {
            self.queue.abandon();
        }
    }
}
