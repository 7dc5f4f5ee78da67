//! Replay buffer of the client's audio while a connection is about to be replaced: what only the old
//! connection heard is sent again on the new one.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Older audio is no longer worth hearing: the caller would wait for the answer to it.
const MAX_AGE: Duration = Duration::from_millis(1_500);

/// 48 KiB of audio in base64.
const MAX_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
pub(super) struct ReplayBuffer {
    frames: VecDeque<(Instant, String)>,
    bytes: usize,
    dropped: u64,
}

impl ReplayBuffer {
    /// Keeps a message of the client, and drops the oldest ones that do not fit.
    pub(super) fn push(&mut self, message: &str, now: Instant) {
        self.bytes += message.len();
        self.frames.push_back((now, message.to_owned()));
        while self.frames.front().is_some_and(|(at, _)| {
            self.bytes > MAX_BYTES || now.saturating_duration_since(*at) > MAX_AGE
        }) {
            let Some((_, oldest)) = self.frames.pop_front() else { break };
            self.bytes -= oldest.len();
            self.dropped += 1;
        }
    }

    /// The provider can resume with all that was said so far.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The messages to send again, oldest first, and how many were dropped.
    pub(super) fn take(&mut self) -> (Vec<String>, u64) {
        let taken = std::mem::take(self);
        (taken.frames.into_iter().map(|(_, message)| message).collect(), taken.dropped)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate_engine::clock::{Clock as _, SystemClock};

    use super::{MAX_BYTES, ReplayBuffer};

    #[test]
    fn the_newest_second_and_a_half_is_kept_in_order_and_the_rest_is_counted() {
        let mut replay = ReplayBuffer::default();
        let now = SystemClock.now();
        for number in 0..100_u32 {
            replay.push(&number.to_string(), now + Duration::from_millis(20) * number);
        }
        let (frames, dropped) = replay.take();
        let expected: Vec<String> = (24..100).map(|number| number.to_string()).collect();
        assert_eq!((frames, dropped), (expected, 24));
        assert_eq!(replay.take(), (Vec::new(), 0));
    }

    #[test]
    fn it_is_never_larger_than_its_bound() {
        let mut replay = ReplayBuffer::default();
        let now = SystemClock.now();
        for _ in 0..10 {
            replay.push(&"a".repeat(MAX_BYTES / 4), now);
        }
        let (frames, dropped) = replay.take();
        assert_eq!((frames.len(), dropped), (4, 6));
        replay.push(&"a".repeat(MAX_BYTES + 1), now);
        assert_eq!(replay.take(), (Vec::new(), 1));
    }
}
