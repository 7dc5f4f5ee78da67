//! Sums of usage, and the estimate of a request that is not answered yet.

use super::cost::Cost;
use super::speech::SpeechTotals;

/// What was used, by any number of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageTotals {
    pub requests: u64,
    /// With what was read from the provider's cache or written to it.
    pub input: u64,
    pub output: u64,
    /// The part of the input that was read from the provider's cache.
    pub cache_read: u64,
    /// The part of the input that was written to it.
    pub cache_written: u64,
    pub cost: Cost,
    /// Requests to models whose price is unknown, which cost nothing here.
    pub unpriced: u64,
    /// Of live sessions.
    pub speech: SpeechTotals,
}

/// What a request will use: its input, and the most that it may answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageEstimate {
    pub input: u64,
    pub output: u64,
    pub input_cost: Cost,
    pub output_cost: Cost,
}

impl UsageTotals {
    pub fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_written = self.cache_written.saturating_add(other.cache_written);
        self.cost = self.cost.saturating_add(other.cost);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.speech.add(&other.speech);
    }

    pub(super) fn remove(&mut self, other: &Self) {
        self.requests = self.requests.saturating_sub(other.requests);
        self.input = self.input.saturating_sub(other.input);
        self.output = self.output.saturating_sub(other.output);
        self.cost = self.cost.saturating_sub(other.cost);
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl UsageEstimate {
    /// As if it had been used.
    pub(super) fn as_totals(&self) -> UsageTotals {
        UsageTotals {
            requests: 1,
            input: self.input,
            output: self.output,
            cost: self.input_cost.saturating_add(self.output_cost),
            ..UsageTotals::default()
        }
    }
}
