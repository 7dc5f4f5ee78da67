//! State of the meter: the scopes with their limits, what is not saved yet, and sums for metrics.
//! All of it is bounded.

use std::collections::{BTreeMap, HashMap};

use tollgate_core::id::AgentId;
use tollgate_core::model_usage::{ScopeMeter, UsageDay, UsageEstimate, UsageScope, UsageTotals};
use tollgate_store::model_usage::UsageRow;

use super::UsedBy;

/// Keys, agents and models together.
const MAX_SCOPES: usize = 65_536;
/// Sums that are not saved yet.
const MAX_UNSAVED: usize = 16_384;
/// Pairs of agent and model in metrics.
const MAX_COUNTED_PAIRS: usize = 500;
/// Counts whatever there is no room for.
const OTHER: &str = "other";

/// Labels of a metric.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentModel {
    pub model: String,
    /// Empty: the model was asked directly.
    pub agent: String,
}

/// Requests refused since the start, by the kind of scope whose limit was reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusalCounts {
    pub key: u64,
    pub agent: u64,
    pub model: u64,
}

#[derive(Debug, Default)]
pub(super) struct MeterState {
    scopes: HashMap<UsageScope, ScopeMeter>,
    unsaved: HashMap<(UsageDay, UsedBy), UsageTotals>,
    since_start: BTreeMap<AgentModel, UsageTotals>,
    refusals: RefusalCounts,
}

impl MeterState {
    /// With what was saved on that day.
    pub(super) fn continuing(day: UsageDay, saved: Vec<UsageRow>) -> Self {
        let mut sums: HashMap<UsageScope, UsageTotals> = HashMap::new();
        for row in saved {
            let agent = AgentId::parse(&row.agent).ok().map(UsageScope::Agent);
            let others = [UsageScope::Key(row.key), UsageScope::Model(row.model)];
            for scope in others.into_iter().chain(agent) {
                sums.entry(scope).or_default().add(&row.totals);
            }
        }
        let scopes = sums.into_iter().map(|(scope, sum)| (scope, ScopeMeter::begin(day, sum)));
        Self { scopes: scopes.collect(), ..Self::default() }
    }

    /// Takes the meters of these scopes out, to be put back under the same lock.
    pub(super) fn take_meters(&mut self, scopes: &[UsageScope], day: UsageDay) -> Vec<ScopeMeter> {
        if self.scopes.len() + scopes.len() > MAX_SCOPES {
            self.make_room(day);
        }
        scopes.iter().map(|scope| self.scopes.remove(scope).unwrap_or_default()).collect()
    }

    pub(super) fn put_meters(&mut self, scopes: &[UsageScope], meters: Vec<ScopeMeter>) {
        self.scopes.extend(scopes.iter().cloned().zip(meters));
    }

    /// Evicts idle scopes; if those are too few, the ones that used least today.
    fn make_room(&mut self, day: UsageDay) {
        self.scopes.retain(|_, meter| !meter.is_idle(day));
        let enough = MAX_SCOPES - MAX_SCOPES / 4;
        if self.scopes.len() <= enough {
            return;
        }
        let mut idle: Vec<(u64, UsageScope)> = self
            .scopes
            .iter()
            .filter(|(_, meter)| !meter.has_in_flight())
            .map(|(scope, meter)| (meter.today().requests, scope.clone()))
            .collect();
        idle.sort_unstable_by_key(|(requests, _)| *requests);
        for (_, scope) in idle.into_iter().take(self.scopes.len() - enough) {
            self.scopes.remove(&scope);
        }
    }

    pub(super) fn settle(
        &mut self,
        by: &UsedBy,
        scopes: &[UsageScope],
        estimate: &UsageEstimate,
        used: &UsageTotals,
        day: UsageDay,
    ) {
        for scope in scopes {
            if let Some(meter) = self.scopes.get_mut(scope) {
                meter.settle(estimate, used, day);
            }
        }
        self.record(by, used, day);
    }

    /// Gives back what was reserved for a request that is not sent.
    pub(super) fn release(&mut self, scopes: &[UsageScope], estimate: &UsageEstimate) {
        for scope in scopes {
            if let Some(meter) = self.scopes.get_mut(scope) {
                meter.release(estimate);
            }
        }
    }

    /// Adds to the rows and the metrics.
    pub(super) fn record(&mut self, by: &UsedBy, used: &UsageTotals, day: UsageDay) {
        let has_room = self.unsaved.len() < MAX_UNSAVED;
        let at = (day, by.clone());
        let at = if has_room || self.unsaved.contains_key(&at) { at } else { (day, other(by)) };
        self.unsaved.entry(at).or_default().add(used);
        let labels = AgentModel { model: by.model.clone(), agent: by.agent.clone() };
        let has_room = self.since_start.len() < MAX_COUNTED_PAIRS;
        let labels = if has_room || self.since_start.contains_key(&labels) {
            labels
        } else {
            AgentModel { model: OTHER.to_owned(), agent: OTHER.to_owned() }
        };
        self.since_start.entry(labels).or_default().add(used);
    }

    pub(super) fn count_refusal(&mut self, scope: &UsageScope) {
        *match scope {
            UsageScope::Key(_) => &mut self.refusals.key,
            UsageScope::Agent(_) => &mut self.refusals.agent,
            UsageScope::Model(_) => &mut self.refusals.model,
        } += 1;
    }

    /// What is to be saved; it is not counted any more here.
    pub(super) fn take_unsaved(&mut self) -> Vec<UsageRow> {
        self.unsaved.drain().map(|((day, by), totals)| row(day, by, totals)).collect()
    }

    /// Rows that could not be saved.
    pub(super) fn put_back(&mut self, rows: Vec<UsageRow>) {
        for UsageRow { day, key, agent, model, totals } in rows {
            self.unsaved.entry((day, UsedBy { key, agent, model })).or_default().add(&totals);
        }
    }

    pub(super) fn with_unsaved(
        &self,
        mut rows: Vec<UsageRow>,
        from: UsageDay,
        to: UsageDay,
    ) -> Vec<UsageRow> {
        let mut unsaved = self.unsaved.clone();
        for saved in &mut rows {
            let UsageRow { key, agent, model, .. } = saved.clone();
            if let Some(more) = unsaved.remove(&(saved.day, UsedBy { key, agent, model })) {
                saved.totals.add(&more);
            }
        }
        let new = unsaved.into_iter().filter(|((day, _), _)| (from..=to).contains(day));
        rows.extend(new.map(|((day, by), totals)| row(day, by, totals)));
        rows
    }

    pub(super) fn totals_since_start(&self) -> Vec<(AgentModel, UsageTotals)> {
        self.since_start.iter().map(|(labels, totals)| (labels.clone(), *totals)).collect()
    }

    pub(super) fn refusals(&self) -> RefusalCounts {
        self.refusals
    }
}

/// The key stays: it is the one who pays.
fn other(by: &UsedBy) -> UsedBy {
    UsedBy { key: by.key.clone(), agent: String::new(), model: OTHER.to_owned() }
}

fn row(day: UsageDay, by: UsedBy, totals: UsageTotals) -> UsageRow {
    let UsedBy { key, agent, model } = by;
    UsageRow { day, key, agent, model, totals }
}
