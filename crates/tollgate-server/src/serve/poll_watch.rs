//! Detects polls that block a worker for too long. Measured in CPU time of the thread, so
//! that preemption by other processes does not count.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The longest poll of a connection's task so far.
#[derive(Debug, Default)]
pub struct PollWatch {
    longest_nanoseconds: AtomicU64,
}

impl PollWatch {
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest_nanoseconds.load(Ordering::Relaxed))
    }

    /// Resets the maximum.
    pub fn reset(&self) {
        self.longest_nanoseconds.store(0, Ordering::Relaxed);
    }
}

pub(super) struct WatchedFuture<F> {
    future: Pin<Box<F>>,
    watch: Arc<PollWatch>,
}

impl<F> WatchedFuture<F> {
    pub(super) fn new(future: F, watch: Arc<PollWatch>) -> Self {
        Self { future: Box::pin(future), watch }
    }
}

impl<F: Future> Future for WatchedFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let before = processor_nanoseconds();
        let polled = self.future.as_mut().poll(context);
        let took = processor_nanoseconds().saturating_sub(before);
        self.watch.longest_nanoseconds.fetch_max(took, Ordering::Relaxed);
        polled
    }
}

fn processor_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = time.tv_sec.unsigned_abs();
    let rest = time.tv_nsec.unsigned_abs();
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{PollWatch, WatchedFuture, processor_nanoseconds};

    #[tokio::test]
    async fn r_35_a_poll_that_computes_is_seen_and_one_that_waits_is_not() {
        let watch = Arc::new(PollWatch::default());
        let idle = async { tokio::time::sleep(Duration::from_millis(50)).await };
        WatchedFuture::new(idle, Arc::clone(&watch)).await;
        assert!(watch.longest() < Duration::from_millis(20), "{:?}", watch.longest());
        let busy = async {
            let began = processor_nanoseconds();
            while processor_nanoseconds() - began < 30_000_000 {}
        };
        WatchedFuture::new(busy, Arc::clone(&watch)).await;
        assert!(watch.longest() >= Duration::from_millis(30), "{:?}", watch.longest());
        watch.reset();
        assert_eq!(watch.longest(), Duration::ZERO);
    }
}
