//! Counts output of a server that is not MCP. Pure.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// More bad lines than this within [`WINDOW`] are reported.
const MAX_BAD_LINES: u32 = 20;
pub(super) const WINDOW: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct GarbageMonitor {
    /// Time and count; oldest first.
    seen: VecDeque<(Instant, u32)>,
}

impl GarbageMonitor {
    pub(super) fn add(&mut self, now: Instant, lines: u32) {
        const GRAIN: Duration = Duration::from_secs(1);
        match self.seen.back_mut() {
            Some((at, count)) if now.duration_since(*at) < GRAIN => {
                *count = count.saturating_add(lines);
            }
            _ => self.seen.push_back((now, lines)),
        }
    }

    /// The problem as text, while there is too much of it.
    pub(super) fn trouble(&mut self, now: Instant) -> Option<String> {
        while self.seen.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            self.seen.pop_front();
        }
        let lines = self.seen.iter().fold(0u32, |sum, (_, count)| sum.saturating_add(*count));
        (lines > MAX_BAD_LINES)
            .then(|| format!("{lines} lines within a minute were not MCP messages"))
    }
}

#[cfg(test)]
mod tests;
