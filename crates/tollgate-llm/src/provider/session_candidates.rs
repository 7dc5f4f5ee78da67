//! The order in which the models of a live session are connected to. Called by the realtime sessions.

use std::sync::Arc;

use super::model::ModelHandle;
use super::pool::LiveTarget;
use super::target_health::TargetAvailability;

/// A model and a place of it to connect to.
pub(crate) struct LiveCandidate {
    pub(crate) model: Arc<ModelHandle>,
    pub(crate) target: LiveTarget,
}

/// The places of these models in the order in which they are to be asked: first those that are
/// well, in the order of the models, then those with an open breaker. A rate-limited place is asked
/// only if there is no other.
pub(crate) fn dial_order(models: &[Arc<ModelHandle>]) -> Vec<LiveCandidate> {
    let mut well = Vec::new();
    let mut broken = Vec::new();
    let mut limited = Vec::new();
    for model in models {
        for (target, availability) in model.ordered_live_targets() {
            let candidate = LiveCandidate { model: Arc::clone(model), target };
            match availability {
                TargetAvailability::Ready | TargetAvailability::Full => well.push(candidate),
                TargetAvailability::Broken { .. } => broken.push(candidate),
                TargetAvailability::RateLimited { .. } => limited.push(candidate),
            }
        }
    }
    well.append(&mut broken);
    if well.is_empty() { limited } else { well }
}

impl ModelHandle {
    fn ordered_live_targets(&self) -> Vec<(LiveTarget, TargetAvailability)> {
        match self.live_targets() {
            Some(targets) => {
                let ordered = targets.in_route_order(self.now()).into_iter();
                ordered.map(|(target, state)| (target.clone(), state)).collect()
            }
            None => {
                let first = self.first_as_live_target();
                first.into_iter().map(|it| (it, TargetAvailability::Ready)).collect()
            }
        }
    }
}
