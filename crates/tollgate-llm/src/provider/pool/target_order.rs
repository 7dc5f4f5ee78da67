//! Load balancing: in which order the targets of a model are asked. Pure; facts, time and
//! randomness are arguments.

use std::time::{Duration, Instant};

use crate::provider::target_health::TargetAvailability;
use crate::settings::RoutePolicy;

/// What is known of one target when a request comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetFacts {
    pub(super) weight: u32,
    pub(super) price: Option<u64>,
    /// Measured lately; `None`: nothing to go by.
    pub(super) expected: Option<Duration>,
    /// Requests under way.
    pub(super) running: u32,
    /// It made the reasoning of the history, which others may be unable to read.
    pub(super) made_reasoning: bool,
    pub(super) availability: TargetAvailability,
}

/// Indexes of the targets to ask, best first.
///
/// A full target comes after the others. One with an open breaker is only asked when all have one,
/// the soonest to close first: the breaker alone never fails a request. A rate-limited one is not
/// asked. A ready target that made the reasoning of the history comes first.
pub(super) fn order_targets(
    route: RoutePolicy,
    targets: &[TargetFacts],
    random: &mut dyn FnMut() -> f64,
) -> Vec<usize> {
    let is = |availability| move |at: &usize| targets[*at].availability == availability;
    let all = 0..targets.len();
    let mut order: Vec<usize> = all.clone().filter(is(TargetAvailability::Ready)).collect();
    sort_by_route(&mut order, route, targets, random);
    order.sort_by_key(|at| !targets[*at].made_reasoning);
    let mut full: Vec<usize> = all.clone().filter(is(TargetAvailability::Full)).collect();
    sort_by_route(&mut full, route, targets, random);
    order.append(&mut full);
    if order.is_empty() {
        let broken = all.filter_map(|at| match targets[at].availability {
            TargetAvailability::Broken { until } => Some((until, at)),
            _ => None,
        });
        let mut broken: Vec<(Instant, usize)> = broken.collect();
        broken.sort_unstable();
        order.extend(broken.into_iter().map(|(_, at)| at));
    }
    order
}

/// How long until the first rate-limited target may be asked again.
pub(super) fn shortest_wait(targets: &[TargetFacts], now: Instant) -> Option<Duration> {
    let until = targets.iter().filter_map(|target| match target.availability {
        TargetAvailability::RateLimited { until } => Some(until),
        _ => None,
    });
    until.min().map(|until| until.saturating_duration_since(now))
}

fn sort_by_route(
    order: &mut [usize],
    route: RoutePolicy,
    targets: &[TargetFacts],
    random: &mut dyn FnMut() -> f64,
) {
    match route {
        RoutePolicy::Order => {}
        RoutePolicy::Weight => shuffle_by_weight(order, targets, random),
        RoutePolicy::Latency => order.sort_by_key(|at| measured_rank(&targets[*at])),
        RoutePolicy::Cost => {
            // Equally cheap ones share the load.
            shuffle_by_weight(order, targets, random);
            order.sort_by_key(|at| targets[*at].price.unwrap_or(u64::MAX));
        }
    }
}

/// Weighted random order without replacement (Efraimidis and Spirakis): by `u^(1/weight)`. Those of
/// weight 0 are last.
fn shuffle_by_weight(
    order: &mut [usize],
    targets: &[TargetFacts],
    random: &mut dyn FnMut() -> f64,
) {
    let mut keys = vec![0.0; targets.len()];
    for at in &*order {
        let weight = targets[*at].weight;
        let chance = random().clamp(f64::MIN_POSITIVE, 1.0);
        // The logarithm has the same order, and does not underflow.
        keys[*at] = if weight == 0 { f64::NEG_INFINITY } else { chance.ln() / f64::from(weight) };
    }
    order.sort_by(|one, other| keys[*other].total_cmp(&keys[*one]));
}

/// A target without a measurement is tried first, by one request at a time: its speed is learned,
/// and the others do not wait for it.
fn measured_rank(target: &TargetFacts) -> MeasuredRank {
    match target.expected {
        None if target.running == 0 => MeasuredRank::ToMeasure,
        Some(expected) => MeasuredRank::Measured(expected),
        None => MeasuredRank::BeingMeasured,
    }
}

/// The first is tried first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum MeasuredRank {
    ToMeasure,
    Measured(Duration),
    BeingMeasured,
}

#[cfg(test)]
mod tests;
