//! Advances the anchor of the audit trail behind its rows. Runs on its own thread: it costs an
//! occasional disk write, and no call waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tollgate_core::turn::Principal;
use tollgate_store::Error;
use tollgate_store::audit::{Audit, AuditLoss};

use super::decision::{AuditAction, Decision};
use super::{AuditWriterState, GATEWAY_PRINCIPAL};
use crate::clock::Clock;

/// The anchor lags the last row by at most this, plus one disk write.
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct AnchorThread {
    thread: JoinHandle<()>,
    ending: Arc<AtomicBool>,
}

impl AnchorThread {
    pub(super) fn start(trail: Audit, shared: Arc<AuditWriterState>) -> Result<Self, Error> {
        let ending = Arc::new(AtomicBool::new(false));
        let end_signal = Arc::clone(&ending);
        let run = move || keep_anchored(&trail, &shared, &end_signal);
        let started = thread::Builder::new().name("audit-anchor".to_owned()).spawn(run);
        let thread = started.map_err(|error| Error::Failed(error.to_string()))?;
        Ok(Self { thread, ending })
    }

    /// Advances the anchor one last time. Nothing may be written afterwards.
    pub(super) fn finish(self) {
        self.ending.store(true, Ordering::Release);
        self.thread.thread().unpark();
        // The panic hook has already reported a panic of this thread.
        let _ = self.thread.join();
    }
}

fn keep_anchored(trail: &Audit, shared: &AuditWriterState, ending: &AtomicBool) {
    let mut anchored = 0;
    let mut is_failing = false;
    loop {
        let is_ending = ending.load(Ordering::Acquire);
        let last = *shared.last.borrow();
        if last != anchored || is_ending {
            match trail.move_anchor() {
                Ok(()) => (anchored, is_failing) = (last, false),
                // Reported by the writer. Without its file the trail has no end to note.
                Err(Error::Displaced(_) | Error::Truncated) => {}
                // Logged once; the next tick retries.
                Err(error) if !is_failing => {
                    tracing::warn!(%error, "cannot write the anchor file of the audit trail");
                    is_failing = true;
                }
                Err(_) => {}
            }
        }
        if is_ending {
            return;
        }
        thread::park_timeout(INTERVAL);
    }
}

/// Compares the trail with its anchor before anything is added. Returns a row that reports lost
/// rows, if there are any.
pub(super) fn reconcile(trail: &Audit, clock: &dyn Clock) -> Option<Decision> {
    match trail.reconcile(clock.wall()) {
        Ok(None) => None,
        Ok(Some(loss)) => {
            tracing::error!(
                file = %trail.file().display(), loss = %loss,
                "the audit trail has lost rows; restore the database from a backup, or acknowledge \
                 the loss with `tollgate audit acknowledge`"
            );
            Some(loss_decision(&loss))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot write the anchor file of the audit trail");
            None
        }
    }
}

fn loss_decision(loss: &AuditLoss) -> Decision {
    Decision::new(AuditAction::Lost, &Principal::from_name(GATEWAY_PRINCIPAL), "found")
        .because(&loss.to_string())
}
