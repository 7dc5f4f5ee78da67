//! Structured task spawning. Each task has a name and an owner; dropping the owner aborts it.

use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::{JoinHandle, JoinSet};
use tracing::Instrument;

/// Spawns `future` on the current runtime. The name appears in logs.
#[expect(clippy::disallowed_methods, reason = "this is the place the lint points to")]
pub fn spawn<F>(name: &'static str, future: F) -> Task
where
    F: Future<Output = ()> + Send + 'static,
{
    Task(tokio::spawn(future.instrument(tracing::trace_span!("task", name))))
}

/// Runs `future` to completion even if the caller stops waiting: for changes that must not be left
/// half done. `None` if it panicked.
#[expect(clippy::disallowed_methods, reason = "this is the place the lint points to")]
pub async fn run_to_completion<T: Send + 'static>(
    name: &'static str,
    future: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    tokio::spawn(future.instrument(tracing::trace_span!("task", name))).await.ok()
}

/// Runs `future` on another runtime, and returns its output here, or its panic. Dropping the returned
/// future aborts it.
pub fn run_on<F>(runtime: &Handle, future: F) -> RunningElsewhere<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    RunningElsewhere(runtime.spawn(future))
}

/// A future that runs on another runtime.
#[derive(Debug)]
#[must_use = "dropping it aborts the future"]
pub struct RunningElsewhere<T>(JoinHandle<T>);

impl<T> Future for RunningElsewhere<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match ready!(Pin::new(&mut self.0).poll(context)) {
            Ok(output) => Poll::Ready(output),
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => panic::resume_unwind(panic),
                // The runtime is shutting down, and whoever waits here with it.
                Err(_) => Poll::Pending,
            },
        }
    }
}

impl<T> Drop for RunningElsewhere<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A running task. Dropping it aborts the task.
#[derive(Debug)]
#[must_use = "dropping a task aborts it"]
pub struct Task(JoinHandle<()>);

impl Task {
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Waits for the end of the task, in any way. Cancel-safe: the task keeps running and is still
    /// owned. May be called again.
    pub async fn wait(&mut self) {
        if !self.0.is_finished() {
            let _ = (&mut self.0).await;
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Short tasks with one owner and an upper limit. Dropping it aborts them all. Can be used from
/// threads outside of the runtime, and so in `Drop`.
#[derive(Debug)]
pub struct TaskGroup {
    name: &'static str,
    limit: usize,
    runtime: Handle,
    running: Mutex<JoinSet<()>>,
}

impl TaskGroup {
    /// Must be called within a runtime; the tasks run on it.
    pub fn new(name: &'static str, limit: usize) -> Self {
        let running = Mutex::new(JoinSet::new());
        Self { name, limit, runtime: Handle::current(), running }
    }

    /// Spawns `future`, unless `limit` tasks are running.
    pub fn spawn<F>(&self, future: F) -> Result<(), TaskLimitError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut running = self.running.lock();
        while running.try_join_next().is_some() {}
        if running.len() >= self.limit {
            return Err(TaskLimitError);
        }
        let span = tracing::trace_span!("task", name = self.name);
        running.spawn_on(future.instrument(span), &self.runtime);
        Ok(())
    }

    /// Waits for the tasks that are running now.
    pub async fn wait(&self) {
        let mut running = std::mem::take(&mut *self.running.lock());
        while running.join_next().await.is_some() {}
    }

    pub fn abort_all(&self) {
        self.running.lock().abort_all();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many tasks of this kind are running")]
pub struct TaskLimitError;

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn the_end_of_a_task_may_be_waited_for_more_than_once() {
        let mut task = super::spawn("short", async {});
        task.wait().await;
        task.wait().await;
        assert!(task.is_finished());
    }

    #[tokio::test]
    async fn what_must_be_whole_goes_on_without_whoever_waited_for_it() {
        let (go, begun) = tokio::sync::oneshot::channel::<()>();
        let (done, ended) = tokio::sync::oneshot::channel();
        let change = async move {
            begun.await.unwrap();
            done.send("whole").unwrap();
        };
        let waiting = super::run_to_completion("change", change);
        assert!(tokio::time::timeout(std::time::Duration::ZERO, waiting).await.is_err());
        go.send(()).unwrap();
        assert_eq!(ended.await.unwrap(), "whole");
    }
}
