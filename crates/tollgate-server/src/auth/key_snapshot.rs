//! Immutable snapshot of all keys, indexed by fingerprint. A change creates the next snapshot.
//! Leases that both have in common continue.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tollgate_core::lease::{LeaseTerm, RevokedError};

use super::{ApiKey, AuthenticatedCaller, CallerLease, Fingerprint};

#[derive(Debug)]
pub(super) struct KeySnapshot {
    holders: Vec<Arc<KeyHolder>>,
    ways: HashMap<u128, KeySecretEntry>,
    open: Option<AnonymousAccess>,
}

/// Access without a key, while no keys exist.
#[derive(Debug, Clone)]
struct AnonymousAccess {
    visitor: AuthenticatedCaller,
    term: LeaseTerm,
}

/// Who gets access while no keys exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeylessPolicy {
    ThisMachine,
    Nobody,
}

/// The holder of a key.
#[derive(Debug)]
pub(super) struct KeyHolder {
    key: ApiKey,
    visitor: AuthenticatedCaller,
    /// Ended when the key is revoked or loses permissions.
    term: LeaseTerm,
    /// Unix seconds. Zero: not used since the process started.
    used: AtomicU64,
}

/// One valid secret of a holder.
#[derive(Debug, Clone)]
pub(super) struct KeySecretEntry {
    fingerprint: Fingerprint,
    lease: CallerLease,
    holder: Arc<KeyHolder>,
}

impl KeySnapshot {
    /// No keys.
    pub(super) fn empty() -> Self {
        Self { holders: Vec::new(), ways: HashMap::new(), open: Some(AnonymousAccess::new()) }
    }

    /// The caller that needs no key.
    pub(super) fn passer_by(&self) -> Option<&AuthenticatedCaller> {
        self.open.as_ref().map(|open| &open.visitor)
    }

    pub(super) fn find(&self, fingerprint: &Fingerprint) -> Option<&KeySecretEntry> {
        self.ways.get(&fingerprint.place()).filter(|way| way.fingerprint.is(fingerprint))
    }

    /// The key that was presented for this lease. `None`: it is not that of a key alone.
    pub(super) fn presented_key(&self, lease: &CallerLease) -> Option<&Fingerprint> {
        let way = self.ways.values().find(|way| way.lease.is_same(lease))?;
        Some(&way.fingerprint)
    }

    /// The holder of the key for which this is true, if it is in force.
    pub(super) fn holder_of(
        &self,
        is_it: impl Fn(&Fingerprint) -> bool,
        now: SystemTime,
    ) -> Option<AuthenticatedCaller> {
        let way = self.ways.values().find(|way| is_it(&way.fingerprint))?;
        (!way.is_over(now)).then(|| way.holder.visitor.with_lease(&way.lease))
    }

    /// The holder of a key, without one of its secrets.
    pub(super) fn holder_named(&self, name: &str) -> Option<AuthenticatedCaller> {
        let holder = self.holders.iter().find(|holder| holder.key.name == name)?;
        Some(holder.visitor.clone())
    }

    /// The next snapshot. Leases that are not part of it end here.
    pub(super) fn followed_by(&self, keys: &[ApiKey], without_keys: KeylessPolicy) -> Self {
        let holders: Vec<Arc<KeyHolder>> = keys.iter().map(|key| self.holder(key)).collect();
        let mut ways = HashMap::with_capacity(holders.len());
        for (holder, key) in holders.iter().zip(keys) {
            let former = key.former.map(|former| (former.fingerprint, Some(former.until)));
            for (fingerprint, until) in former.into_iter().chain([(key.fingerprint, key.expires)]) {
                let until = [until, key.expires].into_iter().flatten().min();
                ways.insert(fingerprint.place(), self.way(fingerprint, until, holder));
            }
        }
        for before in &self.holders {
            if !holders.iter().any(|holder| holder.term.is_same(&before.term)) {
                let now = keys.iter().find(|key| key.is_same(&before.key));
                let less = now.and_then(|now| before.key.loses_by(now));
                let gone =
                    || RevokedError::because(format!("key `{}` was revoked", before.key.name));
                before.term.end(less.unwrap_or_else(gone));
            }
        }
        for before in self.ways.values() {
            let now = ways.get(&before.fingerprint.place());
            if now.is_none_or(|now| !now.continues(before)) {
                let KeyHolder { key, term, .. } = &*before.holder;
                let replaced = || format!("the secret of key `{}` was replaced", key.name);
                let why = term.revocation().cloned();
                before.lease.end(why.unwrap_or_else(|| RevokedError::because(replaced())));
            }
        }
        let open = match (&self.open, without_keys) {
            (before, KeylessPolicy::ThisMachine) if holders.is_empty() => {
                Some(before.clone().unwrap_or_else(AnonymousAccess::new))
            }
            (before, _) => {
                let why = || RevokedError::because("a key is required from now on");
                before.iter().for_each(|open| open.term.end(why()));
                None
            }
        };
        Self { holders, ways, open }
    }

