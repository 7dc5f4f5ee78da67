//! How long the caller of a session heard nothing before an answer, and whose time it was.
//!
//! From the end of their speech to the first audio of the agent that goes to the client. A state
//! machine; time is an argument. Called by the session.

use std::time::{Duration, Instant};

use tollgate_engine::calls::{Histogram, HistogramSnapshot};

use super::observer::SpeechEvent;

/// Further changes are added to the last segment; the sums stay exact.
const MAX_SEGMENTS: usize = 48;

/// In microseconds. People notice a pause above some 300 ms, and take one of 3 s for a fault.
pub const SILENCE_BUCKETS: &[u64] = &[
    50_000, 100_000, 200_000, 300_000, 500_000, 750_000, 1_000_000, 1_500_000, 2_000_000,
    3_000_000, 5_000_000, 10_000_000, 30_000_000,
];

/// Whose time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SilencePart {
    /// The model, or another one that answers in its place.
    Model,
    /// A tool that the model waits for.
    Tool,
    /// The connection to the provider is being opened or renewed.
    Network,
    /// The gateway holds something back.
    Gateway,
}

impl SilencePart {
    pub const ALL: [Self; 4] = [Self::Model, Self::Tool, Self::Network, Self::Gateway];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Network => "network",
            Self::Gateway => "gateway",
        }
    }
}

/// The silence before one answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnSilence {
    /// In order, without gaps. They sum up to the whole.
    pub segments: Vec<SilenceSegment>,
    /// How long the provider waited before it was sure that the caller had ended. Not a part of the
    /// silence here. `None`: it did not say.
    pub hangover: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SilenceSegment {
    pub part: SilencePart,
    pub took: Duration,
}

impl TurnSilence {
    pub fn total(&self) -> Duration {
        self.segments.iter().map(|segment| segment.took).sum()
    }

    pub fn of(&self, part: SilencePart) -> Duration {
        let own = self.segments.iter().filter(|segment| segment.part == part);
        own.map(|segment| segment.took).sum()
    }

    fn add(&mut self, part: SilencePart, took: Duration) {
        if took.is_zero() {
            return;
        }
        let is_full = self.segments.len() >= MAX_SEGMENTS;
        match self.segments.iter().rposition(|segment| segment.part == part) {
            Some(at) if is_full || at + 1 == self.segments.len() => self.segments[at].took += took,
            _ => self.segments.push(SilenceSegment { part, took }),
        }
    }
}

/// Silences since the start.
pub struct SilenceHistograms {
    total: Histogram,
    parts: [Histogram; 4],
}

impl Default for SilenceHistograms {
    fn default() -> Self {
        let histogram = || Histogram::new(SILENCE_BUCKETS);
        Self { total: histogram(), parts: SilencePart::ALL.map(|_| histogram()) }
    }
}

impl SilenceHistograms {
    /// The whole of each silence.
    pub fn total(&self) -> HistogramSnapshot {
        self.total.read()
    }

    /// A part of them. Silences without it count as nothing in it.
    pub fn of(&self, part: SilencePart) -> HistogramSnapshot {
        self.parts[part as usize].read()
    }

    pub(super) fn observe(&self, silence: &TurnSilence) {
        self.total.observe(silence.total());
        for part in SilencePart::ALL {
            self.parts[part as usize].observe(silence.of(part));
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct SilenceTracker {
    state: SilenceState,
}

#[derive(Debug, Default)]
enum SilenceState {
    /// Nobody waits.
    #[default]
    Quiet,
    Waiting(SilentWait),
    /// The agent speaks.
    Answering,
}

#[derive(Debug)]
struct SilentWait {
    /// Until here it is attributed.
    at: Instant,
    part: SilencePart,
    end: CallerEnd,
    silence: TurnSilence,
}

/// What the end of the caller's speech is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallerEnd {
    /// The provider or the client said so.
    Reported,
    /// The last sound or word so far.
    LastSound,
}

impl SilenceTracker {
    pub(super) fn on_speech(&mut self, event: SpeechEvent, part: SilencePart, now: Instant) {
        use SilenceState::{Answering, Quiet, Waiting};
        let is_reported = matches!(&self.state, Waiting(wait) if wait.end == CallerEnd::Reported);
        match (event, &self.state) {
            (SpeechEvent::CallerBegan, _) => self.state = Quiet,
            (SpeechEvent::CallerEnded { hangover }, _) if !is_reported => {
                self.wait(CallerEnd::Reported, hangover, part, now);
            }
            (SpeechEvent::CallerSounds, Quiet | Waiting(_)) if !is_reported => {
                self.wait(CallerEnd::LastSound, None, part, now);
            }
            (SpeechEvent::ResponseRequested, Quiet) => {
                self.wait(CallerEnd::Reported, None, part, now)
            }
            (
                SpeechEvent::CallerEnded { .. }
                | SpeechEvent::CallerSounds
                | SpeechEvent::ResponseRequested
                | SpeechEvent::ResponseBegan
                | SpeechEvent::ResponseEnded
                | SpeechEvent::AgentHeard,
                Quiet | Waiting(_) | Answering,
            ) => {}
        }
    }

    fn wait(
        &mut self,
        end: CallerEnd,
        hangover: Option<Duration>,
        part: SilencePart,
        now: Instant,
    ) {
        let silence = TurnSilence { hangover, ..TurnSilence::default() };
        self.state = SilenceState::Waiting(SilentWait { at: now, part, end, silence });
    }

    /// The time until now belongs to the last part; from now on it belongs to this one.
    pub(super) fn attribute(&mut self, part: SilencePart, now: Instant) {
        if let SilenceState::Waiting(wait) = &mut self.state {
            wait.silence.add(wait.part, now.saturating_duration_since(wait.at));
            (wait.part, wait.at) = (part, now);
        }
    }

    /// Audio of the agent goes to the client. Returns the silence that it ends.
    pub(super) fn on_agent_audio(&mut self, now: Instant) -> Option<TurnSilence> {
        let part = match &self.state {
            SilenceState::Waiting(wait) => wait.part,
            SilenceState::Quiet | SilenceState::Answering => SilencePart::Model,
        };
        self.attribute(part, now);
        match std::mem::replace(&mut self.state, SilenceState::Answering) {
            SilenceState::Waiting(wait) => Some(wait.silence),
            SilenceState::Quiet | SilenceState::Answering => None,
        }
    }

    /// The answer is over. One that was never heard ends the wait for it.
    pub(super) fn on_turn_end(&mut self) {
        self.state = SilenceState::Quiet;
    }

    /// The answer was stopped. Who speaks then waits for another one.
    pub(super) fn on_interruption(&mut self) {
        if matches!(self.state, SilenceState::Answering) {
            self.state = SilenceState::Quiet;
        }
    }
}

#[cfg(test)]
mod tests;
