//! Work on messages so large that everybody else on this thread would have to wait for it. A few
//! threads do it that let all others have the processor first.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Reading more than this, in bytes, takes longer than others should wait.
pub const LARGE: usize = 256 << 10;

/// Does the work here, or for a large message on a thread that nobody waits for. Dropping the
/// future gives up the result, and the work too if it has not begun.
pub async fn aside<T: Send + 'static>(size: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if size <= LARGE {
        return work();
    }
    let (done, waiting) = oneshot::channel();
    let runtime = Handle::current();
    let job = move || {
        if !done.is_closed() {
            let _inside = runtime.enter();
            // Nobody waiting any more is fine.
            let _ = done.send(panic::catch_unwind(AssertUnwindSafe(work)));
        }
    };
    readers().lock().send(Box::new(job)).expect("readers live as long as the process");
    match waiting.await.expect("every job is taken and done") {
        Ok(result) => result,
        Err(panic) => panic::resume_unwind(panic),
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// The way to the threads, which are there from the first large message on. Those who wait for
/// their work bound the queue.
fn readers() -> &'static Mutex<mpsc::Sender<Job>> {
    static READERS: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    READERS.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..thread::available_parallelism().map_or(1, usize::from) {
            let jobs = Arc::clone(&jobs);
            let read = move || {
                // Where stepping back is not allowed, threads are equals.
                let _ = rustix::process::nice(10);
                loop {
                    let job = jobs.lock().recv();
                    let Ok(job) = job else { return };
                    job();
                }
            };
            let started = thread::Builder::new().name(format!("reader-{number}")).spawn(read);
            started.expect("a process that cannot start a thread cannot serve");
        }
        Mutex::new(sender)
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::{LARGE, aside};

    #[tokio::test]
    async fn only_large_messages_leave_the_thread() {
        let here = thread::current().id();
        assert_eq!(aside(LARGE, || thread::current().id()).await, here);
        assert_ne!(aside(LARGE + 1, || thread::current().id()).await, here);
    }

    #[tokio::test]
    async fn work_that_panics_costs_its_caller_and_no_thread() {
        for _ in 0..20 {
            let work = tokio::task::JoinSet::from_iter([aside(LARGE + 1, || panic!("broken"))]);
            let ended: Vec<Result<(), _>> = collect(work).await;
            assert!(ended[0].as_ref().is_err_and(tokio::task::JoinError::is_panic));
        }
        assert_eq!(aside(LARGE + 1, || 7).await, 7);
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
