//! Connection table with limits in total and per address. An idle connection is evicted for a new
//! one, so neither one address nor idle clients can exhaust the limit.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::access::AddressGroup;
use crate::pressure::ConnectionMemory;

/// Evicted connections that may still be closing, beside a quarter of the limit.
const MAX_CLOSING: usize = 64;
/// Resetting a connection that holds less would not help.
const WORTH_A_RESET: usize = 256 << 10;
/// State of an evicted connection.
const EVICTED_STATE: u32 = u32::MAX;

/// All connections of one kind.
pub(super) struct ConnectionTable {
    limit: usize,
    per_address: usize,
    entries: Mutex<ConnectionEntries>,
}

#[derive(Default)]
struct ConnectionEntries {
    /// In order of arrival.
    by_address: HashMap<AddressGroup, BTreeMap<u64, Arc<ConnectionActivity>>>,
    /// Number of entries in `by_address`.
    count: usize,
    /// Evicted, but not closed yet.
    closing: usize,
    next: u64,
}

/// Whether the limit per address applies to a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionOrigin {
    Client(IpAddr),
    /// A trusted proxy, or this machine, where one may run: it stands for many clients.
    Shared(IpAddr),
}

impl ConnectionOrigin {
    pub(super) fn address(self) -> IpAddr {
        match self {
            Self::Client(address) | Self::Shared(address) => address,
        }
    }
}

/// Every connection is busy, of this address or in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ConnectionLimitError {
    #[error("this address has reached its limit of connections")]
    PerAddress,
    #[error("the limit of connections is reached")]
    Total,
}

/// Activity of a connection: idle or serving.
#[derive(Default)]
pub(super) struct ConnectionActivity {
    /// Number of running requests and sessions, or [`EVICTED_STATE`].
    running: AtomicU32,
    /// It has sent a request before.
    had_request: AtomicBool,
    /// Output waits for a peer that does not read.
    sending: AtomicBool,
    evicted: Notify,
    /// It is closed by a TCP reset, which drops what the kernel buffers for the peer.
    is_reset: AtomicBool,
    memory: Arc<ConnectionMemory>,
}

impl ConnectionActivity {
    /// `None`: the connection was evicted before this request was read.
    pub(super) fn begin(self: &Arc<Self>) -> Option<ActivityGuard> {
        let order = Ordering::AcqRel;
        let one_more = |running: u32| (running != EVICTED_STATE).then(|| running + 1);
        self.running.fetch_update(order, Ordering::Acquire, one_more).ok()?;
        if !self.had_request.load(Ordering::Relaxed) {
            self.had_request.store(true, Ordering::Relaxed);
        }
        Some(ActivityGuard(Arc::clone(self)))
    }

    pub(super) fn set_sending(&self, sending: bool) {
        // Only written when a write stalls or continues.
        if self.sending.load(Ordering::Relaxed) != sending {
            self.sending.store(sending, Ordering::Relaxed);
        }
    }

    pub(super) fn memory(&self) -> &Arc<ConnectionMemory> {
        &self.memory
    }

    pub(super) fn is_reset(&self) -> bool {
        self.is_reset.load(Ordering::Acquire)
    }

    /// Ends the connection, even if it is busy.
    fn reset(&self) {
        self.is_reset.store(true, Ordering::Release);
        self.evicted.notify_one();
    }

    /// Returns when the connection is evicted or reset.
    pub(super) async fn wait_for_eviction(&self) {
        self.evicted.notified().await;
    }

    fn evict(&self) -> bool {
        let evicted = self
            .running
            .compare_exchange(0, EVICTED_STATE, Ordering::AcqRel, Ordering::Acquire)
            .is_ok();
        if evicted {
            self.evicted.notify_one();
        }
        evicted
    }
}

/// A request or a session on the connection, until it is dropped.
pub(super) struct ActivityGuard(Arc<ConnectionActivity>);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A connection in the table, removed when dropped.
pub(super) struct ConnectionPermit {
    table: Arc<ConnectionTable>,
    group: AddressGroup,
    number: u64,
    pub(super) activity: Arc<ConnectionActivity>,
}

impl ConnectionTable {
    pub(super) fn new(limit: usize, per_address: usize) -> Arc<Self> {
        Arc::new(Self { limit, per_address, entries: Mutex::default() })
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.entries.lock().count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.lock().count == 0
    }

