//! Threads for live sessions: audio does not wait behind the calls and requests that the workers
//! serve.
//!
//! A session stays on its thread, with both of its sockets. Its tool calls and the answers of other
//! models run on the worker of its client's connection.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio_util::sync::{CancellationToken, DropGuard};
use tollgate_mcp::{per_worker, tasks};

/// Polls of sessions between two looks at sockets and timers, so that no session waits for a queue
/// of others.
const POLLS_BETWEEN_EVENTS: u32 = 16;

/// The threads, one per core. They start with the first session, and end when this is dropped.
pub(crate) struct RealtimeThreads {
    threads: OnceLock<Vec<RealtimeThread>>,
    next: AtomicUsize,
    ended: CancellationToken,
    _end: DropGuard,
}

/// One of the threads.
#[derive(Clone, Debug)]
pub(crate) struct RealtimeThread {
    runtime: Handle,
}

impl RealtimeThreads {
    pub(crate) fn new() -> Self {
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        Self { threads: OnceLock::new(), next: AtomicUsize::new(0), ended, _end: end }
    }

    /// The thread for the next session. Must be called within a runtime, which serves the session
    /// itself if no thread can be started.
    pub(crate) fn pick(&self) -> RealtimeThread {
        let threads = self.threads.get_or_init(|| start_threads(&self.ended));
        let next = self.next.fetch_add(1, Ordering::Relaxed) % threads.len().max(1);
        let here = || RealtimeThread { runtime: Handle::current() };
        threads.get(next).cloned().unwrap_or_else(here)
    }
}

impl RealtimeThread {
    /// Runs the future on this thread. Dropping the returned future cancels it.
    pub(crate) fn run<F>(&self, future: F) -> impl Future<Output = F::Output> + Send + use<F>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let runtime = self.runtime.clone();
        async move { tasks::run_on(&runtime, future).await }
    }
}

fn start_threads(ended: &CancellationToken) -> Vec<RealtimeThread> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let start = |number| start_thread(number, cores, ended.clone());
    (0..cores).filter_map(start).collect()
}

fn start_thread(number: usize, workers: usize, ended: CancellationToken) -> Option<RealtimeThread> {
    let mut builder = Builder::new_current_thread();
    let runtime = match builder.enable_all().event_interval(POLLS_BETWEEN_EVENTS).build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "a thread for live sessions has no runtime");
            return None;
        }
    };
    let started = RealtimeThread { runtime: runtime.handle().clone() };
    let run = move || {
        // Behind the workers, whose numbers begin with 1.
        per_worker::enter(workers + 1 + number);
        runtime.block_on(ended.cancelled());
    };
    let thread = thread::Builder::new().name(format!("realtime-{number}")).spawn(run);
    match thread {
        Ok(_) => Some(started),
        Err(error) => {
            tracing::error!(%error, "cannot start a thread for live sessions");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::RealtimeThreads;

    #[tokio::test]
    async fn sessions_run_on_threads_of_their_own_in_turns() {
        let threads = RealtimeThreads::new();
        let name = || async { thread::current().name().map(str::to_owned).unwrap_or_default() };
        let cores = thread::available_parallelism().unwrap().get();
        let mut names = Vec::new();
        for _ in 0..=cores {
            names.push(threads.pick().run(name()).await);
        }
        assert!(names.iter().all(|name| name.starts_with("realtime-")), "{names:?}");
        assert_eq!(names[0], names[cores]);
    }

    #[tokio::test]
    async fn r_34_a_session_that_panics_costs_no_thread() {
        let threads = RealtimeThreads::new();
        let thread = threads.pick();
        let broken = thread.run(async { panic!("a broken session") });
        let ended: Result<(), _> =
            tokio::task::JoinSet::from_iter([broken]).join_next().await.unwrap();
        assert!(ended.is_err_and(|error| error.is_panic()));
        assert_eq!(thread.run(async { 7 }).await, 7);
    }
}
