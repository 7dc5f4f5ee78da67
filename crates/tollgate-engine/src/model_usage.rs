//! Meters the use of models: requests, tokens and money by key, agent, model and day, and limits.
//!
//! Called before and after every request to a model, by the agent loop and by fronts that
//! pass a request through.
//!
//! [`tollgate_core::model_usage`] decides; this is the state. One lock for all: a request to a model
//! takes seconds, its two entries here a microsecond.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tollgate_core::id::AgentId;
use tollgate_core::model_usage::{
    MeterTime, ModelLimit, ModelLimitExceededError, ModelPrice, ScopeLimits, UsageDay,
    UsageEstimate, UsageScope, UsageTotals, admit, check_exhausted,
};
use tollgate_core::text::truncate_chars;
use tollgate_core::turn::{Principal, PrincipalGrant, Turn};
use tollgate_store::Store;
use tollgate_store::model_usage::UsageRow;

use crate::clock::Clock;
use crate::settings::ModelUsageSettings;

mod archive;
mod reservation;
mod session;
mod state;

pub(crate) use archive::ModelUsageArchive;
pub use reservation::{ModelReservation, ModelTokens};
pub use session::{SessionCharge, SessionModel, SessionUsageMeter};
pub use state::{AgentModel, RefusalCounts};

use state::MeterState;

/// Longer names are cut.
const MAX_NAME_CHARS: usize = 256;

/// On whose behalf a model is asked.
#[derive(Debug, Clone)]
pub struct ModelCaller {
    pub principal: Principal,
    pub grant: Option<Arc<PrincipalGrant>>,
    /// `None`: the model is asked directly.
    pub agent: Option<AgentId>,
}

/// A model, and what a request to it may need.
#[derive(Debug, Clone, Copy)]
pub struct ModelDemand<'a> {
    /// Its name in the config.
    pub name: &'a str,
    /// The provider's name of it.
    pub id: &'a str,
    /// Tokens of the question, estimated.
    pub input: u64,
    /// The most tokens that the answer may have.
    pub max_output: u64,
}

impl ModelCaller {
    /// Whoever has this turn.
    pub fn of_turn(turn: &Turn) -> Self {
        Self {
            principal: turn.principal.clone(),
            grant: turn.grant.clone(),
            agent: Some(turn.view.agent.clone()),
        }
    }

    /// A caller within this process.
    pub fn local() -> Self {
        Self { principal: Principal::local(), grant: None, agent: None }
    }
}

pub struct ModelUsageMeter {
    clock: Arc<dyn Clock>,
    settings: ArcSwap<ModelUsageSettings>,
    state: Mutex<MeterState>,
    /// `None`: usage is kept in memory, until the end.
    store: Option<Arc<Store>>,
    /// Locked while sums move from the memory to the store, and while both are read.
    saving: Mutex<()>,
    changed: Notify,
}

