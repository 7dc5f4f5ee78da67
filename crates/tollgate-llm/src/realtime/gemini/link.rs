//! Provider connection state: whether it is established, how its session is resumed on another one,
//! and when a reconnection is due. Called by the state machine; independent of the conversation.

use std::time::{Duration, Instant};

use serde_json::Value;

/// Margin before the end announced by a provider, so that the new connection is ready in time.
const RECONNECT_MARGIN: Duration = Duration::from_secs(1);

/// How long before that the new connection is opened: an unused one is not kept for long.
const PREPARE_MARGIN: Duration = Duration::from_secs(10);

/// Unannounced ends within [`RESUME_WINDOW`] after which a session is not resumed again.
const MAX_RESUMES: usize = 3;
const RESUME_WINDOW: Duration = Duration::from_secs(60);

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
    /// When its successor is to be opened.
    prepare: Option<Instant>,
    /// When connections ended without an announcement.
    lost: Vec<Instant>,
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

    /// Whether no provider has accepted the session yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.state == GeminiLinkState::Fresh
    }

    pub(super) fn has_handle(&self) -> bool {
        self.handle.is_some()
    }

    /// The session begins again, without a handle.
    pub(super) fn restart(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        *self = Self { state: GeminiLinkState::Resuming, lost, ..Self::default() };
    }

    pub(super) fn stands(&self) -> bool {
        self.state == GeminiLinkState::Stands
    }

    /// Handles a `sessionResumptionUpdate`: `true` if its handle covers the whole conversation.
    pub(super) fn resumable(&mut self, update: &str) -> bool {
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
        self.whole == HandleCompleteness::Yes
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
        let leave = now + left.saturating_sub(RECONNECT_MARGIN);
        self.leave = Some(leave);
        self.prepare = Some(leave.checked_sub(PREPARE_MARGIN).map_or(now, |at| at.max(now)));
        true
    }

    pub(super) fn renew(&mut self, now: Instant) {
        self.renew = LinkRenewal::Due;
        self.prepare = Some(now);
    }

    pub(super) fn keep(&mut self) {
        self.renew = LinkRenewal::No;
        self.prepare = self.prepare.filter(|_| self.leave.is_some());
    }

    /// Whether the successor of this connection is to be opened now; told once.
    pub(super) fn take_prepare(&mut self, now: Instant) -> bool {
        self.stands()
            && self.handle.is_some()
            && self.prepare.take_if(|prepare| *prepare <= now).is_some()
    }

    /// Whether a reconnection waits for a better moment.
    pub(super) fn waits(&self) -> bool {
        self.stands() && (self.leave.is_some() || self.renew == LinkRenewal::Due)
    }

    pub(super) fn wakes(&self) -> Option<Instant> {
        let prepare = self.prepare.filter(|_| self.handle.is_some());
        let first = self.leave.into_iter().chain(prepare).min();
        first.filter(|_| self.stands())
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
        self.resume()
    }

    /// The connection ended without an announcement: the handle to resume with. `None` if there is
    /// none, or if this happens again and again.
    pub(super) fn lose(&mut self, now: Instant) -> Option<String> {
        self.lost.retain(|at| now.saturating_duration_since(*at) < RESUME_WINDOW);
        if self.lost.len() == MAX_RESUMES {
            return None;
        }
        self.lost.push(now);
        self.resume()
    }

    fn resume(&mut self) -> Option<String> {
        let handle = self.handle.clone()?;
        let state = GeminiLinkState::Resuming;
        let lost = std::mem::take(&mut self.lost);
        *self = Self { state, handle: Some(handle.clone()), lost, ..Self::default() };
        Some(handle)
    }
}

/// A duration in the protocol's format: `"9.5s"`.
fn time_left(go_away: &str) -> Option<Duration> {
    let go_away: Value = serde_json::from_str(go_away).ok()?;
    let seconds = go_away.get("timeLeft")?.as_str()?.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
