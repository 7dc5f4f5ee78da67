//! The source of time: tokio, so that a paused test clock governs timers and measurements alike.

use tokio::time::Instant;

#[expect(clippy::disallowed_methods, reason = "the one place of this crate that asks")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
