//! Offloads work on large messages, which would delay everything else on a worker thread.
//!
//! A few threads of low priority do it; there are at most as many as cores, which bounds the amount
//! of concurrent large work.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::thread;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

use crate::{per_worker, tasks};

/// Parsing more bytes than this takes longer than other tasks should wait.
pub const LARGE: usize = 256 << 10;

thread_local! {
    static IS_OFFLOADED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is one of the offload threads, where no other task is delayed.
pub fn is_offloaded() -> bool {
    IS_OFFLOADED.get()
}

/// Whether work on this many bytes would delay other tasks of this thread too long.
pub fn is_too_large_here(size: usize) -> bool {
    size > LARGE && !is_offloaded()
}

/// Does the work here, or on an offload thread if the message is large. Dropping the future
/// discards the result, and also the work if it has not begun.
pub async fn offload_if_large<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if !is_too_large_here(size) {
        return work();
    }
    let (done, waiting) = oneshot::channel();
    let caller = Handle::current();
    let job = async move {
        if !done.is_closed() {
            let _inside = caller.enter();
            // The receiver may be gone.
            let _ = done.send(panic::catch_unwind(AssertUnwindSafe(work)));
        }
    };
    drop(runtime().spawn(job));
    match waiting.await.expect("every job is taken and done") {
        Ok(result) => result,
        Err(panic) => panic::resume_unwind(panic),
    }
}

/// Runs the future on the offload threads. Dropping the returned future cancels it.
pub async fn offload<F>(future: F) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tasks::run_on(runtime().handle(), future).await
}

/// Runs a long-lived future on the caller's thread, but on the offload threads while it reports
/// large work through its [`LargeWork`]. It moves only when it returns `Pending`.
pub async fn offload_while_large<F>(start: impl FnOnce(LargeWork) -> F) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let work = LargeWork { jobs: Arc::default() };
    let mut future = Box::pin(start(work.clone()));
    loop {
        if let Some(output) = poll_until(&mut future, || work.is_under_way()).await {
            return output;
        }
        let work = work.clone();
        let moved = async move {
            let output = poll_until(&mut future, || !work.is_under_way()).await;
            (future, output)
        };
        match offload(moved).await {
            (_, Some(output)) => return output,
            (moved_back, None) => future = moved_back,
        }
    }
}

