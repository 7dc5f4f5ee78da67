//! Refused access: counted by reason, reported in the log and the audit ledger per address and
//! minute, and throttled where an address tries keys. A valid key is never throttled.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use tollgate_core::turn::Principal;
use tollgate_engine::audit::AuditLedger;

use crate::api_error::{ApiError, ApiErrorCode};
use crate::limits::Limits;

mod address;
mod reason;
mod tally;
mod throttle;

pub(crate) use address::{AddressGroup, client_address};
pub use address::{BadProxyError, TrustedProxies};
pub(crate) use reason::RefusalReason;
use tally::{RefusalSubject, RefusalTallies};
pub(crate) use throttle::{Credential, WrongKeyThrottle, too_many};

/// Counters, tallies and the throttle for refused access.
pub(crate) struct RefusedAccess {
    counts: [AtomicU64; RefusalReason::ALL.len()],
    throttled: AtomicU64,
    tallies: RefusalTallies,
    pub(crate) throttle: WrongKeyThrottle,
}

/// A refused request.
#[derive(Debug, Clone)]
pub(crate) struct AccessRefusal {
    pub(crate) reason: RefusalReason,
    /// Answered with 429, because too many wrong keys came before.
    pub(crate) throttled: bool,
}

impl RefusedAccess {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            counts: Default::default(),
            throttled: AtomicU64::new(0),
            tallies: RefusalTallies::default(),
            throttle: WrongKeyThrottle::new(limits),
        }
    }

    /// The response to credentials that were rejected, and the refusal to record.
    pub(crate) fn judge(
        &self,
        problem: ApiError,
        address: Option<IpAddr>,
        now: Instant,
    ) -> (ApiError, Option<AccessRefusal>) {
        let Some(reason) = RefusalReason::of(problem.code) else { return (problem, None) };
        let wait = if reason.is_guess() {
            self.throttle.charge(Credential::Key, address, now).err()
        } else {
            None
        };
        let throttled = wait.is_some();
        let problem = wait.map_or(problem, too_many);
        (problem, Some(AccessRefusal { reason, throttled }))
    }

    /// Counts a refusal and adds it to the next report.
    pub(crate) fn note(
        &self,
        refusal: &AccessRefusal,
        address: Option<IpAddr>,
        principal: Option<&Principal>,
        at: SystemTime,
    ) {
        self.counts[refusal.reason as usize].fetch_add(1, Ordering::Relaxed);
        self.throttled.fetch_add(u64::from(refusal.throttled), Ordering::Relaxed);
        let subject = RefusalSubject {
            address: address.map(AddressGroup::of),
            reason: refusal.reason,
            principal: principal.cloned(),
        };
        self.tallies.add(subject, refusal.throttled, at);
    }

    /// Writes the refusals gathered since the last report.
    pub(crate) fn report(&self, ledger: &AuditLedger) {
        for decision in self.tallies.take() {
            ledger.note_later(decision);
        }
    }

    pub(crate) fn count(&self, reason: RefusalReason) -> u64 {
        self.counts[reason as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn throttled_count(&self) -> u64 {
        self.throttled.load(Ordering::Relaxed)
    }
}

/// The refusal in a finished response, if it is one.
pub(crate) fn refusal(response: &Response, sent: LoginStep) -> Option<AccessRefusal> {
    if let Some(refusal) = response.extensions().get::<AccessRefusal>() {
        return Some(refusal.clone());
    }
    let ApiErrorCode(code) = response.extensions().get::<ApiErrorCode>()?;
    if sent == LoginStep::Attempt {
        let throttled = *code == throttle::TOO_MANY;
        let is_wrong = throttled || response.status() == StatusCode::UNAUTHORIZED;
        let reason = RefusalReason::FailedLogin;
        return is_wrong.then_some(AccessRefusal { reason, throttled });
    }
    // The page asks whether it is logged in. A negative answer is not a refusal.
    let reason = RefusalReason::of(code).filter(|_| sent != LoginStep::Status)?;
    Some(AccessRefusal { reason, throttled: false })
}

/// The part a request plays in the login of the web page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoginStep {
    /// A key was sent to be exchanged for a cookie.
    Attempt,
    /// The page asks whether it is logged in.
    Status,
    None,
}

impl LoginStep {
    pub(crate) fn of(sent: &Parts) -> Self {
        if sent.uri.path() != "/api/login" {
            return Self::None;
        }
        if sent.method == http::Method::POST { Self::Attempt } else { Self::Status }
    }
}
