//! Sample rate conversion by a fixed ratio: a polyphase low-pass filter with state between frames.

use std::f64::consts::PI;
use std::sync::Arc;

/// Rates that are used for speech.
const RATES: [u32; 9] = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];
/// Zero crossings of the filter on each side, at the lower rate: a delay of 1 ms at 16 kHz.
const ZERO_CROSSINGS: u32 = 16;
/// The pass band ends at this part of the lower rate's half.
const PASS_BAND: f64 = 0.92;
/// Shape of the Kaiser window: aliases are 80 dB down.
const KAISER_BETA: f64 = 8.0;

/// A rate that a stream cannot have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("audio of {rate} samples per second is not supported; use 8000, 16000, 24000 or 48000")]
pub struct UnsupportedRateError {
    pub rate: u32,
}

/// Converts a stream of samples to another rate.
#[derive(Debug, Clone)]
pub struct Resampler {
    /// Filter coefficients by phase, newest sample first; `None`: both rates are the same.
    phases: Option<Arc<[Box<[f32]>]>>,
    /// Output and input rate without common divisors.
    up: usize,
    down: usize,
    /// The last inputs that the filter needs, oldest first.
    history: Vec<f32>,
    /// Position of the next output behind the last input, in steps of the common multiple.
    position: usize,
    samples: StreamSamples,
}

/// Samples of the current stream.
#[derive(Debug, Clone, Copy, Default)]
struct StreamSamples {
    read: u64,
    written: u64,
}

impl Resampler {
    pub fn new(from: u32, to: u32) -> Result<Self, UnsupportedRateError> {
        if let Some(rate) = [from, to].into_iter().find(|rate| !RATES.contains(rate)) {
            return Err(UnsupportedRateError { rate });
        }
        let divisor = common_divisor(from, to);
        let mut resampler = Self {
            phases: (from != to).then(|| filter(to / divisor, from / divisor)),
            up: (to / divisor) as usize,
            down: (from / divisor) as usize,
            history: Vec::new(),
            position: 0,
            samples: StreamSamples::default(),
        };
        resampler.reset();
        Ok(resampler)
    }

    pub fn resample(&mut self, samples: &[i16]) -> Vec<i16> {
        if self.phases.is_none() {
            return samples.to_vec();
        }
        self.samples.read += samples.len() as u64;
        let samples: Vec<f32> = samples.iter().map(|it| f32::from(*it)).collect();
        self.run(&samples)
    }

    /// The rest of the stream: it is as long as its input then. A new stream begins.
    pub fn flush(&mut self) -> Vec<i16> {
        let Some(phases) = &self.phases else { return Vec::new() };
        let taps = phases[0].len();
        let due = (self.samples.read * self.up as u64 / self.down as u64)
            .saturating_sub(self.samples.written);
        let mut rest = self.run(&vec![0.0; taps]);
        rest.truncate(due as usize);
        self.reset();
        rest
    }

    /// Forgets the stream; a new one begins.
    pub fn reset(&mut self) {
        let taps = self.phases.as_ref().map_or(0, |phases| phases[0].len());
        self.history = vec![0.0; taps.saturating_sub(1)];
        // The first output is that of the first input, which is in the filter's centre then.
        self.position = centre(taps, self.up);
        self.samples = StreamSamples::default();
    }

    fn run(&mut self, samples: &[f32]) -> Vec<i16> {
        let Some(phases) = &self.phases else { return Vec::new() };
        let before = self.history.len();
        self.history.extend_from_slice(samples);
        let mut out = Vec::with_capacity(samples.len() * self.up / self.down + 1);
        while self.position < samples.len() * self.up {
            let newest = before + self.position / self.up;
            let phase = &phases[self.position % self.up];
            let recent = self.history[newest + 1 - phase.len()..=newest].iter().rev();
            let sum: f32 = phase.iter().zip(recent).map(|(tap, sample)| tap * sample).sum();
            self.position += self.down;
            out.push(sum.round() as i16);
        }
        self.position -= samples.len() * self.up;
        self.history.drain(..samples.len());
        self.samples.written += out.len() as u64;
        out
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// A windowed sinc at `up` times the input rate, split into its phases.
fn filter(up: u32, down: u32) -> Arc<[Box<[f32]>]> {
    let coarse = f64::from(up.max(down));
    let half = f64::from(ZERO_CROSSINGS) * coarse;
    let taps = (2.0 * half / f64::from(up)).ceil() as usize;
    let centre = centre(taps, up as usize) as f64;
    let coefficient = |at: usize| {
        let x = at as f64 - centre;
        let cutoff = PASS_BAND / coarse;
        let window = 1.0 - (x / centre).powi(2);
        let window = bessel(KAISER_BETA * window.max(0.0).sqrt()) / bessel(KAISER_BETA);
        f64::from(up) * cutoff * sinc(cutoff * x) * window
    };
    let phase =
        |phase: usize| (0..taps).map(move |tap| coefficient(phase + tap * up as usize) as f32);
    (0..up as usize).map(|it| phase(it).collect()).collect()
}

/// Index of the middle coefficient.
fn centre(taps: usize, up: usize) -> usize {
    taps * up / 2
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// The modified Bessel function of order zero, by its series.
fn bessel(x: f64) -> f64 {
    let mut sum = 1.0;
    let mut term = 1.0;
    for k in 1..40 {
        term *= (x / 2.0 / f64::from(k)).powi(2);
        sum += term;
    }
    sum
}
