//! Session registry of legacy MCP clients.
//!
//! Sessions are limited per key and per address. A client at its limit evicts its own oldest idle
//! session, so it cannot lock out others by opening sessions.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use tollgate_core::lease::RevokedError;
use tollgate_core::turn::Principal;
use tollgate_engine::clock::Clock;

use super::{McpSession, McpSessionParams};
use crate::limits::Limits;
use crate::request_context::RequestContext;

/// All sessions of a server.
pub(crate) struct McpSessionRegistry {
    entries: RwLock<McpSessionTable>,
    limits: McpSessionLimits,
    idle: Duration,
    clock: Arc<dyn Clock>,
    since: Instant,
}

struct McpSessionLimits {
    all: usize,
    per_key: usize,
    per_address: usize,
}

/// Sessions of one owner. Lookups never see sessions of others.
type OwnedSessions = HashMap<Arc<str>, Arc<McpSession>>;

#[derive(Default)]
struct McpSessionTable {
    by_principal: HashMap<Principal, OwnedSessions>,
    by_address: HashMap<IpAddr, usize>,
    count: usize,
}

/// The limit is reached and no session is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SessionLimitError {
    #[error("this key has {0} sessions, all of them in use; end one, or try again later")]
    PerKey(usize),
    #[error("this address has {0} sessions, all of them in use; end one, or try again later")]
    PerAddress(usize),
    #[error("there are too many sessions, all of them in use; try again later")]
    Total,
}

impl McpSessionRegistry {
    pub(crate) fn new(clock: Arc<dyn Clock>, limits: &Limits) -> Self {
        let since = clock.now();
        let counts = McpSessionLimits {
            all: limits.sessions,
            per_key: limits.sessions_per_key,
            per_address: limits.sessions_per_address,
        };
        let idle = limits.session_idle;
        Self { entries: RwLock::default(), limits: counts, idle, clock, since }
    }

    pub(crate) fn open(
        &self,
        opening: McpSessionParams,
    ) -> Result<Arc<McpSession>, SessionLimitError> {
        let session = Arc::new(McpSession::new(opening));
        session.last_used.store(self.now(), Ordering::Relaxed);
        // Evicted sessions are dropped after the lock is released, because their watches end with
        // them.
        let mut evicted = Vec::new();
        let mut entries = self.entries.write();
        self.make_room(&mut entries, &session.who, &mut evicted)?;
        entries.insert(Arc::clone(&session));
        drop(entries);
        Ok(session)
    }

    /// Evicts an idle session of the principal or address at its limit. At the total limit it
    /// evicts from the principal with the most sessions.
    fn make_room(
        &self,
        entries: &mut McpSessionTable,
        who: &RequestContext,
        evicted: &mut Vec<Arc<McpSession>>,
    ) -> Result<(), SessionLimitError> {
        let McpSessionLimits { all, per_key, per_address } = self.limits;
        if entries.of_principal(&who.principal) >= per_key {
            let oldest = entries.oldest_idle(Some(&who.principal), |_| true);
            evicted.push(entries.remove(oldest).ok_or(SessionLimitError::PerKey(per_key))?);
        }
        if let Some(address) = who.address
            && entries.by_address.get(&address).is_some_and(|count| *count >= per_address)
        {
            let oldest = entries.oldest_idle(None, |session| session.who.address == Some(address));
            evicted.push(entries.remove(oldest).ok_or(SessionLimitError::PerAddress(per_address))?);
        }
        if entries.count >= all {
            let principals = entries.by_principal.iter();
            let greediest = principals.max_by_key(|(_, owned)| owned.len());
            let greediest = greediest.map(|(principal, _)| principal.clone());
            let oldest = entries
                .oldest_idle(greediest.as_ref(), |_| true)
                .or_else(|| entries.oldest_idle(None, |_| true));
            evicted.push(entries.remove(oldest).ok_or(SessionLimitError::Total)?);
        }
        Ok(())
    }

