//! The single writer thread of the audit ledger. It commits queued rows together (group commit). On
//! failure it keeps its rows, reports the failure and retries.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tollgate_core::turn::Principal;
use tollgate_store::Error;
use tollgate_store::audit::{Audit, AuditJournal};

use super::decision::{AuditAction, Decision};
use super::message::{AuditMessage, AuditPayload};
use super::{AuditWriterState, GATEWAY_PRINCIPAL, disk_space};
use crate::clock::Clock;

/// Rows per commit: a few milliseconds of work at most.
const MAX_ROWS_PER_COMMIT: usize = 512;
/// Rows that nobody waits for are committed together with those that follow within this time.
const COMMIT_DELAY: Duration = Duration::from_millis(20);
/// A durable row is committed together with those of other calls that end at the same moment, such
/// as when their server crashes: as long as the gap between them is shorter than this, and within
/// the total below. Otherwise the rest would wait for two commits, the first with only one row.
const SIBLING_PAUSE: Duration = Duration::from_micros(500);
const SIBLING_GATHER: Duration = Duration::from_millis(4);
/// A bound that does not depend on the clock.
const MAX_SIBLING_WAITS: usize = 64;
/// How long an idle writer sleeps before it checks the disk.
const IDLE_SLEEP: Duration = Duration::from_secs(1);
/// After a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Interval between checks for expired rows, and rows removed at once.
const RETENTION_INTERVAL: Duration = Duration::from_secs(60);
const MAX_ROWS_PER_RETENTION: u64 = 1_000;

pub(super) struct AuditWriter {
    trail: Audit,
    /// `None` after a failure that may be the connection's.
    journal: Option<AuditJournal>,
    rows: mpsc::Receiver<AuditMessage>,
    shared: Arc<AuditWriterState>,
    clock: Arc<dyn Clock>,
    batch: Vec<AuditMessage>,
    tidy_at: Instant,
    /// Removed in this retention pass.
    removed: u64,
}

/// Whether all expired rows are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RetentionProgress {
    Wholly,
    InPart,
}

impl AuditWriter {
    pub(super) fn new(
        trail: Audit,
        journal: AuditJournal,
        rows: mpsc::Receiver<AuditMessage>,
        shared: &Arc<AuditWriterState>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        Self {
            trail,
            journal: Some(journal),
            rows,
            shared: Arc::clone(shared),
            tidy_at: clock.now(),
            clock: Arc::clone(clock),
            batch: Vec::with_capacity(MAX_ROWS_PER_COMMIT),
            removed: 0,
        }
    }

    pub(super) fn run(mut self) {
        loop {
            let closing = self.is_closing();
            self.fill();
            if self.batch.is_empty() {
                if closing {
                    return;
                }
                self.rest();
                continue;
            }
            if !closing {
                self.gather();
            }
            match self.commit() {
                Ok(()) => drop(self.tidy()),
                Err(_) if closing => return self.give_up(),
                Err(_) => self.pause(),
            }
        }
    }

    fn fill(&mut self) {
        while self.batch.len() < MAX_ROWS_PER_COMMIT
            && let Ok(message) = self.rows.try_recv()
        {
            self.batch.push(message);
        }
    }

    /// Sleeps until there is something to do.
    fn rest(&mut self) {
        self.look_after_space();
        if self.has_its_files() && self.tidy() == RetentionProgress::InPart {
            return;
        }
        self.shared.idle.store(true, Ordering::SeqCst);
        // Either we see the row that was just queued, or its sender sees that we sleep.
        fence(Ordering::SeqCst);
        self.fill();
        if self.batch.is_empty() && !self.is_closing() {
            thread::park_timeout(IDLE_SLEEP);
        }
        self.shared.idle.store(false, Ordering::SeqCst);
    }

    /// Sleeps after a failure, even when unparked.
    fn pause(&self) {
        let until = self.clock.now() + RETRY_PAUSE;
        while !self.is_closing() {
            let left = until.saturating_duration_since(self.clock.now());
            if left.is_zero() {
                return;
            }
            thread::park_timeout(left);
        }
    }

    fn is_closing(&self) -> bool {
        self.shared.closing.load(Ordering::Acquire)
    }

    /// Waits for more rows to commit together; if someone waits for a row, only for those that end
    /// right now.
    fn gather(&mut self) {
        let until = self.clock.now() + COMMIT_DELAY;
        loop {
            if self.batch.iter().any(|message| message.done.is_some()) {
                return self.gather_siblings();
            }
            let left = until.saturating_duration_since(self.clock.now());
            if self.is_closing() || self.batch.len() >= MAX_ROWS_PER_COMMIT || left.is_zero() {
                return;
            }
            thread::park_timeout(left);
            self.fill();
        }
    }

