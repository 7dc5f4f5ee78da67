//! Reader threads of the memory's file: a few, each with its own connection. Every query has a
//! deadline. The queries themselves are defined elsewhere.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::queue::{BoundedQueue, QueueRefusedError};
use super::{MemoryError, STATEMENTS, now};
use crate::database;
use crate::error::Error;

/// Deadline of a query, including its time in the queue.
pub(super) const READ_TIMEOUT: Duration = Duration::from_millis(800);
const THREADS: usize = 4;
const WAITING: usize = 512;
/// Virtual machine steps between checks of the deadline.
const STEPS: i32 = 1_000;
/// Page cache of each connection, in KiB.
const CACHE: i32 = 16 << 10;

pub(super) struct ReaderPool {
    queue: Arc<BoundedQueue<ReadJob>>,
    threads: Vec<JoinHandle<()>>,
}

struct ReadJob {
    until: Instant,
    work: ReadWork,
}

type ReadWork = Box<dyn FnOnce(Result<&Connection, MemoryError>) + Send>;

/// State of one thread. However it ends, no caller is left waiting.
struct ReaderThread {
    connection: Connection,
    began: Instant,
    /// Microseconds since the start at which the current query is interrupted.
    until: Arc<AtomicU64>,
    queue: Arc<BoundedQueue<ReadJob>>,
}

impl ReaderPool {
    pub(super) fn start(file: &Path) -> Result<Self, Error> {
        let queue = Arc::new(BoundedQueue::new(WAITING));
        let mut readers = Self { queue: Arc::clone(&queue), threads: Vec::new() };
        for number in 1..=THREADS {
            let reader = ReaderThread::new(file, &queue)?;
            let thread = thread::Builder::new().name(format!("memory-read-{number}"));
            readers.threads.push(thread.spawn(move || reader.run())?);
        }
        Ok(readers)
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, MemoryError> + Send + 'static,
    ) -> Result<T, MemoryError> {
        let (reply, answer) = oneshot::channel();
        let work: ReadWork = Box::new(move |given: Result<&Connection, MemoryError>| {
            // Skip a query whose caller has gone.
            if !reply.is_closed() {
                let _ = reply.send(given.and_then(work));
            }
        });
        self.queue.push(ReadJob { until: now() + READ_TIMEOUT, work }).map_err(queue_error)?;
        answer.await.unwrap_or_else(|_| Err(threads_ended_error()))
    }
}

impl Drop for ReaderPool {
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl ReaderThread {
    fn new(file: &Path, queue: &Arc<BoundedQueue<ReadJob>>) -> Result<Self, Error> {
        let mut connection = database::connect(file)?;
        connection.busy_timeout(READ_TIMEOUT / 2)?;
        connection.pragma_update(None, "query_only", "ON")?;
        connection.pragma_update(None, "cache_size", -CACHE)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let began = now();
        let until = Arc::new(AtomicU64::new(u64::MAX));
        let limit = Arc::clone(&until);
        let is_late = move || micros(began, now()) > limit.load(Ordering::Relaxed);
        connection.progress_handler(STEPS, Some(is_late))?;
        Ok(Self { connection, began, until, queue: Arc::clone(queue) })
    }

    fn run(self) {
        while let Some(question) = self.queue.take() {
            if now() >= question.until {
                (question.work)(Err(MemoryError::Slow(READ_TIMEOUT)));
                continue;
            }
            self.answer(question);
        }
    }

    /// In one transaction: taking and releasing the file lock costs more than most queries, and the
    /// answer is a consistent snapshot.
    fn answer(&self, question: ReadJob) {
        self.until.store(micros(self.began, question.until), Ordering::Relaxed);
        match self.connection.unchecked_transaction() {
            Ok(transaction) => {
                (question.work)(Ok(&transaction));
                self.until.store(u64::MAX, Ordering::Relaxed);
            }
            Err(error) => (question.work)(Err(error.into())),
        }
    }
}

impl Drop for ReaderThread {
    fn drop(&mut self) {
        if thread::panicking() {
            self.queue.abandon();
        }
    }
}

fn micros(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_micros()).unwrap_or(u64::MAX)
}

pub(super) fn queue_error(refused: QueueRefusedError) -> MemoryError {
    match refused {
        QueueRefusedError::Full => MemoryError::Slow(READ_TIMEOUT),
        QueueRefusedError::Closed => threads_ended_error(),
    }
}

pub(super) fn threads_ended_error() -> MemoryError {
    MemoryError::Away("its threads have stopped".to_owned())
}
