//! Length of audio, by its format.

use std::time::Duration;

use serde_json::Value;

/// Uncompressed audio with one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AudioFormat {
    /// `0`: unknown, or compressed.
    bytes_per_second: u64,
}

impl AudioFormat {
    pub(super) const PCM_24K: Self = Self { bytes_per_second: 48_000 };
    const G711: Self = Self { bytes_per_second: 8_000 };

    /// `{"type": "audio/pcm", "rate": 24000}`, or the name of the beta version.
    pub(super) fn of_openai(format: &Value) -> Self {
        let rate = format.get("rate").and_then(Value::as_u64).unwrap_or(24_000);
        match format.get("type").unwrap_or(format).as_str() {
            Some("audio/pcmu" | "audio/pcma" | "g711_ulaw" | "g711_alaw") => Self::G711,
            _ => Self { bytes_per_second: rate.saturating_mul(2) },
        }
    }

    /// `audio/pcm;rate=16000`.
    pub(super) fn of_mime(mime: &str, usual_rate: u64) -> Self {
        let mut parts = mime.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let is_pcm =
            kind.is_empty() || kind == "audio/pcm" || kind.eq_ignore_ascii_case("audio/l16");
        if !is_pcm {
            return Self { bytes_per_second: 0 };
        }
        let rate = parts.find_map(|part| part.strip_prefix("rate=")?.parse().ok());
        Self { bytes_per_second: rate.unwrap_or(usual_rate).saturating_mul(2) }
    }

    /// `{"encoding": "linear16", "sample_rate": 24000}`.
    pub(super) fn of_deepgram(format: &Value, usual_rate: u64) -> Self {
        let rate = format.get("sample_rate").and_then(Value::as_u64).unwrap_or(usual_rate);
        let bytes = match format.get("encoding").and_then(Value::as_str) {
            None | Some("linear16") => 2,
            Some("linear32") => 4,
            Some("mulaw" | "alaw") => 1,
            Some(_) => 0,
        };
        Self { bytes_per_second: rate.saturating_mul(bytes) }
    }

    pub(super) fn length(self, bytes: usize) -> Duration {
        if self.bytes_per_second == 0 {
            return Duration::ZERO;
        }
        let micros = (bytes as u64).saturating_mul(1_000_000) / self.bytes_per_second;
        Duration::from_micros(micros)
    }

    pub(super) fn length_of_base64(self, text: &str) -> Duration {
        self.length(text.trim_end_matches('=').len() * 3 / 4)
    }
}

impl Default for AudioFormat {
    fn default() -> Self {
        Self::PCM_24K
    }
}
