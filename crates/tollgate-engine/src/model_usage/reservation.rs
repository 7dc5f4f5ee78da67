//! Room taken for one request to a model, until its usage is known.

use std::sync::Arc;

use tollgate_core::model_usage::{
    ModelPrice, SpeechTotals, UsageEstimate, UsageScope, UsageTotals,
};

use super::{ModelUsageMeter, UsedBy};

/// Bytes of an answer in one token, where nobody counted them.
const BYTES_PER_TOKEN: usize = 4;

/// Tokens of one request, as its provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelTokens {
    /// With what was read from the provider's cache or written to it.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_written: u64,
    /// Of a live session.
    pub speech: SpeechTotals,
}

impl ModelTokens {
    /// Of that many requests, without a price.
    pub(super) fn totals(&self, requests: u64) -> UsageTotals {
        UsageTotals {
            requests,
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_written: self.cache_written,
            speech: self.speech,
            ..UsageTotals::default()
        }
    }
}

/// A request in flight. Dropped without a count, it is settled with the estimate of its input and
/// what has arrived of its answer: the provider charges for that, too.
#[must_use]
pub struct ModelReservation {
    meter: Arc<ModelUsageMeter>,
    by: UsedBy,
    scopes: Vec<UsageScope>,
    price: Option<ModelPrice>,
    estimate: UsageEstimate,
    arrived_bytes: usize,
    is_settled: bool,
}

impl ModelReservation {
    pub(super) fn new(
        meter: Arc<ModelUsageMeter>,
        by: UsedBy,
        scopes: Vec<UsageScope>,
        price: Option<ModelPrice>,
        estimate: UsageEstimate,
    ) -> Self {
        Self { meter, by, scopes, price, estimate, arrived_bytes: 0, is_settled: false }
    }

    /// Tokens of an answer with this much text.
    pub fn estimate_output(bytes: usize) -> u64 {
        bytes.div_ceil(BYTES_PER_TOKEN) as u64
    }

    /// This many bytes of the answer's text have arrived.
    pub fn note_arrived(&mut self, bytes: usize) {
        self.arrived_bytes = self.arrived_bytes.saturating_add(bytes);
    }

    /// The provider has counted. A count of nothing is none: some providers leave it out.
    pub fn settle(mut self, tokens: &ModelTokens) {
        if *tokens != ModelTokens::default() {
            self.charge(tokens);
        }
    }

    /// The provider has refused the request, or was not reached: nothing is charged for that.
    pub fn fail(mut self) {
        self.charge(&ModelTokens::default());
    }

    fn charge(&mut self, tokens: &ModelTokens) {
        if self.is_settled {
            return;
        }
        self.is_settled = true;
        let mut used = tokens.totals(1);
        match &self.price {
            Some(price) => used.cost = price.cost_of(&used),
            None => used.unpriced = 1,
        }
        self.meter.settle(&self.by, &self.scopes, &self.estimate, &used);
    }
}

impl Drop for ModelReservation {
    fn drop(&mut self) {
        let output = Self::estimate_output(self.arrived_bytes);
        self.charge(&ModelTokens { input: self.estimate.input, output, ..ModelTokens::default() });
    }
}