impl ModelUsageMeter {
    /// Continues with what was used today. Reads the store, which may block.
    pub(crate) fn open(
        clock: Arc<dyn Clock>,
        settings: ModelUsageSettings,
        store: Option<Arc<Store>>,
    ) -> Arc<Self> {
        let today = UsageDay::of(clock.wall());
        let state = MeterState::continuing(today, archive::load_day(store.as_deref(), today));
        Arc::new(Self {
            clock,
            settings: ArcSwap::from_pointee(settings),
            state: Mutex::new(state),
            store,
            saving: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// New limits hold for the next request, and count what was used before.
    pub(crate) fn reconfigure(&self, settings: &ModelUsageSettings) {
        self.settings.store(Arc::new(settings.clone()));
    }

    /// Takes room for a request in all limits of its key, agent and model, or in none.
    pub fn reserve(
        self: &Arc<Self>,
        caller: &ModelCaller,
        demand: &ModelDemand<'_>,
    ) -> Result<ModelReservation, ModelLimitExceededError> {
        let settings = self.settings.load();
        let price = settings.prices.find(demand.name, demand.id);
        let estimate = estimate(demand, price.as_ref());
        let by = UsedBy::new(caller, demand.name);
        let scopes = by.scopes(caller);
        self.admit_to(&scopes, caller, &estimate)?;
        Ok(ModelReservation::new(Arc::clone(self), by, scopes, price, estimate))
    }

    /// Reserves this in all of the scopes, or in none.
    fn admit_to(
        &self,
        scopes: &[UsageScope],
        caller: &ModelCaller,
        estimate: &UsageEstimate,
    ) -> Result<(), ModelLimitExceededError> {
        self.decide(scopes, caller, |limited, time| admit(limited, estimate, time))
    }

    fn check_exhausted(
        &self,
        scopes: &[UsageScope],
        caller: &ModelCaller,
    ) -> Result<(), ModelLimitExceededError> {
        self.decide(scopes, caller, check_exhausted)
    }

    fn decide(
        &self,
        scopes: &[UsageScope],
        caller: &ModelCaller,
        decide: impl FnOnce(&mut [ScopeLimits<'_>], MeterTime) -> Result<(), ModelLimitExceededError>,
    ) -> Result<(), ModelLimitExceededError> {
        let settings = self.settings.load();
        let limits = |scope: &UsageScope| limits(&settings, caller.grant.as_deref(), scope);
        let time = self.time();
        let mut state = self.state.lock();
        let mut meters = state.take_meters(scopes, UsageDay::of(time.wall));
        let mut limited: Vec<ScopeLimits<'_>> = scopes
            .iter()
            .zip(&mut meters)
            .map(|(scope, meter)| ScopeLimits { scope, limits: limits(scope), meter })
            .collect();
        let decided = decide(&mut limited, time);
        state.put_meters(scopes, meters);
        if let Err(refused) = &decided {
            state.count_refusal(&refused.scope);
        }
        decided
    }

    /// Adds what a session used.
    fn charge(&self, by: &UsedBy, scopes: &[UsageScope], used: &UsageTotals) {
        let day = UsageDay::of(self.clock.wall());
        let mut state = self.state.lock();
        let mut meters = state.take_meters(scopes, day);
        meters.iter_mut().for_each(|meter| meter.add(used, day));
        state.put_meters(scopes, meters);
        state.record(by, used, day);
        drop(state);
        self.changed.notify_one();
    }

    fn release(&self, scopes: &[UsageScope], estimate: &UsageEstimate) {
        self.state.lock().release(scopes, estimate);
    }

    /// Rows of these days, with what is not saved yet. Reads the store, which may block.
    pub fn report(
        &self,
        from: UsageDay,
        to: UsageDay,
    ) -> Result<Vec<UsageRow>, tollgate_store::Error> {
        let _saving = self.saving.lock();
        let saved = match &self.store {
            Some(store) => store.model_usage().load(from, to)?,
            None => Vec::new(),
        };
        Ok(self.state.lock().with_unsaved(saved, from, to))
    }

    /// Sums since the start, for metrics.
    pub fn totals_since_start(&self) -> Vec<(AgentModel, UsageTotals)> {
        self.state.lock().totals_since_start()
    }

    /// Requests refused since the start.
    pub fn refusals(&self) -> RefusalCounts {
        self.state.lock().refusals()
    }

    fn settle(
        &self,
        by: &UsedBy,
        scopes: &[UsageScope],
        estimate: &UsageEstimate,
        used: &UsageTotals,
    ) {
        let day = UsageDay::of(self.clock.wall());
        self.state.lock().settle(by, scopes, estimate, used, day);
        self.changed.notify_one();
    }

    fn time(&self) -> MeterTime {
        MeterTime { now: self.clock.now(), wall: self.clock.wall() }
    }
}

/// Under what usage is summed up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct UsedBy {
    key: String,
    /// Empty: none.
    agent: String,
    model: String,
}

impl UsedBy {
    fn new(caller: &ModelCaller, model: &str) -> Self {
        Self {
            key: truncate_chars(caller.principal.as_str(), MAX_NAME_CHARS),
            agent: caller.agent.as_ref().map_or_else(String::new, ToString::to_string),
            model: truncate_chars(model, MAX_NAME_CHARS),
        }
    }

    fn scopes(&self, caller: &ModelCaller) -> Vec<UsageScope> {
        let agent = caller.agent.clone().map(UsageScope::Agent);
        let others = [UsageScope::Key(self.key.clone()), UsageScope::Model(self.model.clone())];
        others.into_iter().chain(agent).collect()
    }
}

fn estimate(demand: &ModelDemand<'_>, price: Option<&ModelPrice>) -> UsageEstimate {
    let ModelDemand { input, max_output: output, .. } = *demand;
    match price {
        Some(price) => price.estimate(input, output),
        None => UsageEstimate { input, output, ..UsageEstimate::default() },
    }
}

fn limits<'s>(
    settings: &'s ModelUsageSettings,
    grant: Option<&'s PrincipalGrant>,
    scope: &UsageScope,
) -> &'s [ModelLimit] {
    let listed = |limits: Option<&'s Vec<ModelLimit>>| limits.map_or(&[][..], Vec::as_slice);
    match scope {
        UsageScope::Key(_) => {
            let own = grant.and_then(|grant| grant.model_limits.as_ref());
            own.map_or(&settings.per_key, |own| own)
        }
        UsageScope::Agent(agent) => listed(settings.agents.get(agent)),
        UsageScope::Model(model) => listed(settings.models.get(model)),
    }
}

#[cfg(test)]
mod tests;
