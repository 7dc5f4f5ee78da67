//! Moves the anchor of the trail behind its rows, on a thread of its own: it costs a write to the disk
//! now and then, and no call waits for it.

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

/// The anchor is behind the last row by no more than this, and what a write to the disk takes.
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct AnchorThread {
    thread: JoinHandle<()>,
    ending: Arc<AtomicBool>,
}

impl AnchorThread {
    pub(super) fn start(trail: Audit, shared: Arc<AuditWriterState>) -> Result<Self, Error> {
        let ending = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ending);
        let run = move || keep_anchored(&trail, &shared, &told);
        let started = thread::Builder::new().name("audit-anchor".to_owned()).spawn(run);
        let thread = started.map_err(|error| Error::Failed(error.to_string()))?;
        Ok(Self { thread, ending })
    }

    /// Moves it once more. Nothing must be written any more.
    pub(super) fn finish(self) {
        self.ending.store(true, Ordering::Release);
        self.thread.thread().unpark();
        // A panic in there was told by the panic itself.
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
                // Said once: it is tried again with the next look.
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

/// Compares the trail with its anchor before anything is added; what is lost, as a row of its own.
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
