//! 20 ms of speech as both sides send them: 24 kHz PCM16 in base64, with the time of sending in it.

use super::role;
use tollgate_testkit::ws::RawWebSocketFrame;

/// Of 960 bytes.
const BASE64: usize = 1_280;
/// Of the time, in nanoseconds.
const DIGITS: usize = 16;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpeechRole {
    Client,
    Provider,
}

impl SpeechRole {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Client => Self::Provider,
            Self::Provider => Self::Client,
        }
    }

    /// Of an event, up to the audio.
    fn prefix(self) -> &'static str {
        match self {
            Self::Client => "{\"type\":\"input_audio_buffer.append\",\"audio\":\"",
            Self::Provider => {
                "{\"type\":\"response.output_audio.delta\",\"event_id\":\"event_1\",\
                 \"response_id\":\"resp_1\",\"item_id\":\"item_1\",\"output_index\":0,\
                 \"content_index\":0,\"delta\":\""
            }
        }
    }

    /// A frame as it stands on the wire. The mask is all zeros, so that the time can be put in.
    pub(super) fn frame(self) -> TimestampedFrame {
        let event = format!("{}{}\"}}", self.prefix(), "A".repeat(BASE64));
        let mut bytes = RawWebSocketFrame::text(&event).bytes(role(self));
        let start = bytes.len() - event.len();
        if self == Self::Client {
            bytes[start - 4..start].fill(0);
            bytes[start..].copy_from_slice(event.as_bytes());
        }
        TimestampedFrame { bytes, at: start + self.prefix().len() }
    }

    /// When the other side sent this message; `None` if it is no audio.
    pub(super) fn sent_at(self, message: &[u8]) -> Option<u64> {
        let rest = message.strip_prefix(self.other().prefix().as_bytes())?;
        std::str::from_utf8(rest.get(..DIGITS)?).ok()?.parse().ok()
    }
}

/// A frame with room for a time.
pub(super) struct TimestampedFrame {
    bytes: Vec<u8>,
    at: usize,
}

impl TimestampedFrame {
    pub(super) fn with(&mut self, nanos: u64) -> &[u8] {
        let digits = format!("{nanos:0DIGITS$}");
        self.bytes[self.at..self.at + DIGITS].copy_from_slice(digits.as_bytes());
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use tollgate_testkit::ws::RawWebSocketFrame;

    use super::SpeechRole;

    #[test]
    fn the_time_in_a_frame_is_read_on_the_other_side_only() {
        for voice in [SpeechRole::Client, SpeechRole::Provider] {
            let mut frame = voice.frame();
            let (parsed, _) =
                RawWebSocketFrame::parse(frame.with(1_234_567)).expect("a whole frame");
            assert_eq!(voice.other().sent_at(&parsed.payload), Some(1_234_567));
            assert_eq!(voice.sent_at(&parsed.payload), None);
        }
    }
}
