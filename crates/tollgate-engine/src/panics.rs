//! How often something panicked, wherever it was: contained or not, it is a fault of the gateway that
//! somebody should hear of.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);
static HOOK_INSTALLED: Once = Once::new();

/// From now on panics are counted. What was done about them before is still done.
pub fn watch() {
    HOOK_INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            COUNT.fetch_add(1, Ordering::Relaxed);
            before(panic);
        }));
    });
}

/// Since [`watch`] was called first.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}
