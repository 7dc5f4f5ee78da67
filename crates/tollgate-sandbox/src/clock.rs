//! Where the time comes from: tokio, so that a paused clock governs timers and measures alike.

use tokio::time::Instant;

#[expect(clippy::disallowed_methods, reason = "the one place of this crate that asks")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
