//! All keys at one moment, by their fingerprints. A change makes the next one of it; what both
//! have in common goes on.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;
use tollgate_core::turn::Principal;

use super::{Fingerprint, Key, Lease, Visitor};

#[derive(Debug)]
pub(super) struct Known {
    holders: Vec<Arc<Holder>>,
    ways: HashMap<u128, Way>,
    open: Option<Open>,
}

/// Whoever comes in without a key, while nobody was given one.
#[derive(Debug, Clone)]
struct Open {
    visitor: Visitor,
    lease: CancellationToken,
}

/// Who comes in where there are no keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithoutKeys {
    ThisMachine,
    Nobody,
}

/// Whoever a key was given to.
#[derive(Debug)]
pub(super) struct Holder {
    key: Key,
    visitor: Visitor,
    lease: CancellationToken,
    /// Seconds since 1970; zero: not since the process began.
    used: AtomicU64,
}

/// One secret that lets a holder in.
#[derive(Debug, Clone)]
pub(super) struct Way {
    fingerprint: Fingerprint,
    lease: Lease,
    holder: Arc<Holder>,
}

impl Known {
    /// Nobody was given a key.
    pub(super) fn nobody() -> Self {
        Self { holders: Vec::new(), ways: HashMap::new(), open: Some(Open::new()) }
    }

    /// Whoever needs no key.
    pub(super) fn passer_by(&self) -> Option<&Visitor> {
        self.open.as_ref().map(|open| &open.visitor)
    }

    pub(super) fn find(&self, fingerprint: &Fingerprint) -> Option<&Way> {
        self.ways.get(&fingerprint.place()).filter(|way| way.fingerprint.is(fingerprint))
    }

    /// The next one. What is not in it any more ends here.
    pub(super) fn followed_by(&self, keys: &[Key], without_keys: WithoutKeys) -> Self {
        let holders: Vec<Arc<Holder>> = keys.iter().map(|key| self.holder(key)).collect();
        let mut ways = HashMap::with_capacity(holders.len());
        for (holder, key) in holders.iter().zip(keys) {
            let former = key.former.map(|former| (former.fingerprint, Some(former.until)));
            for (fingerprint, until) in former.into_iter().chain([(key.fingerprint, key.expires)]) {
                let until = [until, key.expires].into_iter().flatten().min();
                ways.insert(fingerprint.place(), self.way((fingerprint, until), holder));
            }
        }
        let gone =
            |way: &&Way| ways.get(&way.fingerprint.place()).is_none_or(|it| !it.continues(way));
        self.ways.values().filter(gone).for_each(|way| way.lease.end());
        let lost = |it: &&Arc<Holder>| !holders.iter().any(|holder| Arc::ptr_eq(holder, it));
        self.holders.iter().filter(lost).for_each(|holder| holder.lease.cancel());
        let open = match (&self.open, without_keys) {
            (before, WithoutKeys::ThisMachine) if holders.is_empty() => {
                Some(before.clone().unwrap_or_else(Open::new))
            }
            (before, _) => {
                before.iter().for_each(|open| open.lease.cancel());
                None
            }
        };
        Self { holders, ways, open }
    }

    /// When each holder last came in, if they did since the process began.
    pub(super) fn used(&self) -> HashMap<String, SystemTime> {
        let used = |holder: &Arc<Holder>| {
            let seconds = holder.used.load(Ordering::Relaxed);
            let when = UNIX_EPOCH + Duration::from_secs(seconds);
            (seconds > 0).then(|| (holder.key.name.clone(), when))
        };
        self.holders.iter().filter_map(used).collect()
    }

    fn holder(&self, key: &Key) -> Arc<Holder> {
        let same = self.holders.iter().find(|holder| holder.key.is_for_the_same(key));
        same.cloned().unwrap_or_else(|| Arc::new(Holder::new(key)))
    }

    fn way(
        &self,
        (fingerprint, until): (Fingerprint, Option<SystemTime>),
        holder: &Arc<Holder>,
    ) -> Way {
        let lease = Lease::of(&holder.lease, until);
        let new = Way { fingerprint, lease, holder: Arc::clone(holder) };
        match self.find(&fingerprint) {
            Some(before) if before.continues(&new) => before.clone(),
            Some(_) | None => new,
        }
    }
}

impl Open {
    fn new() -> Self {
        let lease = CancellationToken::new();
        Self { visitor: Visitor::passer_by(Lease::of(&lease, None)), lease }
    }
}

impl Holder {
    fn new(key: &Key) -> Self {
        let lease = CancellationToken::new();
        Self {
            visitor: Visitor::holding(key, Lease::of(&lease, key.expires)),
            key: key.clone(),
            lease,
            used: AtomicU64::new(0),
        }
    }
}

impl Way {
    /// A former secret lets in until its time is over; so does a key that expires.
    pub(super) fn is_over(&self, now: SystemTime) -> bool {
        self.lease.until().is_some_and(|until| now >= until)
    }

    pub(super) fn visitor(&self, now: SystemTime) -> Visitor {
        let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.holder.used.store(seconds, Ordering::Relaxed);
        self.holder.visitor.with_lease(&self.lease)
    }

    fn continues(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.holder, &other.holder) && self.lease.until() == other.lease.until()
    }
}

pub(super) fn principal(name: &str) -> Principal {
    Principal::named(&format!("key:{name}"))
}