    /// Admits a connection. At the limit, evicts the oldest idle one of the same address, or of the
    /// address with the most.
    pub(super) fn admit(
        self: &Arc<Self>,
        origin: ConnectionOrigin,
    ) -> Result<ConnectionPermit, ConnectionLimitError> {
        let group = AddressGroup::of(origin.address());
        let mut entries = self.entries.lock();
        let of_address = entries.by_address.get(&group).map_or(0, BTreeMap::len);
        if matches!(origin, ConnectionOrigin::Client(_)) && of_address >= self.per_address {
            entries.evict_from(group).ok_or(ConnectionLimitError::PerAddress)?;
        }
        if entries.count >= self.limit {
            entries.evict_any().ok_or(ConnectionLimitError::Total)?;
        }
        if entries.closing > self.limit / 4 + MAX_CLOSING {
            return Err(ConnectionLimitError::Total);
        }
        let number = entries.next;
        entries.next += 1;
        entries.count += 1;
        let activity = Arc::new(ConnectionActivity::default());
        entries.by_address.entry(group).or_default().insert(number, Arc::clone(&activity));
        Ok(ConnectionPermit { table: Arc::clone(self), group, number, activity })
    }

    /// Resets the connection that holds the most memory. `None` if none holds enough to matter.
    pub(super) fn reset_biggest(&self) -> Option<ResetConnection> {
        self.entries.lock().reset_biggest()
    }

    /// Evicts one idle connection. `false` if there is none.
    pub(super) fn evict(&self) -> bool {
        self.entries.lock().evict_any().is_some()
    }
}

/// A connection that was reset to free its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResetConnection {
    pub(super) address: AddressGroup,
    pub(super) bytes: usize,
}

impl ConnectionEntries {
    fn reset_biggest(&mut self) -> Option<ResetConnection> {
        let all = self.by_address.iter().flat_map(|(address, of)| {
            of.iter().map(|(number, activity)| (activity.memory.bytes(), *address, *number))
        });
        let (bytes, address, number) =
            all.filter(|(bytes, ..)| *bytes >= WORTH_A_RESET).max_by_key(|(bytes, ..)| *bytes)?;
        self.by_address.get(&address)?.get(&number)?.reset();
        self.remove(address, number);
        self.closing += 1;
        Some(ResetConnection { address, bytes })
    }

    fn evict_any(&mut self) -> Option<()> {
        let crowded = self.by_address.iter().max_by_key(|(_, of)| of.len())?;
        let crowded = *crowded.0;
        if self.evict_from(crowded).is_some() {
            return Some(());
        }
        let others: Vec<_> = self.by_address.keys().copied().collect();
        others.into_iter().find_map(|group| self.evict_from(group))
    }

    /// First connections that never sent a request: one that is used occasionally is evicted after
    /// those, even if it is older. Last those with output that the peer has not read.
    fn evict_from(&mut self, group: AddressGroup) -> Option<()> {
        let of = self.by_address.get_mut(&group)?;
        let is_silent =
            |activity: &ConnectionActivity| !activity.had_request.load(Ordering::Relaxed);
        let is_quiet = |activity: &ConnectionActivity| !activity.sending.load(Ordering::Relaxed);
        let is_unused = |activity: &ConnectionActivity| is_silent(activity) && is_quiet(activity);
        let idle = of.iter().find(|(_, activity)| is_unused(activity) && activity.evict());
        let idle = idle
            .or_else(|| of.iter().find(|(_, activity)| is_quiet(activity) && activity.evict()))
            .or_else(|| of.iter().find(|(_, activity)| activity.evict()));
        let number = *idle?.0;
        self.remove(group, number);
        self.closing += 1;
        Some(())
    }

    fn remove(&mut self, group: AddressGroup, number: u64) -> bool {
        let Some(of) = self.by_address.get_mut(&group) else { return false };
        let is_there = of.remove(&number).is_some();
        if of.is_empty() {
            self.by_address.remove(&group);
        }
        self.count -= usize::from(is_there);
        is_there
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut entries = self.table.entries.lock();
        if !entries.remove(self.group, self.number) {
            entries.closing -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use super::{
        AddressGroup, ConnectionLimitError, ConnectionOrigin, ConnectionPermit, ConnectionTable,
        ResetConnection,
    };

    fn client(last: u8) -> ConnectionOrigin {
        ConnectionOrigin::Client(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)))
    }

    fn is_evicted(connection: &ConnectionPermit) -> bool {
        connection.activity.begin().is_none()
    }

    fn admit(table: &Arc<ConnectionTable>, origin: ConnectionOrigin) -> ConnectionPermit {
        table.admit(origin).expect("there is room")
    }

    #[test]
    fn r_12_the_oldest_idle_connection_of_the_address_makes_room() {
        let table = ConnectionTable::new(10, 3);
        let other = admit(&table, client(1));
        let mine: Vec<_> = (0..3).map(|_| admit(&table, client(2))).collect();
        let busy = mine[0].activity.begin().unwrap();
        let _fourth = admit(&table, client(2));
        assert!(!is_evicted(&other), "another address has no part in it");
        assert!(!is_evicted(&mine[0]), "it answers somebody");
        assert!(is_evicted(&mine[1]) && !is_evicted(&mine[2]));
        assert_eq!(table.count(), 4);
        drop(busy);
    }

