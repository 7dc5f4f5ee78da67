//! The stderr log of a server, with flood control: always read, kept in a ring, logged at a bounded
//! rate. Declared secrets, escape sequences and hidden characters are removed from each line first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tollgate_core::id::ServerId;
use tollgate_core::sanitize;
use tollgate_core::secret::Secret;
use tollgate_core::secret_values;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::confine;

/// Lines kept per server.
const MAX_LOG_LINES: usize = 100;
const LINES_PER_SECOND: u32 = 200;
/// Longer lines are cut.
const LINE_BYTES: usize = 4096;
/// Shorter values are too likely to be ordinary words.
const SHORTEST_SECRET: usize = 6;

/// The last lines of one server, across restarts.
pub(in crate::upstream) struct ServerLog {
    server: ServerId,
    secrets: Vec<Secret>,
    ring: Mutex<LogRing>,
    grown: Notify,
}

#[derive(Default)]
struct LogRing {
    lines: VecDeque<String>,
    /// Lines in total.
    total: u64,
}

impl LogRing {
    fn after(&self, position: u64) -> Vec<String> {
        let new = usize::try_from(self.total.saturating_sub(position)).unwrap_or(usize::MAX);
        self.lines.iter().skip(self.lines.len().saturating_sub(new)).cloned().collect()
    }
}

impl ServerLog {
    pub(in crate::upstream) fn new(server: ServerId, secrets: Vec<Secret>) -> Self {
        Self { server, secrets, ring: Mutex::default(), grown: Notify::new() }
    }

    /// Oldest first.
    pub(in crate::upstream) fn lines(&self) -> Vec<String> {
        self.ring.lock().lines.iter().cloned().collect()
    }

    /// Number of lines so far.
    pub(super) fn position(&self) -> u64 {
        self.ring.lock().total
    }

    /// Lines after `position` that are still kept, oldest first.
    pub(super) fn since(&self, position: u64) -> Vec<String> {
        self.ring.lock().after(position)
    }

    /// The same, with the new position, read atomically so that no line is reported twice.
    pub(in crate::upstream) fn news(&self, position: u64) -> (Vec<String>, u64) {
        let ring = self.ring.lock();
        (ring.after(position), ring.total)
    }

    pub(in crate::upstream) fn push(&self, line: &[u8]) {
        let line = self.presentable(line);
        let mut ring = self.ring.lock();
        if ring.lines.len() == MAX_LOG_LINES {
            ring.lines.pop_front();
        }
        ring.lines.push_back(line);
        ring.total += 1;
        drop(ring);
        self.grown.notify_waiters();
    }

    /// Waits for another line.
    pub(in crate::upstream) fn wait_for_line(&self) -> Notified<'_> {
        self.grown.notified()
    }

    fn presentable(&self, line: &[u8]) -> String {
        let line = String::from_utf8_lossy(line);
        let sanitized = sanitize::text(&line);
        let mut text = without_controls(sanitized.as_ref().map_or(&line, |it| &it.text));
        for secret in self.secrets.iter().map(Secret::reveal) {
            if secret.len() >= SHORTEST_SECRET && text.contains(secret) {
                text = text.replace(secret, "<secret>");
            }
        }
        secret_values::mask_owned(text)
    }
}

/// The last non-empty line of a server; notes of the launcher are not its own.
pub(super) fn last_words(lines: &[String]) -> Option<&str> {
    let says = |line: &&String| !line.trim().is_empty() && !line.starts_with(confine::NOTE_PREFIX);
    lines.iter().rev().find(says).map(String::as_str)
}

/// Reads until the last writer is gone, however much it writes.
pub(super) async fn drain(
    mut stderr: impl AsyncRead + Unpin,
    log: Arc<ServerLog>,
    clock: Arc<dyn Clock>,
) {
    let mut rate = LogRateLimit::new(clock.now());
    let mut pending = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    while let Ok(size @ 1..) = stderr.read(&mut buffer).await {
        let mut lines: Vec<&[u8]> = buffer[..size].split(|byte| *byte == b'\n').collect();
        let unfinished = lines.pop().unwrap_or_default();
        if let Some((first, others)) = lines.split_first() {
            keep(&mut pending, first);
            take(&log, &mut rate, &[&pending], clock.now());
            take(&log, &mut rate, others, clock.now());
            pending.clear();
        }
        keep(&mut pending, unfinished);
    }
    if !pending.is_empty() {
        take(&log, &mut rate, &[&pending], clock.now());
    }
}

/// In a flood only the last lines are kept, and the first ones of each second are logged.
fn take(log: &ServerLog, rate: &mut LogRateLimit, lines: &[&[u8]], now: Instant) {
    let kept_from = lines.len().saturating_sub(MAX_LOG_LINES);
    for (at, line) in lines.iter().enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = &line[..line.len().min(LINE_BYTES)];
        if at >= kept_from {
            log.push(line);
        }
        match rate.next(now) {
            LogVerdict::Log => info!(server = %log.server, "stderr: {}", log.presentable(line)),
            LogVerdict::LogAfterGap(dropped) => {
                warn!(server = %log.server, dropped, "stderr: too many lines, some were not logged");
                info!(server = %log.server, "stderr: {}", log.presentable(line));
            }
            LogVerdict::Drop => {}
        }
    }
}

fn keep(pending: &mut Vec<u8>, part: &[u8]) {
    let room = LINE_BYTES.saturating_sub(pending.len());
    pending.extend_from_slice(&part[..part.len().min(room)]);
}

/// A limit of lines per second.
#[derive(Debug)]
struct LogRateLimit {
    second: Instant,
    used: u32,
    dropped: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum LogVerdict {
    Log,
    /// The first line after this many dropped ones.
    LogAfterGap(u64),
    Drop,
}

impl LogRateLimit {
    fn new(now: Instant) -> Self {
        Self { second: now, used: 0, dropped: 0 }
    }

    fn next(&mut self, now: Instant) -> LogVerdict {
        if now.duration_since(self.second) >= Duration::from_secs(1) {
            self.second = now;
            self.used = 0;
        }
        if self.used >= LINES_PER_SECOND {
            self.dropped += 1;
            return LogVerdict::Drop;
        }
        self.used += 1;
        match std::mem::take(&mut self.dropped) {
            0 => LogVerdict::Log,
            dropped => LogVerdict::LogAfterGap(dropped),
        }
    }
}

/// A carriage return is harmless in a result, but overwrites the line on a terminal.
fn without_controls(text: &str) -> String {
    text.chars().filter(|letter| *letter == '\t' || !letter.is_control()).collect()
}

#[cfg(test)]
mod tests;
