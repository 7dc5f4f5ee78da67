//! Revocation: leases of permissions that can be revoked while a request runs.
//!
//! A request holds a [`RevocableLease`], which is valid as long as all its [`LeaseTerm`]s are (a
//! key, one of its secrets, a login, an agent, a tool of that agent). Ending a term reaches
//! everything that runs under it. A term ends once, with a reason, and is never restored. Waiting
//! needs no async runtime.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

/// Why a lease was revoked: one sentence that names the revoked permission, such as "key `ada` was
/// revoked".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RevokedError(Arc<str>);

impl RevokedError {
    pub fn because(reason: impl Into<Arc<str>>) -> Self {
        Self(reason.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One permission that can be revoked. Clones share their state.
#[derive(Clone, Default)]
pub struct LeaseTerm(Arc<LeaseTermState>);

#[derive(Default)]
struct LeaseTermState {
    revoked: OnceLock<RevokedError>,
    waiting: Mutex<LeaseWakers>,
}

#[derive(Default)]
struct LeaseWakers {
    next: u64,
    wakers: HashMap<u64, Waker>,
}

impl LeaseTerm {
    pub fn new() -> Self {
        Self::default()
    }

    /// A term that is revoked from the start.
    pub fn ended_by(why: RevokedError) -> Self {
        let term = Self::new();
        term.end(why);
        term
    }

    /// Revokes it for all holders. The first reason is kept.
    pub fn end(&self, why: RevokedError) {
        // Set before waking: woken tasks read the reason.
        let _ = self.0.revoked.set(why);
        let woken = std::mem::take(&mut self.0.waiting.lock().wakers);
        woken.into_values().for_each(Waker::wake);
    }

    /// `None` while it is valid.
    pub fn revocation(&self) -> Option<&RevokedError> {
        self.0.revoked.get()
    }

    /// Whether there is another holder.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// `None`: it was revoked meanwhile.
    fn register(&self, place: Option<u64>, waker: &Waker) -> Option<u64> {
        let mut waiting = self.0.waiting.lock();
        if self.revocation().is_some() {
            return None;
        }
        let place = place.unwrap_or_else(|| {
            waiting.next += 1;
            waiting.next
        });
        waiting.wakers.insert(place, waker.clone());
        Some(place)
    }

    fn forget(&self, place: u64) {
        self.0.waiting.lock().wakers.remove(&place);
    }
}

impl fmt::Debug for LeaseTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Term").field(&self.0.revoked.get()).finish()
    }
}

/// A permission to act, valid as long as all its terms are.
#[derive(Debug, Clone, Default)]
pub struct RevocableLease(Option<Arc<[LeaseTerm]>>);

impl RevocableLease {
    /// A lease that cannot be revoked: for the gateway itself, and its owner at the terminal.
    pub fn endless() -> Self {
        Self(None)
    }

    pub fn of(terms: impl IntoIterator<Item = LeaseTerm>) -> Self {
        Self(Some(terms.into_iter().collect()))
    }

    /// A copy with one more term.
    #[must_use]
    pub fn and(&self, term: &LeaseTerm) -> Self {
        Self::of(self.terms().iter().chain([term]).cloned())
    }

    fn terms(&self) -> &[LeaseTerm] {
        self.0.as_deref().unwrap_or_default()
    }

    /// `None` while it is valid.
    pub fn revocation(&self) -> Option<&RevokedError> {
        self.terms().iter().find_map(LeaseTerm::revocation)
    }

    /// Waits for revocation. Cancel-safe.
    pub fn wait(&self) -> Wait {
        Wait { lease: self.clone(), places: Vec::new() }
    }
}

/// Future that completes when a lease is revoked.
#[derive(Debug)]
pub struct Wait {
    lease: RevocableLease,
    /// The waker's slot in each term; empty until the first poll.
    places: Vec<u64>,
}

impl Future for Wait {
    type Output = RevokedError;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RevokedError> {
        let Self { lease, places } = &mut *self;
        for (at, term) in lease.terms().iter().enumerate() {
            match term.register(places.get(at).copied(), context.waker()) {
                Some(place) if at == places.len() => places.push(place),
                Some(_) => {}
                None => break,
            }
        }
        match lease.revocation() {
            Some(why) => Poll::Ready(why.clone()),
            None => Poll::Pending,
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        for (term, place) in self.lease.terms().iter().zip(&self.places) {
            term.forget(*place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use super::{LeaseTerm, RevocableLease, RevokedError};

    #[derive(Default)]
    struct WakeCounter(AtomicUsize);

    impl Wake for WakeCounter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn woken() -> (Arc<WakeCounter>, Waker) {
        let woken = Arc::new(WakeCounter::default());
        (Arc::clone(&woken), Waker::from(woken))
    }

    fn poll(wait: &mut super::Wait, waker: &Waker) -> Poll<RevokedError> {
        std::pin::Pin::new(wait).poll(&mut Context::from_waker(waker))
    }

    #[test]
    fn any_term_ends_a_lease_and_the_first_reason_stays() {
        let key = LeaseTerm::new();
        let agent = LeaseTerm::new();
        let lease = RevocableLease::of([key.clone()]).and(&agent);
        assert_eq!(lease.revocation(), None);
        agent.end(RevokedError::because("the agent is gone"));
        agent.end(RevokedError::because("again"));
        assert_eq!(lease.revocation().unwrap().as_str(), "the agent is gone");
        assert_eq!(key.revocation(), None, "what both were under goes on");
    }

    #[test]
    fn whoever_waits_is_woken_once_and_leaves_nothing_behind() {
        let key = LeaseTerm::new();
        let agent = LeaseTerm::new();
        let lease = RevocableLease::of([key.clone(), agent.clone()]);
        let (count, waker) = woken();
        let mut wait = lease.wait();
        assert!(poll(&mut wait, &waker).is_pending());
        assert!(poll(&mut wait, &waker).is_pending(), "polled twice, registered once");
        assert_eq!(key.0.waiting.lock().wakers.len(), 1);
        key.end(RevokedError::because("gone"));
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(&mut wait, &waker), Poll::Ready(RevokedError::because("gone")));
        drop(wait);
        assert!(agent.0.waiting.lock().wakers.is_empty());
        let mut late = lease.wait();
        assert!(poll(&mut late, &waker).is_ready(), "one that comes late does not wait");
    }

    #[test]
    fn nobody_ends_what_is_endless() {
        let (_, waker) = woken();
        assert!(poll(&mut RevocableLease::endless().wait(), &waker).is_pending());
        assert_eq!(RevocableLease::endless().revocation(), None);
    }

    #[test]
    fn no_wake_up_is_lost_to_a_race() {
        for _ in 0..2_000 {
            let term = LeaseTerm::new();
            let mut wait = RevocableLease::of([term.clone()]).wait();
            let (count, waker) = woken();
            let ending = std::thread::spawn(move || term.end(RevokedError::because("gone")));
            let first = poll(&mut wait, &waker);
            ending.join().unwrap();
            assert!(first.is_ready() || count.0.load(Ordering::SeqCst) == 1);
        }
    }
}
