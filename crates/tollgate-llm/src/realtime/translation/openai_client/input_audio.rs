//! The input audio buffer: converts the client's audio, and holds it if the client itself decides
//! when the caller has finished.

use super::events::EventRefusal;
use crate::realtime::audio::{AudioConverter, AudioFormat};

/// The format that Gemini expects.
pub(super) const MODEL_INPUT: AudioFormat = AudioFormat::Pcm16 { rate: 16_000 };

/// Audio that is held until it is committed: two minutes.
const MAX_HELD_BYTES: usize = 120 * 32_000;
/// Less than this is not committed.
const MIN_COMMIT_MS: u64 = 100;

#[derive(Debug)]
pub(super) struct InputAudio {
    converter: AudioConverter,
    /// Milliseconds of the session's audio before the current format.
    before_ms: u64,
    /// Bytes in the current format.
    bytes: u64,
    /// Bytes since the last commit.
    uncommitted: u64,
    held: Vec<u8>,
}

impl InputAudio {
    pub(super) fn new(format: AudioFormat) -> Self {
        let converter = converter(format);
        Self { converter, before_ms: 0, bytes: 0, uncommitted: 0, held: Vec::new() }
    }

    /// The client changed its format.
    pub(super) fn set_format(&mut self, format: AudioFormat) {
        if format != self.converter.from() {
            self.before_ms = self.heard_ms();
            self.bytes = 0;
            self.uncommitted = 0;
            self.converter = converter(format);
        }
    }

    /// Length of all audio of the session.
    pub(super) fn heard_ms(&self) -> u64 {
        self.before_ms + self.converter.from().millis(self.bytes)
    }

    /// Converts audio for the model.
    pub(super) fn append(&mut self, audio: &[u8]) -> Vec<u8> {
        self.bytes += audio.len() as u64;
        self.uncommitted += audio.len() as u64;
        self.converter.convert(audio)
    }

    pub(super) fn hold(&mut self, audio: &[u8]) -> Result<(), EventRefusal> {
        if self.held.len() + audio.len() > MAX_HELD_BYTES {
            return Err(EventRefusal::of(
                "audio",
                "input_audio_buffer_full",
                "The input audio buffer holds two minutes; commit or clear it.",
            ));
        }
        self.held.extend_from_slice(audio);
        Ok(())
    }

    /// The audio that is held, up to its end.
    pub(super) fn commit(&mut self) -> Result<Vec<u8>, EventRefusal> {
        let millis = self.converter.from().millis(self.uncommitted);
        if millis < MIN_COMMIT_MS {
            return Err(EventRefusal::new(
                "input_audio_buffer_commit_empty",
                format!(
                    "Error committing input audio buffer: buffer too small. Expected at least \
                     {MIN_COMMIT_MS}ms of audio, but buffer only has {millis}ms of audio."
                ),
            ));
        }
        self.uncommitted = 0;
        self.held.extend(self.converter.flush());
        Ok(std::mem::take(&mut self.held))
    }

    /// The audio that is held and not committed.
    pub(super) fn take_held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// The provider's turn detection has taken the audio.
    pub(super) fn mark_taken(&mut self) {
        self.uncommitted = 0;
    }

    pub(super) fn clear(&mut self) {
        self.uncommitted = 0;
        self.held = Vec::new();
        self.converter.reset();
    }
}

fn converter(format: AudioFormat) -> AudioConverter {
    AudioConverter::new(format, MODEL_INPUT).expect("a session has only formats of known rates")
}
