//! How long somebody who was let in may stay: as long as the secret, its key and the login hold,
//! and until they run out.

use std::time::{Duration, SystemTime};

use tollgate_core::lease::{self, LeaseTerm, RevokedError};

#[derive(Debug, Clone)]
pub(crate) struct CallerLease {
    /// All that can be taken away.
    terms: lease::RevocableLease,
    /// Ended when what was presented lets nobody in any more.
    presented: LeaseTerm,
    /// Ended when whoever holds it lost something that they had.
    holder: LeaseTerm,
    until: Option<SystemTime>,
}

impl CallerLease {
    /// For whoever needs no key that could be taken away.
    pub(crate) fn endless() -> Self {
        Self::of(&LeaseTerm::new(), None)
    }

    /// One way in of a holder. Ends with the holder, or alone.
    pub(super) fn of(holder: &LeaseTerm, until: Option<SystemTime>) -> Self {
        let presented = LeaseTerm::new();
        let terms = lease::RevocableLease::of([presented.clone(), holder.clone()]);
        Self { terms, presented, holder: holder.clone(), until }
    }

    /// The same way in, for another time. What came in before goes by that, too.
    pub(super) fn lasting(&self, until: Option<SystemTime>) -> Self {
        Self { until, ..self.clone() }
    }

    /// The same, but no longer than a login.
    pub(super) fn within(&self, login: &LeaseTerm, until: SystemTime) -> Self {
        Self {
            terms: self.terms.and(login),
            until: Some(self.until.map_or(until, |own| own.min(until))),
            ..self.clone()
        }
    }

    pub(super) fn end(&self, why: RevokedError) {
        self.presented.end(why);
    }

    pub(super) fn until(&self) -> Option<SystemTime> {
        self.until
    }

    pub(super) fn is_of(&self, holder: &LeaseTerm) -> bool {
        self.holder.is_same(holder)
    }

    /// For all that is done with what was presented.
    pub(crate) fn terms(&self) -> &lease::RevocableLease {
        &self.terms
    }

    /// For what belongs to the holder, by whichever secret they come.
    pub(crate) fn of_holder(&self) -> lease::RevocableLease {
        lease::RevocableLease::of([self.holder.clone()])
    }

    /// Waits until nothing more may be said to whoever was let in. One whose time runs out is not
    /// asked for its calls, which have limits of their own.
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
