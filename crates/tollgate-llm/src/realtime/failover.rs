//! Decides whether a session whose provider failed is continued, and on which models. Pure: time is
//! an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::events::ProviderFaultKind;

/// Failures within [`FAILOVER_WINDOW`] after which a session ends with the provider's reason.
const MAX_FAILOVERS: usize = 3;
const FAILOVER_WINDOW: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct FailoverPolicy {
    recent: VecDeque<Instant>,
    /// When the same model was connected to again.
    same_model: Option<Instant>,
}

/// The models that may continue a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailoverModels {
    /// None: it failed too often.
    None,
    SameThenOthers,
    Others,
}

impl FailoverPolicy {
    /// A broken connection says little about the model, so it is tried once more. A session that
    /// merely expires continues on its model, as often as that happens.
    pub(super) fn decide(&mut self, kind: ProviderFaultKind, now: Instant) -> FailoverModels {
        if kind == ProviderFaultKind::Expiring {
            return FailoverModels::SameThenOthers;
        }
        let is_recent = |at: Instant| now.saturating_duration_since(at) < FAILOVER_WINDOW;
        self.recent.retain(|at| is_recent(*at));
        if self.recent.len() >= MAX_FAILOVERS {
            return FailoverModels::None;
        }
        self.recent.push_back(now);
        let was_tried = self.same_model.is_some_and(is_recent);
        if kind == ProviderFaultKind::Broken && !was_tried {
            self.same_model = Some(now);
            return FailoverModels::SameThenOthers;
        }
        FailoverModels::Others
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate_engine::clock::{Clock as _, SystemClock};

    use super::{FailoverModels, FailoverPolicy};
    use crate::realtime::events::ProviderFaultKind::{Broken, Expiring, Refused};

    #[test]
    fn a_broken_connection_tries_its_model_once_and_a_refusal_never() {
        let now = SystemClock.now();
        let mut policy = FailoverPolicy::default();
        assert_eq!(policy.decide(Broken, now), FailoverModels::SameThenOthers);
        assert_eq!(policy.decide(Broken, now), FailoverModels::Others);
        let later = now + Duration::from_secs(61);
        assert_eq!(policy.decide(Broken, later), FailoverModels::SameThenOthers);
        assert_eq!(FailoverPolicy::default().decide(Refused, now), FailoverModels::Others);
    }

    #[test]
    fn the_fourth_failure_within_a_minute_ends_the_session() {
        let now = SystemClock.now();
        let mut policy = FailoverPolicy::default();
        for _ in 0..3 {
            assert_eq!(policy.decide(Refused, now), FailoverModels::Others);
        }
        let at = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(policy.decide(Refused, at(59)), FailoverModels::None);
        assert_eq!(policy.decide(Refused, at(61)), FailoverModels::Others);
    }

    #[test]
    fn sessions_that_expire_do_not_count() {
        let now = SystemClock.now();
        let mut policy = FailoverPolicy::default();
        for _ in 0..10 {
            assert_eq!(policy.decide(Expiring, now), FailoverModels::SameThenOthers);
        }
        assert_eq!(policy.decide(Broken, now), FailoverModels::SameThenOthers);
    }
}
