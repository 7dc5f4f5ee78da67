//! Ends the process when a single operation takes too much CPU time. A product of two huge numbers is
//! one step of the interpreter and may take minutes, so the step limit does not end it.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tollgate_sandbox::frames::NO_PROGRESS;

/// CPU time between two signs of progress. A thousand ordinary steps take less than a millisecond.
const MAX_STALL: Duration = Duration::from_secs(2);

/// The CPU time of this process when its program last made progress.
#[derive(Debug, Clone, Default)]
pub struct ProgressClock(Arc<AtomicU64>);

impl ProgressClock {
    /// Call it before the process is confined: to read the clock for the first time takes system
    /// calls that are forbidden later.
    pub fn prepare() -> Self {
        cpu_nanos();
        Self::default()
    }

    /// The first call starts the clock: reading a program is bounded by its length.
    pub(crate) fn record(&self) {
        self.0.store(cpu_nanos().max(1), Ordering::Relaxed);
    }

    /// CPU time since then. Zero before the program runs.
    fn stalled_for(&self) -> Duration {
        match self.0.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            last => Duration::from_nanos(cpu_nanos().saturating_sub(last)),
        }
    }
}

/// Watches the program that is sent, until its sender is dropped.
pub fn watch(programs: &Receiver<ProgressClock>) {
    let Ok(progress) = programs.recv() else { return };
    loop {
        // CPU time does not pass faster than time.
        let left = MAX_STALL.saturating_sub(progress.stalled_for());
        if left.is_zero() {
            end();
        }
        match programs.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[expect(clippy::exit, reason = "the program's thread cannot be ended in another way")]
fn end() -> ! {
    // The gateway reads it.
    let _ = writeln!(io::stderr(), "tollgate-worker: {NO_PROGRESS}");
    std::process::exit(1)
}

fn cpu_nanos() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let time = Duration::try_from(time).unwrap_or_default();
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
