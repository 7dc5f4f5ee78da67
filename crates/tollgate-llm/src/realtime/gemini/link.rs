//! Provider connection state: whether it is established, how its session is resumed on another one,
//! and when a reconnection is due. Called by the state machine; independent of the conversation.

use std::time::{Duration, Instant};

use serde_json::Value;

/// Margin before the end announced by a provider, so that the new connection is ready in time.
const RECONNECT_MARGIN: Duration = Duration::from_secs(1);

/// Used if a provider does not say how soon it ends the connection.
const DEFAULT_TIME_LEFT: Duration = Duration::from_secs(5);

/// Upper bound of a plausible announcement.
const MAX_TIME_LEFT: Duration = Duration::from_secs(3_600);

#[derive(Debug, Default)]
pub(super) struct GeminiLink {
    state: GeminiLinkState,
    /// The newest resumption handle.
    handle: Option<String>,
    /// Whether the handle covers the whole conversation.
    whole: HandleCompleteness,
    /// When this connection must be replaced.
    leave: Option<Instant>,
    /// Whether a new one is needed for a changed setup.
    renew: LinkRenewal,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum GeminiLinkState {
    /// Before the provider has accepted the setup.
    #[default]
    Fresh,
    Stands,
    /// A new connection, before the provider has accepted its setup.
    Resuming,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum HandleCompleteness {
    Yes,
    #[default]
    No,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LinkRenewal {
    Due,
    #[default]
    No,
}

/// Whether the accepted setup started or resumed the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetupAcceptance {
    First,
    Again,
}

/// Whether a reconnection now would lose anything of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReconnectMoment {
    Good,
    Bad,
}

impl GeminiLink {
    pub(super) fn accept_setup(&mut self) -> SetupAcceptance {
        let taken = if self.state == GeminiLinkState::Resuming {
            SetupAcceptance::Again
        } else {
            SetupAcceptance::First
        };
        self.state = GeminiLinkState::Stands;
        taken
    }

    pub(super) fn stands(&self) -> bool {
        self.state == GeminiLinkState::Stands
    }

    /// Handles a `sessionResumptionUpdate`.
    pub(super) fn resumable(&mut self, update: &str) {
        let update: Value = serde_json::from_str(update).unwrap_or_default();
        let handle = update.get("newHandle").and_then(Value::as_str).filter(|it| !it.is_empty());
        let resumable = update.get("resumable").and_then(Value::as_bool) == Some(true);
        self.whole = if resumable && handle.is_some() {
            HandleCompleteness::Yes
        } else {
            HandleCompleteness::No
        };
        if resumable && let Some(handle) = handle {
            self.handle = Some(handle.to_owned());
        }
    }

    /// Something was said that the handle does not cover.
    pub(super) fn mark_outdated(&mut self) {
        self.whole = HandleCompleteness::No;
    }

    /// Handles a `goAway`: `false` if there is no handle to resume with.
    pub(super) fn leaves(&mut self, go_away: &str, now: Instant) -> bool {
        if self.handle.is_none() {
            return false;
        }
        let left = time_left(go_away).unwrap_or(DEFAULT_TIME_LEFT).min(MAX_TIME_LEFT);
        self.leave = Some(now + left.saturating_sub(RECONNECT_MARGIN));
        true
    }

    pub(super) fn renew(&mut self) {
        self.renew = LinkRenewal::Due;
    }

    pub(super) fn keep(&mut self) {
        self.renew = LinkRenewal::No;
    }

    /// Whether a reconnection waits for a better moment.
    pub(super) fn waits(&self) -> bool {
        self.stands() && (self.leave.is_some() || self.renew == LinkRenewal::Due)
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        self.leave.filter(|_| self.stands())
    }

    /// The handle to resume with, if the connection is to be replaced now.
    pub(super) fn leave(&mut self, moment: ReconnectMoment, now: Instant) -> Option<String> {
        if !self.waits() {
            return None;
        }
        let good = moment == ReconnectMoment::Good && self.whole == HandleCompleteness::Yes;
        let must = self.leave.is_some_and(|leave| leave <= now);
        if !good && !must {
            return None;
        }
        let handle = self.handle.clone()?;
        let state = GeminiLinkState::Resuming;
        *self = Self { state, handle: Some(handle.clone()), ..Self::default() };
        Some(handle)
    }
}

/// A duration in the protocol's format: `"9.5s"`.
fn time_left(go_away: &str) -> Option<Duration> {
    let go_away: Value = serde_json::from_str(go_away).ok()?;
    let seconds = go_away.get("timeLeft")?.as_str()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