    fn gather_siblings(&mut self) {
        let until = self.clock.now() + SIBLING_GATHER;
        let mut pause = self.clock.now() + SIBLING_PAUSE;
        for _ in 0..MAX_SIBLING_WAITS {
            let left = pause.min(until).saturating_duration_since(self.clock.now());
            let is_enough = self.batch.len() >= MAX_ROWS_PER_COMMIT || self.rows_to_come() == 0;
            if is_enough || self.is_closing() || left.is_zero() {
                return;
            }
            thread::park_timeout(left);
            let before = self.batch.len();
            self.fill();
            if self.batch.len() > before {
                pause = self.clock.now() + SIBLING_PAUSE;
            }
        }
    }

    /// Calls that still run and have reserved a slot.
    fn rows_to_come(&self) -> usize {
        let taken = self.rows.max_capacity() - self.rows.capacity();
        taken.saturating_sub(self.rows.len())
    }

    fn commit(&mut self) -> Result<(), Error> {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        let written = self.write(lost);
        self.tell(written.as_ref().err());
        let last = written?;
        self.shared.lost.fetch_sub(lost, Ordering::Relaxed);
        for message in self.batch.drain(..) {
            if let Some(done) = message.done {
                // The receiver may be gone.
                let _ = done.send(());
            }
        }
        self.shared.last.send_replace(last);
        self.look_after_space();
        Ok(())
    }

    /// Adds one row about lost rows, if there are any.
    fn write(&mut self, lost: u64) -> Result<u64, Error> {
        let lost = (lost > 0).then(|| self.own(lost_rows(lost)));
        let journal = match &mut self.journal {
            Some(journal) => journal,
            none => none.insert(self.trail.journal()?),
        };
        let written =
            journal.append(self.batch.iter().chain(&lost).filter_map(AuditMessage::entry));
        if let Err(Error::Failed(_) | Error::Damaged(_) | Error::Denied(_)) = written {
            self.journal = None;
        }
        written
    }

    fn own(&self, decision: Decision) -> AuditMessage {
        AuditMessage { what: AuditPayload::Decision(self.clock.wall(), decision), done: None }
    }

    /// Reports each failure once.
    fn tell(&self, now: Option<&Error>) {
        let is_news = |before: &mut Option<Error>| {
            let is_news = before.as_ref() != now;
            *before = now.cloned();
            is_news
        };
        if !self.shared.failing.send_if_modified(is_news) {
            return;
        }
        match now {
            Some(error) => {
                let remedy = error.remedy();
                tracing::error!(%error, remedy, "the audit trail cannot be written");
            }
            None => tracing::info!("the audit trail can be written again"),
        }
    }

    /// Refuse calls before they run, rather than let their rows fail on a full disk.
    fn look_after_space(&self) {
        let short = disk_space::is_short(&self.trail);
        if self.shared.short.swap(short, Ordering::Relaxed) == short {
            return;
        }
        if short {
            tracing::error!("the disk of the audit trail is almost full; free disk space")
        } else {
            tracing::info!("the disk of the audit trail has enough space again")
        }
    }

    /// The trail may be removed or replaced while nothing is written; also notices that it is back.
    fn has_its_files(&self) -> bool {
        let checked = self.trail.check_files();
        if checked.is_err() || self.shared.failing.borrow().is_some() {
            self.tell(checked.as_ref().err());
        }
        checked.is_ok()
    }

    /// Removes some expired rows; the rest follow later.
    fn tidy(&mut self) -> RetentionProgress {
        let now = self.clock.now();
        if now < self.tidy_at {
            return RetentionProgress::Wholly;
        }
        let keep = self.shared.policy.lock().keep(&*self.clock);
        let Some(journal) = &mut self.journal else { return RetentionProgress::Wholly };
        match journal.cut(keep, MAX_ROWS_PER_RETENTION) {
            Ok(count) if count == MAX_ROWS_PER_RETENTION => {
                self.removed += count;
                return RetentionProgress::InPart;
            }
            Ok(count) => {
                self.tidy_at = now + RETENTION_INTERVAL;
                let removed = std::mem::take(&mut self.removed) + count;
                if removed > 0 {
                    let detail = format!("{removed} of the oldest rows");
                    let own = Principal::from_name(GATEWAY_PRINCIPAL);
                    let removed = Decision::new(AuditAction::Retention, &own, "removed");
                    self.batch.push(self.own(removed.because(&detail)));
                }
            }
            Err(error) => {
                self.tidy_at = now + RETENTION_INTERVAL;
                tracing::warn!(%error, "cannot remove old rows of the audit trail");
            }
        }
        RetentionProgress::Wholly
    }

    fn give_up(mut self) {
        let mut rows = self.batch.len();
        while self.rows.try_recv().is_ok() {
            rows += 1;
        }
        tracing::error!(rows, "the gateway stopped before the last audit rows were written");
    }
}

fn lost_rows(count: u64) -> Decision {
    let detail = format!("{count} rows were dropped while the audit trail could not be written");
    Decision::new(AuditAction::Lost, &Principal::from_name(GATEWAY_PRINCIPAL), "lost")
        .because(&detail)
}

#[cfg(test)]
mod tests;
