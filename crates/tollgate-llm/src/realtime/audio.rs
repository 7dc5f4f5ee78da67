//! Audio of realtime protocols: 16-bit PCM and G.711, and the conversion of a stream from one
//! format and rate to another. No I/O; a converter keeps its state between frames.

use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

mod g711;
mod resampler;

pub use g711::{ALaw, MuLaw};
pub use resampler::{Resampler, UnsupportedRateError};

/// Base64 as clients send it: some leave the padding out.
pub(super) const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Encoding of a mono audio stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AudioFormat {
    /// 16-bit, little endian, at this many samples per second.
    Pcm16 { rate: u32 },
    /// G.711 µ-law, 8 kHz.
    MuLaw,
    /// G.711 A-law, 8 kHz.
    ALaw,
}

impl AudioFormat {
    pub fn rate(self) -> u32 {
        match self {
            Self::Pcm16 { rate } => rate,
            Self::MuLaw | Self::ALaw => g711::RATE,
        }
    }

    fn bytes_per_sample(self) -> usize {
        match self {
            Self::Pcm16 { .. } => 2,
            Self::MuLaw | Self::ALaw => 1,
        }
    }

    /// Duration of that many bytes.
    pub fn millis(self, bytes: u64) -> u64 {
        bytes * 1000 / (self.bytes_per_sample() as u64 * u64::from(self.rate()))
    }

    /// Bytes of that duration, in whole samples.
    pub fn bytes(self, millis: u64) -> u64 {
        u64::from(self.rate()) * millis / 1000 * self.bytes_per_sample() as u64
    }

    fn encode(self, samples: &[i16]) -> Vec<u8> {
        match self {
            Self::Pcm16 { .. } => samples.iter().flat_map(|it| it.to_le_bytes()).collect(),
            Self::MuLaw => samples.iter().map(|it| MuLaw::encode(*it)).collect(),
            Self::ALaw => samples.iter().map(|it| ALaw::encode(*it)).collect(),
        }
    }
}

/// Converts one stream, frame by frame. Frames may have any length.
#[derive(Debug, Clone)]
pub struct AudioConverter {
    from: AudioFormat,
    to: AudioFormat,
    resampler: Resampler,
    /// First byte of a sample whose second one is in the next frame.
    half: Option<u8>,
}

impl AudioConverter {
    pub fn new(from: AudioFormat, to: AudioFormat) -> Result<Self, UnsupportedRateError> {
        let resampler = Resampler::new(from.rate(), to.rate())?;
        Ok(Self { from, to, resampler, half: None })
    }

    pub fn from(&self) -> AudioFormat {
        self.from
    }

    pub fn convert(&mut self, frame: &[u8]) -> Vec<u8> {
        if self.from == self.to {
            return frame.to_vec();
        }
        let samples = self.decode(frame);
        self.to.encode(&self.resampler.resample(&samples))
    }

    /// The end of the stream, which the filter still holds. The next frame begins a new stream.
    pub fn flush(&mut self) -> Vec<u8> {
        self.half = None;
        if self.from == self.to {
            return Vec::new();
        }
        self.to.encode(&self.resampler.flush())
    }

    /// Forgets what it holds: the next frame begins a new stream.
    pub fn reset(&mut self) {
        self.half = None;
        self.resampler.reset();
    }

    fn decode(&mut self, frame: &[u8]) -> Vec<i16> {
        match self.from {
            AudioFormat::MuLaw => frame.iter().map(|byte| MuLaw::decode(*byte)).collect(),
            AudioFormat::ALaw => frame.iter().map(|byte| ALaw::decode(*byte)).collect(),
            AudioFormat::Pcm16 { .. } => {
                let mut samples = Vec::with_capacity(frame.len() / 2 + 1);
                let mut rest = frame;
                if let (Some(low), Some((high, others))) = (self.half, frame.split_first()) {
                    samples.push(i16::from_le_bytes([low, *high]));
                    self.half = None;
                    rest = others;
                }
                let (pairs, tail) = rest.as_chunks::<2>();
                samples.extend(pairs.iter().map(|pair| i16::from_le_bytes(*pair)));
                self.half = self.half.or(tail.first().copied());
                samples
            }
        }
    }
}

#[cfg(test)]
mod tests;
