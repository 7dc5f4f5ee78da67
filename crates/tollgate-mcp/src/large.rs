//! Work on messages so large that everybody else on this thread would have to wait for it.

use tokio_util::task::AbortOnDropHandle;

/// Reading more than this, in bytes, takes longer than others should wait.
pub const LARGE: usize = 256 << 10;

/// Does the work here, or for a large message on a thread that nobody waits for. Dropping the
/// future gives up the result, and the work too if it has not begun.
pub async fn aside<T: Send + 'static>(size: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if size <= LARGE {
        return work();
    }
    match AbortOnDropHandle::new(tokio::task::spawn_blocking(work)).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that ends cancels such work, and then nobody waits for it.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGE, aside};

    #[tokio::test]
    async fn only_large_messages_leave_the_thread() {
        let here = std::thread::current().id();
        assert_eq!(aside(LARGE, || std::thread::current().id()).await, here);
        assert_ne!(aside(LARGE + 1, || std::thread::current().id()).await, here);
    }
}
