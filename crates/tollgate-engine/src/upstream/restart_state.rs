//! Restart state and backoff: what a supervisor keeps between starts, and when it retries. Time and
//! randomness are arguments.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tollgate_core::backoff::{Backoff, BackoffPause, BackoffPolicy};
use tollgate_core::catalog::ServerListing;

use super::UpstreamState;
use super::connect::ServerDownKind;
use super::connection_schedule::UpstreamKind;
use crate::settings::{RestartPolicy, RestartSettings};

/// Retry interval of a remote server that is down, so that it is back in service soon.
const REMOTE_FIRST: Duration = Duration::from_millis(250);
const REMOTE_PAUSE: Duration = Duration::from_millis(1500);
/// Longer intervals once it has been down for long, or when it rejects us.
const AWAY_FOR_LONG: Duration = Duration::from_secs(300);
const PATIENT_PAUSE: Duration = Duration::from_secs(15);
const MAX_RESTART_DELAY: Duration = Duration::from_secs(30);

pub(super) struct RestartState {
    /// The last known listing.
    pub(super) listing: Arc<ServerListing>,
    /// Whether the registry knows that the server is up.
    pub(super) present: bool,
    nature: UpstreamKind,
    policy: RestartPolicy,
    backoff: Backoff,
    starts: u32,
    away_since: Option<Instant>,
}

/// A server that ended, or did not come up.
pub(super) struct ServerOutage {
    pub(super) at: Instant,
    /// How long it was in service; zero if never.
    pub(super) up: Duration,
    pub(super) kind: ServerDownKind,
}

impl RestartState {
    pub(super) fn new(restart: RestartSettings, nature: UpstreamKind) -> Self {
        let policy = match nature {
            UpstreamKind::Child => BackoffPolicy {
                first: restart.backoff,
                longest: MAX_RESTART_DELAY,
                max_restarts: Some(restart.max_restarts),
            },
            UpstreamKind::Remote => {
                BackoffPolicy { first: REMOTE_FIRST, longest: REMOTE_PAUSE, max_restarts: None }
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

    /// The number of restarts. For a child every attempt counts; for a remote server only a
    /// successful reconnect does, since an attempt starts nothing.
    pub(super) fn restarts(&self) -> u32 {
        self.starts.saturating_sub(1)
    }

    pub(super) fn start(&mut self) {
        if self.nature == UpstreamKind::Child {
            self.starts = self.starts.saturating_add(1);
        }
    }

    /// Retries of a remote server that is down do not change its state.
    pub(super) fn is_retried_quietly(&self) -> bool {
        self.nature == UpstreamKind::Remote && self.away_since.is_some()
    }

    pub(super) fn note_up(&mut self) {
        self.away_since = None;
        if self.nature == UpstreamKind::Remote {
            self.starts = self.starts.saturating_add(1);
        }
    }

    /// An operator requested a fresh start.
    pub(super) fn forget(&mut self) {
        self.away_since = None;
        self.backoff.reset();
    }

    /// The new state of the server, and when to retry; `None`: no automatic retry.
    pub(super) fn note_down(
        &mut self,
        fall: &ServerOutage,
        chance: f64,
    ) -> (UpstreamState, Option<Duration>) {
        let away_since = *self.away_since.get_or_insert(fall.at);
        let pause = self.backoff.record_failure(fall.at, fall.up, chance);
        match (self.nature, pause) {
            (UpstreamKind::Child, _) if self.policy == RestartPolicy::Never => {
                (UpstreamState::Offline, None)
            }
            (UpstreamKind::Remote, _) if fall.kind == ServerDownKind::Refused => {
                (UpstreamState::Failed, Some(PATIENT_PAUSE))
            }
            (UpstreamKind::Remote, _) if fall.at.duration_since(away_since) > AWAY_FOR_LONG => {
                (UpstreamState::Offline, Some(PATIENT_PAUSE))
            }
            (_, BackoffPause::Brief(pause)) => (UpstreamState::Offline, Some(pause)),
            (_, BackoffPause::Exhausted(pause)) => (UpstreamState::Failed, Some(pause)),
        }
    }
}
