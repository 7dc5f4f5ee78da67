//! Token bucket per address for wrong keys. A token is charged only after a key proved to be wrong,
//! and decides only the response to it. A valid key never needs a token.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use http::StatusCode;
use parking_lot::Mutex;
use tollgate_core::rate::{RateLimit, TokenBucket};

use super::AddressGroup;
use crate::api_error::ApiError;
use crate::limits::Limits;

/// Addresses with a bucket of their own. A bucket is dropped once it is full again. It then equals
/// a new one, so eviction never gives anybody extra tokens.
const MAX_ADDRESSES: usize = 4096;
/// Minimum interval between sweeps for full buckets, however many new addresses come.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);
/// Error code of the response when the bucket is empty.
pub(super) const TOO_MANY: &str = "too_many_wrong_keys";

/// The kind of credential that was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credential {
    /// A key or a token in a header.
    Key,
    /// A key that a person typed.
    Login,
}

pub(crate) struct WrongKeyThrottle {
    keys: RateLimit,
    logins: RateLimit,
    table: Mutex<BucketTable>,
}

#[derive(Default)]
struct BucketTable {
    buckets: HashMap<AddressGroup, AddressBuckets>,
    /// Shared by clients with an unknown address and by those that come when the table is full.
    others: Option<AddressBuckets>,
    swept: Option<Instant>,
}

struct AddressBuckets {
    keys: TokenBucket,
    logins: TokenBucket,
}

impl AddressBuckets {
    fn new(now: Instant) -> Self {
        Self { keys: TokenBucket::new(now), logins: TokenBucket::new(now) }
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.keys.is_idle(now) && self.logins.is_idle(now)
    }
}

impl WrongKeyThrottle {
    pub(crate) fn new(limits: &Limits) -> Self {
        let Limits { wrong_keys, wrong_logins, .. } = *limits;
        Self { keys: wrong_keys, logins: wrong_logins, table: Mutex::default() }
    }

    /// Takes a token for a wrong key. `Err`: the bucket is empty for this long.
    pub(crate) fn charge(
        &self,
        credential: Credential,
        address: Option<IpAddr>,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut table = self.table.lock();
        let buckets = table.buckets_of(address, now);
        let taken = match credential {
            Credential::Key => buckets.keys.take(self.keys, now),
            Credential::Login => buckets.logins.take(self.logins, now),
        };
        taken.map(drop)
    }
}

impl BucketTable {
    fn buckets_of(&mut self, address: Option<IpAddr>, now: Instant) -> &AddressBuckets {
        let group = address.map(AddressGroup::of);
        if let Some(group) = group.filter(|group| !self.buckets.contains_key(group))
            && self.has_room(now)
        {
            self.buckets.insert(group, AddressBuckets::new(now));
        }
        let own = group.and_then(|group| self.buckets.get(&group));
        own.unwrap_or_else(|| self.others.get_or_insert_with(|| AddressBuckets::new(now)))
    }

    fn has_room(&mut self, now: Instant) -> bool {
        let is_due = self.swept.is_none_or(|at| now.saturating_duration_since(at) >= SWEEP_PAUSE);
        if self.buckets.len() >= MAX_ADDRESSES && is_due {
            self.swept = Some(now);
            self.buckets.retain(|_, buckets| !buckets.is_idle(now));
        }
        self.buckets.len() < MAX_ADDRESSES
    }
}

/// The response to a wrong key when the bucket is empty.
pub(crate) fn too_many(wait: Duration) -> ApiError {
    let detail = "too many wrong keys were sent from this address; a valid key is still accepted";
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_wrong_keys", detail).later(wait)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    fn now() -> Instant {
        Instant::now()
    }

    fn throttle() -> WrongKeyThrottle {
        WrongKeyThrottle::new(&Limits::default())
    }

    fn is_throttled(throttle: &WrongKeyThrottle, address: &str, now: Instant) -> bool {
        throttle.charge(Credential::Key, address.parse().ok(), now).is_err()
    }

    #[test]
    fn each_address_has_its_own_tokens_and_gets_them_back() {
        let throttle = throttle();
        let now = now();
        let most = Limits::default().wrong_keys.calls;
        assert!((0..most).all(|_| !is_throttled(&throttle, "192.0.2.1", now)));
        assert!(is_throttled(&throttle, "192.0.2.1", now));
        assert!(!is_throttled(&throttle, "192.0.2.2", now));
        assert!(!is_throttled(&throttle, "192.0.2.1", now + Duration::from_secs(60)));
        assert!(throttle.charge(Credential::Login, "192.0.2.1".parse().ok(), now).is_ok());
    }

    #[test]
    fn a_network_of_ipv6_shares_its_tokens() {
        let throttle = throttle();
        let now = now();
        let most = Limits::default().wrong_keys.calls;
        let charge = |host: u32| {
            let address = Ipv6Addr::from_bits(0x2001_0db8_u128 << 96 | u128::from(host));
            throttle.charge(Credential::Key, Some(address.into()), now)
        };
        assert_eq!((0..1_000).filter(|host| charge(*host).is_ok()).count(), most as usize);
    }

    #[test]
    fn many_addresses_neither_fill_the_memory_nor_give_tokens_back() {
        let throttle = throttle();
        let now = now();
        let most = Limits::default().wrong_keys.calls;
        assert!((0..most).all(|_| !is_throttled(&throttle, "192.0.2.1", now)));
        for network in 0..100_000_u128 {
            let address = Ipv6Addr::from_bits(0x2001_0db8_u128 << 96 | network << 64);
            let _ = throttle.charge(Credential::Key, Some(address.into()), now);
        }
        assert_eq!(throttle.table.lock().buckets.len(), MAX_ADDRESSES);
        assert!(is_throttled(&throttle, "192.0.2.1", now), "its bucket is as empty as before");
        // Those without a bucket of their own share one.
        assert!(is_throttled(&throttle, "198.51.100.9", now));
        let later = now + Duration::from_secs(120);
        assert!(!is_throttled(&throttle, "198.51.100.9", later));
        assert_eq!(throttle.table.lock().buckets.len(), 1, "those that are full again are gone");
    }
}
