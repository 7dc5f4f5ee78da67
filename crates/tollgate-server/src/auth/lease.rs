//! Lease of an authenticated caller: valid as long as the secret, its key and the login, and until
//! they expire.

use std::time::{Duration, SystemTime};

use tollgate_core::lease::{self, LeaseTerm, RevokedError};

#[derive(Debug, Clone)]
pub(crate) struct CallerLease {
    /// All revocable terms.
    terms: lease::RevocableLease,
    /// Ended when the presented secret becomes invalid.
    presented: LeaseTerm,
    /// Ended when the holder loses permissions.
    holder: LeaseTerm,
    until: Option<SystemTime>,
}

impl CallerLease {
    /// For callers without a revocable key.
    pub(crate) fn endless() -> Self {
        Self::of(&LeaseTerm::new(), None)
    }

    /// A lease for one secret of a holder. Ends with the holder, or alone.
    pub(crate) fn of(holder: &LeaseTerm, until: Option<SystemTime>) -> Self {
        let presented = LeaseTerm::new();
        let terms = lease::RevocableLease::of([presented.clone(), holder.clone()]);
        Self { terms, presented, holder: holder.clone(), until }
    }

    /// The same lease with another expiry. Earlier users share its revocation.
    pub(super) fn lasting(&self, until: Option<SystemTime>) -> Self {
        Self { until, ..self.clone() }
    }

    /// The same lease, limited to the lifetime of a login.
    pub(super) fn within(&self, login: &LeaseTerm, until: SystemTime) -> Self {
        Self {
            terms: self.terms.and(login),
            until: Some(self.until.map_or(until, |own| own.min(until))),
            ..self.clone()
        }
    }

    /// The same lease, limited by a further term.
    pub(super) fn and(&self, term: &LeaseTerm) -> Self {
        Self { terms: self.terms.and(term), ..self.clone() }
    }

    pub(super) fn end(&self, why: RevokedError) {
        self.presented.end(why);
    }

    pub(crate) fn until(&self) -> Option<SystemTime> {
        self.until
    }

    /// Whether both are of the same secret, with the same expiry.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.presented.is_same(&other.presented) && self.until == other.until
    }

    pub(super) fn is_of(&self, holder: &LeaseTerm) -> bool {
        self.holder.is_same(holder)
    }

    /// For work that depends on the presented secret.
    pub(crate) fn terms(&self) -> &lease::RevocableLease {
        &self.terms
    }

    /// For objects of the holder, whichever secret is used.
    pub(crate) fn of_holder(&self) -> lease::RevocableLease {
        lease::RevocableLease::of([self.holder.clone()])
    }

    /// Waits until nothing more may be sent to the caller. Expiry ends only the responses: running
    /// calls have limits of their own.
    pub(crate) async fn wait_for_end(self, now: SystemTime) -> RevokedError {
        let left = self.until.map(|until| until.duration_since(now).unwrap_or(Duration::ZERO));
        let over = async {
            match left {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            why = self.terms.wait() => why,
            () = over => RevokedError::because("the key, token or login has expired"),
        }
    }
}
