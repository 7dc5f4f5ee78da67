//! Metering of one live session: it takes room for its first turn before it starts, charges what it
//! uses while it runs, and learns when a limit leaves no room for a further turn.

use std::sync::Arc;

use tollgate_core::model_usage::{
    ModelLimitExceededError, ModelPrice, SpeechTotals, UsageEstimate, UsageScope, UsageTotals,
};

use super::{ModelCaller, ModelTokens, ModelUsageMeter, UsedBy};

/// What a first turn may use: some seconds of speech in either direction, and a minute of time. So
/// sessions that begin together cannot exceed a limit by much.
const FIRST_TURN: UsageTotals = UsageTotals {
    requests: 1,
    input: 1_500,
    output: 500,
    cache_read: 0,
    cache_written: 0,
    cost: tollgate_core::model_usage::Cost::ZERO,
    unpriced: 0,
    speech: SpeechTotals {
        audio_input: 1_500,
        audio_output: 500,
        audio_cached: 0,
        heard_ms: 0,
        spoken_ms: 0,
        live_ms: 60_000,
    },
};

/// A model that a session uses: its own, or one that transcribes or thinks for it.
#[derive(Debug, Clone, Copy)]
pub struct SessionModel<'a> {
    /// Its name in the config.
    pub name: &'a str,
    /// The provider's name of it.
    pub id: &'a str,
}

/// What a session has used since its last charge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCharge {
    /// Responses of the model.
    pub requests: u64,
    pub tokens: ModelTokens,
}

/// One live session in the limits of its key, agent and model.
pub struct SessionUsageMeter {
    meter: Arc<ModelUsageMeter>,
    caller: ModelCaller,
    /// The model that it began with.
    name: String,
    id: String,
    /// Room for the first turn, until that has been charged.
    reserved: Option<ReservedTurn>,
    totals: UsageTotals,
}

struct ReservedTurn {
    scopes: Vec<UsageScope>,
    estimate: UsageEstimate,
}

impl ModelUsageMeter {
    /// Takes room for a session in all limits of its key, agent and model, or in none.
    pub fn open_session(
        self: &Arc<Self>,
        caller: ModelCaller,
        model: SessionModel<'_>,
    ) -> Result<SessionUsageMeter, ModelLimitExceededError> {
        let price = self.settings.load().prices.find(model.name, model.id);
        let estimate = first_turn(price.as_ref());
        let by = UsedBy::new(&caller, model.name);
        let scopes = by.scopes(&caller);
        self.admit_to(&scopes, &caller, &estimate)?;
        Ok(SessionUsageMeter {
            meter: Arc::clone(self),
            caller,
            name: model.name.to_owned(),
            id: model.id.to_owned(),
            reserved: Some(ReservedTurn { scopes, estimate }),
            totals: UsageTotals::default(),
        })
    }
}

impl SessionUsageMeter {
    /// Everything that this session has used.
    pub fn totals(&self) -> &UsageTotals {
        &self.totals
    }

    pub fn charge(&mut self, model: SessionModel<'_>, charge: &SessionCharge) {
        if *charge == SessionCharge::default() {
            return;
        }
        let mut used = charge.tokens.totals(charge.requests);
        match self.meter.settings.load().prices.find(model.name, model.id) {
            Some(price) => used.cost = price.cost_of(&used),
            None => used.unpriced = charge.requests,
        }
        if charge.requests > 0 {
            self.release();
        }
        self.totals.add(&used);
        let by = UsedBy::new(&self.caller, model.name);
        let scopes = by.scopes(&self.caller);
        self.meter.charge(&by, &scopes, &used);
    }

    /// Whether the limits leave room for a further turn with this model.
    pub fn check(&self, model: SessionModel<'_>) -> Result<(), ModelLimitExceededError> {
        let scopes = UsedBy::new(&self.caller, model.name).scopes(&self.caller);
        self.meter.check_exhausted(&scopes, &self.caller)
    }

    fn release(&mut self) {
        if let Some(ReservedTurn { scopes, estimate }) = self.reserved.take() {
            self.meter.release(&scopes, &estimate);
        }
    }
}

/// A session without any response was a request all the same.
impl Drop for SessionUsageMeter {
    fn drop(&mut self) {
        if self.totals.requests == 0 {
            let name = std::mem::take(&mut self.name);
            let id = std::mem::take(&mut self.id);
            let charge = SessionCharge { requests: 1, ..SessionCharge::default() };
            self.charge(SessionModel { name: &name, id: &id }, &charge);
        }
        self.release();
    }
}

/// None of it is certain: a session may be short.
fn first_turn(price: Option<&ModelPrice>) -> UsageEstimate {
    UsageEstimate {
        input: 0,
        output: FIRST_TURN.input + FIRST_TURN.output,
        output_cost: price.map(|price| price.cost_of(&FIRST_TURN)).unwrap_or_default(),
        ..UsageEstimate::default()
    }
}
