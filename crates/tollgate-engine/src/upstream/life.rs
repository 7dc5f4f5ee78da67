//! What a supervisor remembers from one start to the next, and when it tries again. Time and
//! chance are arguments.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_core::backoff::{Backoff, Pause, Policy};
use tollgate_core::catalog::Listing;

use super::State;
use super::agenda::Nature;
use super::connect::TroubleKind;
use crate::settings::{Restart, RestartPolicy};

/// A remote server is tried this often while it is away, so that it is back in service soon.
const REMOTE_FIRST: Duration = Duration::from_millis(250);
const REMOTE_PAUSE: Duration = Duration::from_millis(1500);
/// And less often once it has been away for long, or when it does not want us.
const AWAY_FOR_LONG: Duration = Duration::from_secs(300);
const PATIENT_PAUSE: Duration = Duration::from_secs(15);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(super) struct Life {
    /// The last one known.
    pub(super) listing: Arc<Listing>,
    /// Whether the registry was told that the server is there.
    pub(super) present: bool,
    nature: Nature,
    policy: RestartPolicy,
    backoff: Backoff,
    starts: u32,
    away_since: Option<Instant>,
}

/// A server that ended, or did not come up.
pub(super) struct Fall {
    pub(super) at: Instant,
    /// How long it was in service; zero if it never was.
    pub(super) up: Duration,
    pub(super) kind: TroubleKind,
}

impl Life {
    pub(super) fn new(restart: Restart, nature: Nature) -> Self {
        let policy = match nature {
            Nature::Child => Policy {
                first: restart.backoff,
                longest: LONGEST_PAUSE,
                max_restarts: Some(restart.max_restarts),
            },
            Nature::Remote => {
                Policy { first: REMOTE_FIRST, longest: REMOTE_PAUSE, max_restarts: None }
            }
        };
        Self {
            listing: Arc::default(),
            present: false,
            nature,
            policy: restart.policy,
            backoff: Backoff::new(policy),
            starts: 0,
            away_since: None,
        }
    }

    /// How often it was started again. A child is each time that it is tried, a remote server when it
    /// is back: knocking at its door starts nothing.
    pub(super) fn restarts(&self) -> u32 {
        self.starts.saturating_sub(1)
    }

    pub(super) fn start(&mut self) {
        if self.nature == Nature::Child {
            self.starts = self.starts.saturating_add(1);
        }
    }

    /// Knocking at the door of a remote server that is away is no news worth a change of state.
    pub(super) fn is_retried_quietly(&self) -> bool {
        self.nature == Nature::Remote && self.away_since.is_some()
    }

    pub(super) fn arrived(&mut self) {
        self.away_since = None;
        if self.nature == Nature::Remote {
            self.starts = self.starts.saturating_add(1);
        }
    }

    /// A person wants a fresh start.
    pub(super) fn forget(&mut self) {
        self.away_since = None;
        self.backoff.reset();
    }

    /// How the server stands now, and when to try again; `None`: not by itself.
    pub(super) fn fell(&mut self, fall: &Fall, chance: f64) -> (State, Option<Duration>) {
        let away_since = *self.away_since.get_or_insert(fall.at);
        let pause = self.backoff.failed(fall.at, fall.up, chance);
        match (self.nature, pause) {
            (Nature::Child, _) if self.policy == RestartPolicy::Never => (State::Offline, None),
            (Nature::Remote, _) if fall.kind == TroubleKind::Refused => {
                (State::Failed, Some(PATIENT_PAUSE))
            }
            (Nature::Remote, _) if fall.at.duration_since(away_since) > AWAY_FOR_LONG => {
                (State::Offline, Some(PATIENT_PAUSE))
            }
            (_, Pause::Brief(pause)) => (State::Offline, Some(pause)),
            (_, Pause::Exhausted(pause)) => (State::Failed, Some(pause)),
        }
    }
}
