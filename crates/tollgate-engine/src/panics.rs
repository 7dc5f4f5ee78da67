//! Counts panics anywhere in the process: contained or not, a panic is a bug of the gateway that
//! the operator should see.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);
static HOOK_INSTALLED: Once = Once::new();

/// Installs the counter. The previous panic hook is still called.
pub fn watch() {
    HOOK_INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            COUNT.fetch_add(1, Ordering::Relaxed);
            before(panic);
        }));
    });
}

/// Since the first call of [`watch`].
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}
