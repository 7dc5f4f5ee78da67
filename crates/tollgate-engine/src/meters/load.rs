//! The load of a server: calls in flight to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::atomic_instant::AtomicInstant;
use crate::clock::Clock;

#[derive(Debug)]
pub(super) struct ServerLoad {
    visits: AtomicUsize,
    created: Instant,
    left: AtomicInstant,
}

/// One call in flight; ends on drop.
pub(crate) struct ServerLoadGuard {
    load: Arc<ServerLoad>,
    clock: Arc<dyn Clock>,
}

impl ServerLoad {
    pub(super) fn new(created: Instant) -> Self {
        Self { visits: AtomicUsize::new(0), created, left: AtomicInstant::never(created) }
    }

    pub(super) fn idle_since(&self) -> Option<Instant> {
        let idle = self.visits.load(Ordering::Acquire) == 0;
        idle.then(|| self.left.get().unwrap_or(self.created))
    }
}

impl ServerLoadGuard {
    pub(super) fn begin(load: Arc<ServerLoad>, clock: Arc<dyn Clock>) -> Self {
        load.visits.fetch_add(1, Ordering::AcqRel);
        Self { load, clock }
    }
}

impl Drop for ServerLoadGuard {
    fn drop(&mut self) {
        // The instant comes first: a reader that sees the server idle also sees since when.
        self.load.left.set(Some(self.clock.now()));
        self.load.visits.fetch_sub(1, Ordering::AcqRel);
    }
}