/// Polls a future to completion, or until it is pending while `stop` holds.
async fn poll_until<F: Future>(
    future: &mut Pin<Box<F>>,
    stop: impl Fn() -> bool,
) -> Option<F::Output> {
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if stop() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// Through this a future run by [`offload_while_large`] reports large work.
#[derive(Debug, Clone)]
pub struct LargeWork {
    jobs: Arc<AtomicUsize>,
}

impl LargeWork {
    /// Reports large work until the guard is dropped.
    pub fn begin(&self) -> LargeWorkGuard {
        self.jobs.fetch_add(1, Ordering::Relaxed);
        LargeWorkGuard { jobs: Arc::clone(&self.jobs) }
    }

    /// Pending while large work waits to be moved off this thread. Must be polled before such work
    /// is done.
    pub fn poll_moved(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_under_way() && !is_offloaded() {
            // It is polled again right after the move; a combinator in between must not skip it.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Relaxed suffices: only the future itself reports, and moving it synchronizes.
    fn is_under_way(&self) -> bool {
        self.jobs.load(Ordering::Relaxed) > 0
    }
}

/// Large work in progress until this is dropped.
#[derive(Debug)]
pub struct LargeWorkGuard {
    jobs: Arc<AtomicUsize>,
}

impl Drop for LargeWorkGuard {
    fn drop(&mut self) {
        self.jobs.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Created on the first large message, and never shut down. Futures on these threads use their own
/// connections, so that no other thread depends on them.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("large-work")
            .on_thread_start(|| {
                IS_OFFLOADED.set(true);
                per_worker::enter_large_work();
                // If lowering the priority is not permitted, the threads keep the normal one.
                let _ = rustix::process::nice(10);
            })
            .enable_all()
            .build()
            .expect("a process that cannot start a thread cannot serve")
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use tokio::sync::{Notify, oneshot};

    use super::{LARGE, is_offloaded, offload, offload_if_large, offload_while_large};

    #[tokio::test]
    async fn only_large_messages_leave_the_thread() {
        let here = thread::current().id();
        assert_eq!(offload_if_large(LARGE, || thread::current().id()).await, here);
        assert_ne!(offload_if_large(LARGE + 1, || thread::current().id()).await, here);
    }

    #[tokio::test]
    async fn offloaded_work_is_not_offloaded_again() {
        let (outer, inner) = offload(async {
            let outer = thread::current().id();
            (outer, offload_if_large(LARGE + 1, || (thread::current().id(), is_offloaded())).await)
        })
        .await;
        assert_eq!(inner, (outer, true));
        assert!(!is_offloaded());
    }

    #[tokio::test]
    async fn work_that_panics_costs_its_caller_and_no_thread() {
        for _ in 0..20 {
            let work =
                tokio::task::JoinSet::from_iter([offload_if_large(LARGE + 1, || panic!("broken"))]);
            let ended: Vec<Result<(), _>> = collect(work).await;
            assert!(ended[0].as_ref().is_err_and(tokio::task::JoinError::is_panic));
            let future = tokio::task::JoinSet::from_iter([offload(async { panic!("broken") })]);
            let ended: Vec<Result<(), _>> = collect(future).await;
            assert!(ended[0].as_ref().is_err_and(tokio::task::JoinError::is_panic));
        }
        assert_eq!(offload_if_large(LARGE + 1, || 7).await, 7);
    }

    #[tokio::test]
    async fn dropping_an_offloaded_future_cancels_it() {
        struct NotifyOnDrop(Arc<Notify>);
        impl Drop for NotifyOnDrop {
            fn drop(&mut self) {
                self.0.notify_one();
            }
        }
        let started = Arc::new(Notify::new());
        let ended = Arc::new(Notify::new());
        let start = Arc::clone(&started);
        let end = NotifyOnDrop(Arc::clone(&ended));
        let forever = offload(async move {
            let _end = end;
            start.notify_one();
            std::future::pending::<()>().await;
        });
        tokio::select! {
            () = forever => unreachable!("it never ends"),
            () = started.notified() => {}
        }
        let cancelled = tokio::time::timeout(Duration::from_secs(30), ended.notified()).await;
        assert!(cancelled.is_ok());
    }

    #[tokio::test]
    async fn a_future_moves_while_it_has_large_work_and_comes_back() {
        let here = thread::current().id();
        let threads = offload_while_large(async |work| {
            let mut threads = Vec::new();
            for _ in 0..3 {
                threads.push((thread::current().id(), is_offloaded()));
                let first = work.begin();
                let second = work.begin();
                std::future::poll_fn(|context| work.poll_moved(context)).await;
                threads.push((thread::current().id(), is_offloaded()));
                drop(first);
                tokio::task::yield_now().await;
                threads.push((thread::current().id(), is_offloaded()));
                drop(second);
                tokio::task::yield_now().await;
            }
            threads
        })
        .await;
        for round in threads.chunks(3) {
            assert_eq!(round[0], (here, false));
            assert!(round[1].1 && round[2].1, "{round:?}");
        }
    }

    #[tokio::test]
    async fn a_future_that_moved_still_hears_what_it_waits_for() {
        let (orders, mut given) = tokio::sync::mpsc::channel::<(bool, oneshot::Sender<bool>)>(1);
        let running = offload_while_large(async move |work| {
            let mut guard = None;
            while let Some((is_large, seen)) = given.recv().await {
                guard = is_large.then(|| guard.take().unwrap_or_else(|| work.begin()));
                seen.send(is_offloaded()).unwrap();
            }
        });
        let ordering = async move {
            let order = async |is_large| {
                let (sender, seen) = oneshot::channel();
                orders.send((is_large, sender)).await.unwrap();
                seen.await.unwrap()
            };
            assert!(!order(true).await);
            assert!(order(true).await);
            assert!(order(false).await);
            while order(false).await {}
        };
        let both = async { tokio::join!(running, ordering) };
        tokio::time::timeout(Duration::from_secs(30), both).await.expect("it comes back");
    }

    async fn collect<T: 'static>(
        mut set: tokio::task::JoinSet<T>,
    ) -> Vec<Result<T, tokio::task::JoinError>> {
        let mut ended = Vec::new();
        while let Some(one) = set.join_next().await {
            ended.push(one);
        }
        ended
    }
}
