//! The threads that read the memory's file: a few, each with its own connection. Whatever they are
//! asked ends in time. What is read is not known here.

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

/// From the question to the answer, waiting included.
pub(super) const READ_TIMEOUT: Duration = Duration::from_millis(800);
const THREADS: usize = 4;
const WAITING: usize = 512;
/// Of the virtual machine, between looks at the clock.
const STEPS: i32 = 1_000;
/// Kibibytes of pages that each connection keeps.
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

/// One thread's own. However it ends, nobody waits for it in vain.
struct ReaderThread {
    connection: Connection,
    began: Instant,
    /// Microseconds after it began at which what it does is given up.
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
            // Nobody does what nobody waits for.
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
        let (began, until) = (now(), Arc::new(AtomicU64::new(u64::MAX)));
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

    /// In one transaction: taking and giving back the file's lock costs more than most of what is
    /// asked, and all of an answer is of the same moment.
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