    /// Ends the leases of credentials that have expired.
    pub(super) fn expire(&self, now: SystemTime) {
        for way in self.ways.values().filter(|way| way.is_over(now)) {
            let name = &way.holder.key.name;
            let why = if way.holder.key.fingerprint.is(&way.fingerprint) {
                format!("key `{name}` has expired")
            } else {
                format!("the former secret of key `{name}` has expired")
            };
            way.lease.end(RevokedError::because(why));
        }
    }

    /// Time of last use per holder, for those used since the process started.
    pub(super) fn last_uses(&self) -> HashMap<String, SystemTime> {
        let used = |holder: &Arc<KeyHolder>| {
            let seconds = holder.used.load(Ordering::Relaxed);
            let when = UNIX_EPOCH + Duration::from_secs(seconds);
            (seconds > 0).then(|| (holder.key.name.clone(), when))
        };
        self.holders.iter().filter_map(used).collect()
    }

    fn holder(&self, key: &ApiKey) -> Arc<KeyHolder> {
        let before = self.holders.iter().find(|holder| holder.key.is_same(key));
        match before {
            Some(before) if before.key == *key => Arc::clone(before),
            Some(before) if before.key.loses_by(key).is_none() => Arc::new(before.with_key(key)),
            Some(_) | None => Arc::new(KeyHolder::new(key)),
        }
    }

    fn way(
        &self,
        fingerprint: Fingerprint,
        until: Option<SystemTime>,
        holder: &Arc<KeyHolder>,
    ) -> KeySecretEntry {
        let holder = Arc::clone(holder);
        let lease = match self.find(&fingerprint) {
            Some(before) if before.lease.is_of(&holder.term) => before.lease.lasting(until),
            Some(_) | None => CallerLease::of(&holder.term, until),
        };
        KeySecretEntry { fingerprint, lease, holder }
    }
}

impl AnonymousAccess {
    fn new() -> Self {
        let term = LeaseTerm::new();
        Self { visitor: AuthenticatedCaller::passer_by(CallerLease::of(&term, None)), term }
    }
}

impl KeyHolder {
    fn new(key: &ApiKey) -> Self {
        Self::under(LeaseTerm::new(), key)
    }

    fn under(term: LeaseTerm, key: &ApiKey) -> Self {
        Self {
            visitor: AuthenticatedCaller::holding(key, CallerLease::of(&term, key.expires)),
            key: key.clone(),
            term,
            used: AtomicU64::new(0),
        }
    }

    /// The same holder with more permissions or another secret: its work continues.
    fn with_key(&self, key: &ApiKey) -> Self {
        let used = AtomicU64::new(self.used.load(Ordering::Relaxed));
        Self { used, ..Self::under(self.term.clone(), key) }
    }
}

impl KeySecretEntry {
    /// A former secret is valid until the end of its grace period, a key until it expires.
    pub(super) fn is_over(&self, now: SystemTime) -> bool {
        self.lease.until().is_some_and(|until| now >= until)
    }

    pub(super) fn visitor(&self, now: SystemTime) -> AuthenticatedCaller {
        let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.holder.used.store(seconds, Ordering::Relaxed);
        self.holder.visitor.with_lease(&self.lease)
    }

    fn continues(&self, other: &Self) -> bool {
        self.holder.term.is_same(&other.holder.term)
    }
}
