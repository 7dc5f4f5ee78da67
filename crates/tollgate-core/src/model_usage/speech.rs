//! What live speech sessions use: audio, and the time of their connections.

/// Tokens here are a part of those of the request: audio input is input, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpeechTotals {
    /// Tokens of audio that the model heard, with the cached ones.
    pub audio_input: u64,
    /// Tokens of audio that it spoke.
    pub audio_output: u64,
    /// The part of the audio input that was read from the provider's cache.
    pub audio_cached: u64,
    /// Audio that was sent to the model.
    pub heard_ms: u64,
    /// Audio that it sent.
    pub spoken_ms: u64,
    /// Time that a price by the minute is charged for: of the connection, or of an audio file.
    pub live_ms: u64,
}

impl SpeechTotals {
    pub fn add(&mut self, other: &Self) {
        self.audio_input = self.audio_input.saturating_add(other.audio_input);
        self.audio_output = self.audio_output.saturating_add(other.audio_output);
        self.audio_cached = self.audio_cached.saturating_add(other.audio_cached);
        self.heard_ms = self.heard_ms.saturating_add(other.heard_ms);
        self.spoken_ms = self.spoken_ms.saturating_add(other.spoken_ms);
        self.live_ms = self.live_ms.saturating_add(other.live_ms);
    }
}
