//! Replay buffer of the client's audio: what a connection heard that cannot be resumed with all of it
//! is sent again on the next one. Silence is kept short.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// For a connection that was replaced in time, older audio is no longer worth hearing: the caller
/// would wait for the answer to it.
const MAX_RENEWAL_AGE: Duration = Duration::from_millis(1_500);

/// Of a connection that broke: 12 seconds of speech, in base64.
const MAX_BYTES: usize = 512 << 10;

/// Half a second of silence after speech, and before it.
const MAX_SILENT_BYTES: usize = 24 << 10;

#[derive(Debug, Default)]
pub(super) struct ReplayBuffer {
    frames: VecDeque<ReplayFrame>,
    bytes: usize,
    /// Frames at the end without sound, and their bytes.
    silent: usize,
    silent_bytes: usize,
    dropped: u64,
}

#[derive(Debug)]
struct ReplayFrame {
    at: Instant,
    message: String,
}

/// Whether a message has to be kept as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplaySound {
    Silent,
    /// Speech, or something else than audio.
    Loud,
}

impl ReplayBuffer {
    /// Keeps a message of the client, and drops what does not fit: silence first.
    pub(super) fn push(&mut self, message: &str, sound: ReplaySound, now: Instant) {
        self.bytes += message.len();
        self.frames.push_back(ReplayFrame { at: now, message: message.to_owned() });
        match sound {
            ReplaySound::Loud => (self.silent, self.silent_bytes) = (0, 0),
            ReplaySound::Silent => {
                self.silent += 1;
                self.silent_bytes += message.len();
                self.shorten_silence(now);
            }
        }
        while self.bytes > MAX_BYTES {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.bytes -= oldest.message.len();
            self.dropped += 1;
            if self.silent > self.frames.len() {
                self.silent -= 1;
                self.silent_bytes -= oldest.message.len();
            }
        }
    }

    /// Recent silence is kept: the new connection goes on where the old one stopped.
    fn shorten_silence(&mut self, now: Instant) {
        while self.silent_bytes > MAX_SILENT_BYTES {
            let first = self.frames.len() - self.silent;
            let is_recent =
                |frame: &ReplayFrame| now.saturating_duration_since(frame.at) <= MAX_RENEWAL_AGE;
            if self.silent <= 1 || self.frames.get(first).is_none_or(is_recent) {
                return;
            }
            let Some(oldest) = self.frames.remove(first) else { return };
            self.bytes -= oldest.message.len();
            self.silent -= 1;
            self.silent_bytes -= oldest.message.len();
        }
    }

    /// The provider can resume with all that was said so far.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// All of it, oldest first, and how many messages were dropped.
    pub(super) fn take(&mut self) -> (Vec<String>, u64) {
        let taken = std::mem::take(self);
        (taken.frames.into_iter().map(|frame| frame.message).collect(), taken.dropped)
    }

    /// Drops what a connection that was replaced in time need not hear again.
    pub(super) fn keep_recent(&mut self) {
        let Some(newest) = self.frames.back().map(|frame| frame.at) else { return };
        while self
            .frames
            .front()
            .is_some_and(|frame| newest.saturating_duration_since(frame.at) > MAX_RENEWAL_AGE)
        {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.bytes -= oldest.message.len();
            self.dropped += 1;
        }
        self.silent = self.silent.min(self.frames.len());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate_engine::clock::{Clock, SystemClock};

    use super::{MAX_BYTES, MAX_SILENT_BYTES, ReplayBuffer, ReplaySound};

    #[test]
    fn of_a_renewed_connection_the_newest_second_and_a_half_is_kept_and_the_rest_counted() {
        let mut replay = ReplayBuffer::default();
        let now = SystemClock.now();
        let at = |number: u32| now + Duration::from_millis(20) * number;
        for number in 0..100_u32 {
            replay.push(&number.to_string(), ReplaySound::Loud, at(number));
        }
        replay.keep_recent();
        let (frames, dropped) = replay.take();
        let expected: Vec<String> = (24..100).map(|number| number.to_string()).collect();
        assert_eq!((frames, dropped), (expected, 24));
        assert_eq!(replay.take(), (Vec::new(), 0));
    }

    #[test]
    fn speech_is_kept_and_silence_after_it_is_shortened() {
        let mut replay = ReplayBuffer::default();
        let now = SystemClock.now();
        let frame = |kind: &str| kind.repeat(1_000);
        for _ in 0..50 {
            replay.push(&frame("s"), ReplaySound::Loud, now);
        }
        for number in 0..1_000_u32 {
            let at = now + Duration::from_millis(20) * number;
            replay.push(&frame("-"), ReplaySound::Silent, at);
        }
        let (frames, dropped) = replay.take();
        let speech = frames.iter().filter(|frame| frame.starts_with('s')).count();
        assert_eq!((speech, dropped), (50, 0));
        let silence = (frames.len() - speech) * 1_000;
        assert!(silence <= MAX_SILENT_BYTES.max(80_000), "{silence}");
    }

    #[test]
    fn it_is_never_larger_than_its_bound() {
        let mut replay = ReplayBuffer::default();
        let now = SystemClock.now();
        for number in 0..10 {
            let sound = if number == 0 { ReplaySound::Silent } else { ReplaySound::Loud };
            replay.push(&"a".repeat(MAX_BYTES / 4), sound, now);
        }
        let (frames, dropped) = replay.take();
        assert_eq!((frames.len(), dropped), (4, 6));
        replay.push(&"a".repeat(MAX_BYTES + 1), ReplaySound::Silent, now);
        assert_eq!(replay.take(), (Vec::new(), 1));
        for _ in 0..10 {
            replay.push(&"a".repeat(MAX_BYTES / 4), ReplaySound::Silent, now);
        }
        let bytes: usize = replay.take().0.iter().map(String::len).sum();
        assert!(bytes <= MAX_BYTES);
    }
}