    /// Says the same of a session that is another's and of one that never was.
    pub(crate) fn find(&self, id: &str, who: &RequestContext) -> Option<Arc<McpSession>> {
        let session = self.entries.read().by_principal.get(&who.principal)?.get(id).cloned()?;
        if session.route != who.agent || self.is_over(&session, 2) {
            return None;
        }
        session.last_used.store(self.now(), Ordering::Relaxed);
        Some(session)
    }

    pub(crate) fn close(&self, session: &Arc<McpSession>) {
        // Its watches end with it, outside of the lock.
        let closed = self.entries.write().remove(Some(Arc::clone(session)));
        if let Some(closed) = closed {
            closed.cancel_all();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.entries.read().count
    }

    /// Removes sessions that were idle for too long.
    pub(crate) fn sweep(&self) {
        self.forget(|session| self.is_over(session, 1));
    }

    /// Ends sessions whose lease was revoked, with all that runs in them.
    pub(crate) fn close_revoked(&self) -> Vec<(Principal, RevokedError)> {
        let entries = self.entries.read();
        let owned = entries.by_principal.values().flat_map(HashMap::values);
        let over: Vec<_> = owned.filter(|it| it.lease.revocation().is_some()).cloned().collect();
        drop(entries);
        over.iter().for_each(|session| self.close(session));
        let render = |session: Arc<McpSession>| {
            Some((session.who.principal.clone(), session.lease.revocation()?.clone()))
        };
        over.into_iter().filter_map(render).collect()
    }

    /// Removes all idle sessions under memory pressure.
    pub(crate) fn shed(&self) {
        self.forget(is_idle);
    }

    fn forget(&self, is_over: impl Fn(&Arc<McpSession>) -> bool) {
        let mut entries = self.entries.write();
        let owned = entries.by_principal.values().flat_map(HashMap::values);
        let over: Vec<_> = owned.filter(|session| is_over(session)).cloned().collect();
        for session in &over {
            entries.remove(Some(Arc::clone(session)));
        }
        drop(entries);
    }

    /// Idle for too long, with no references beside `lookers`: a running call or an open stream
    /// holds its session. Or its lease was revoked.
    fn is_over(&self, session: &Arc<McpSession>, lookers: usize) -> bool {
        if session.lease.revocation().is_some() {
            return true;
        }
        let last = session.last_used.load(Ordering::Relaxed);
        let idle = Duration::from_millis(self.now().saturating_sub(last));
        idle > self.idle && Arc::strong_count(session) <= lookers
    }

    fn now(&self) -> u64 {
        let span = self.clock.now().saturating_duration_since(self.since);
        u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
    }
}

/// No references beside the table: a call or a stream holds its session.
fn is_idle(session: &Arc<McpSession>) -> bool {
    Arc::strong_count(session) == 1
}

impl McpSessionTable {
    fn of_principal(&self, principal: &Principal) -> usize {
        self.by_principal.get(principal).map_or(0, HashMap::len)
    }

    /// The oldest idle session of one principal, or of all.
    fn oldest_idle(
        &self,
        principal: Option<&Principal>,
        is_meant: impl Fn(&McpSession) -> bool,
    ) -> Option<Arc<McpSession>> {
        let all = self.by_principal.iter();
        let owned = all.filter(|(owner, _)| principal.is_none_or(|only| *owner == only));
        let sessions = owned.flat_map(|(_, owned)| owned.values());
        let idle = sessions.filter(|session| is_idle(session) && is_meant(session));
        idle.min_by_key(|session| session.last_used.load(Ordering::Relaxed)).cloned()
    }

    fn insert(&mut self, session: Arc<McpSession>) {
        if let Some(address) = session.who.address {
            *self.by_address.entry(address).or_default() += 1;
        }
        self.count += 1;
        let owned = self.by_principal.entry(session.who.principal.clone()).or_default();
        owned.insert(Arc::clone(&session.id), session);
    }