    #[test]
    fn r_12_an_address_whose_connections_are_all_busy_gets_no_more() {
        let table = ConnectionTable::new(10, 2);
        let mine: Vec<_> = (0..2).map(|_| admit(&table, client(1))).collect();
        let busy: Vec<_> = mine.iter().map(|one| one.activity.begin().unwrap()).collect();
        assert_eq!(table.admit(client(1)).err(), Some(ConnectionLimitError::PerAddress));
        let _other = admit(&table, client(2));
        let _proxy = admit(&table, ConnectionOrigin::Shared(client(1).address()));
        drop(busy);
    }

    #[test]
    fn r_12_at_the_limit_the_address_with_most_connections_makes_room() {
        let table = ConnectionTable::new(4, 4);
        let lone = admit(&table, client(1));
        let many: Vec<_> = (0..3).map(|_| admit(&table, client(2))).collect();
        let newcomer = admit(&table, client(3));
        assert!(!is_evicted(&lone) && !is_evicted(&newcomer));
        assert!(is_evicted(&many[0]) && !is_evicted(&many[1]));
        let busy: Vec<_> = [&lone, &many[1], &many[2], &newcomer]
            .into_iter()
            .map(|one| one.activity.begin().unwrap())
            .collect();
        assert_eq!(table.admit(client(4)).err(), Some(ConnectionLimitError::Total));
        drop(busy);
        let _now = admit(&table, client(4));
    }

    #[test]
    fn r_12_a_connection_that_is_used_outlives_silent_ones_of_its_address() {
        let table = ConnectionTable::new(3, 3);
        let used = admit(&table, client(1));
        drop(used.activity.begin().unwrap());
        let silent: Vec<_> = (0..2).map(|_| admit(&table, client(1))).collect();
        let _newcomer = admit(&table, client(1));
        assert!(is_evicted(&silent[0]) && !is_evicted(&silent[1]));
        assert!(!is_evicted(&used), "it is the oldest, and the only one that asked for anything");
    }

    #[test]
    fn r_12_a_client_that_takes_no_bytes_goes_after_those_that_wait_for_nothing() {
        let table = ConnectionTable::new(2, 2);
        let reading = admit(&table, client(1));
        reading.activity.set_sending(true);
        let silent = admit(&table, client(1));
        let third = admit(&table, client(1));
        assert!(is_evicted(&silent) && !is_evicted(&reading));
        drop(third);
    }

    #[test]
    fn r_11_the_connection_that_holds_most_is_reset_busy_or_not() {
        let table = ConnectionTable::new(10, 10);
        let all: Vec<_> = (1..=4).map(|last| admit(&table, client(last))).collect();
        let _busy = all[2].activity.begin().unwrap();
        all[0].activity.memory().reserve(1 << 20);
        all[1].activity.memory().set_unsent(100 << 10);
        all[2].activity.memory().reserve(1 << 20);
        all[2].activity.memory().set_unsent(2 << 20);
        let reset = |number: usize, bytes| {
            Some(ResetConnection {
                address: AddressGroup::of(client(number as u8 + 1).address()),
                bytes,
            })
        };
        assert_eq!(table.reset_biggest(), reset(2, 3 << 20));
        assert_eq!(table.reset_biggest(), reset(0, 1 << 20));
        assert_eq!(table.reset_biggest(), None, "the others hold next to nothing");
        let is_reset: Vec<_> = all.iter().map(|one| one.activity.is_reset()).collect();
        assert_eq!(is_reset, [true, false, true, false]);
        assert_eq!(table.count(), 2);
    }

    #[test]
    fn what_was_evicted_and_is_not_gone_still_counts() {
        let table = ConnectionTable::new(4, 4);
        let mut retained = Vec::new();
        let refused = (0..200).find_map(|_| match table.admit(client(1)) {
            Ok(admitted) => {
                retained.push(admitted);
                None
            }
            Err(error) => Some(error),
        });
        assert_eq!(refused, Some(ConnectionLimitError::Total), "nobody drops what was evicted");
        assert!(retained.len() <= 80, "{}", retained.len());
        retained.clear();
        assert_eq!(table.count(), 0);
        let _one = admit(&table, client(1));
    }

    #[test]
    fn one_ipv6_subscriber_is_one_address() {
        let table = ConnectionTable::new(10, 1);
        let from = |text: &str| ConnectionOrigin::Client(text.parse().unwrap());
        let first = admit(&table, from("2001:db8:1:1::1"));
        let _neighbour = admit(&table, from("2001:db8:1:2::1"));
        assert!(!is_evicted(&first));
        let _same = admit(&table, from("2001:db8:1:1:ffff::2"));
        assert!(is_evicted(&first));
        let mapped = admit(&table, from("::ffff:192.0.2.1"));
        let _plain = admit(&table, from("192.0.2.1"));
        assert!(is_evicted(&mapped));
    }
}
