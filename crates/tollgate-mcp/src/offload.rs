//! Offloads work on messages so large that everybody else on this thread would have to wait for it.
//!
//! A few threads do it that let all others have the processor first; there are no more of them
//! than cores, which bounds how much of such work is done at once.

use std::cell::Cell;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};
use std::thread;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::per_worker;

/// Reading more than this, in bytes, takes longer than others should wait.
pub const LARGE: usize = 256 << 10;

thread_local! {
    static IS_OFFLOADED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is one of those for large work, where nobody else is kept waiting.
pub fn is_offloaded() -> bool {
    IS_OFFLOADED.get()
}

/// Whether work on so many bytes keeps others on this thread waiting for too long.
pub fn is_too_large_here(size: usize) -> bool {
    size > LARGE && !is_offloaded()
}

/// Does the work here, or for a large message on a thread that nobody waits for. Dropping the
/// future gives up the result, and the work too if it has not begun.
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
            // Nobody waiting any more is fine.
            let _ = done.send(panic::catch_unwind(AssertUnwindSafe(work)));
        }
    };
    drop(runtime().spawn(job));
    match waiting.await.expect("every job is taken and done") {
        Ok(result) => result,
        Err(panic) => panic::resume_unwind(panic),
    }
}

/// Runs the future to its end on the threads for large work. Dropping what this returns cancels it.
pub async fn offload<F>(future: F) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    Offloaded(runtime().spawn(future)).await
}

/// A future that runs on the threads for large work. Dropping it aborts that.
struct Offloaded<T>(JoinHandle<T>);

impl<T> Future for Offloaded<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match ready!(Pin::new(&mut self.0).poll(context)) {
            Ok(output) => Poll::Ready(output),
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => panic::resume_unwind(panic),
                // Only the runtime's end cancels what nobody dropped, and it has none.
                Err(_) => Poll::Pending,
            },
        }
    }
}

impl<T> Drop for Offloaded<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// There from the first large message on, until the process ends. What is awaited on these threads
/// uses connections of their own, so that no other thread depends on them.
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
                // Where stepping back is not allowed, threads are equals.
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

    use tokio::sync::Notify;

    use super::{LARGE, is_offloaded, offload, offload_if_large};

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
        let (started, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (start, end) = (Arc::clone(&started), NotifyOnDrop(Arc::clone(&ended)));
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