    fn remove(&mut self, session: Option<Arc<McpSession>>) -> Option<Arc<McpSession>> {
        let session = session?;
        let principal = &session.who.principal;
        let owned = self.by_principal.get_mut(principal)?;
        let removed = owned.remove(&session.id)?;
        if owned.is_empty() {
            self.by_principal.remove(principal);
        }
        self.count -= 1;
        if let Some(address) = session.who.address
            && let Some(count) = self.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use tollgate_engine::clock::SystemClock;

    use super::super::tests::{opening, who};
    use super::{McpSession, McpSessionRegistry, SessionLimitError};
    use crate::limits::Limits;
    use crate::request_context::RequestContext;

    fn registry(limits: &Limits) -> McpSessionRegistry {
        McpSessionRegistry::new(Arc::new(SystemClock), limits)
    }

    fn from(last: u8, who: RequestContext) -> RequestContext {
        RequestContext { address: Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))), ..who }
    }

    async fn later() {
        tokio::time::advance(std::time::Duration::from_millis(10)).await;
    }

    fn id_of(session: &Arc<McpSession>) -> Arc<str> {
        Arc::clone(&session.id)
    }

    #[tokio::test(start_paused = true)]
    async fn s_13_a_key_at_its_limit_loses_its_own_oldest_idle_session() {
        let sessions = registry(&Limits { sessions_per_key: 3, ..Limits::default() });
        let ada = who("ada", None);
        let bob = who("bob", None);
        let of_bob = id_of(&sessions.open(opening(bob.clone())).unwrap());
        let held = sessions.open(opening(ada.clone())).unwrap();
        let mut mine = Vec::new();
        for _ in 0..5 {
            later().await;
            mine.push(id_of(&sessions.open(opening(ada.clone())).unwrap()));
        }
        let is_there = |id: &str| sessions.find(id, &ada).is_some();
        let there: Vec<_> = mine.iter().map(|id| is_there(id)).collect();
        assert_eq!(there, [false, false, false, true, true]);
        assert!(is_there(&held.id), "something runs in it");
        assert!(sessions.find(&of_bob, &bob).is_some(), "another key has no part in it");
        assert_eq!(sessions.count(), 4);
    }

    #[tokio::test]
    async fn s_13_a_key_whose_sessions_are_all_in_use_gets_no_more() {
        let sessions = registry(&Limits { sessions_per_key: 2, ..Limits::default() });
        let open = |name: &str| sessions.open(opening(who(name, None)));
        let held = [open("ada").unwrap(), open("ada").unwrap()];
        assert_eq!(open("ada").err(), Some(SessionLimitError::PerKey(2)));
        assert!(open("bob").is_ok());
        drop(held);
        assert!(open("ada").is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn s_13_an_address_with_many_keys_is_one_address() {
        let sessions = registry(&Limits { sessions_per_address: 4, ..Limits::default() });
        let honest = from(1, who("honest", None));
        let stored = id_of(&sessions.open(opening(honest.clone())).unwrap());
        for number in 0..20 {
            later().await;
            sessions.open(opening(from(2, who(&format!("key {number}"), None)))).unwrap();
        }
        assert_eq!(sessions.count(), 5);
        assert!(sessions.find(&stored, &honest).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn s_13_with_no_room_at_all_whoever_has_most_makes_some() {
        let limits = Limits { sessions: 6, ..Limits::default() };
        let sessions = registry(&limits);
        let honest = who("honest", None);
        let stored = id_of(&sessions.open(opening(honest.clone())).unwrap());
        for _ in 0..50 {
            later().await;
            sessions.open(opening(who("greedy", None))).unwrap();
        }
        assert_eq!(sessions.count(), 6);
        assert!(sessions.find(&stored, &honest).is_some());
        assert!(sessions.open(opening(who("new", None))).is_ok(), "nobody is locked out");
    }

    #[tokio::test]
    async fn what_is_closed_is_counted_no_more() {
        let sessions = registry(&Limits { sessions_per_address: 1, ..Limits::default() });
        let ada = from(1, who("ada", None));
        for _ in 0..3 {
            let session = sessions.open(opening(ada.clone())).unwrap();
            sessions.close(&session);
            sessions.close(&session);
        }
        assert_eq!(sessions.count(), 0);
        assert!(sessions.entries.read().by_address.is_empty());
        assert!(sessions.entries.read().by_principal.is_empty());
    }
}
