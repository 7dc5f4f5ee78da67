//! Senders that have not proven who they are yet: logins and webhooks whose body is being read, streams
//! that are still to bring a token. If there are too many, the oldest of the address with the most gives
//! way: real ones need a moment only, so a stranger who waits cannot keep them out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::access::AddressGroup;
use crate::api_error::ApiError;

#[derive(Debug)]
pub(crate) struct UnprovenSenders {
    most: usize,
    waiting: Mutex<WaitingSenders>,
}

#[derive(Debug, Default)]
struct WaitingSenders {
    /// Oldest first.
    senders: Vec<UnprovenSender>,
    next_number: u64,
}

#[derive(Debug)]
struct UnprovenSender {
    number: u64,
    /// `None`: the address is unknown.
    from: Option<AddressGroup>,
    evicted: CancellationToken,
}

/// The place of one sender, free again when dropped.
#[derive(Debug)]
pub(crate) struct UnprovenPlace {
    senders: Arc<UnprovenSenders>,
    number: u64,
    evicted: CancellationToken,
}

impl UnprovenSenders {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, waiting: Mutex::default() })
    }

    /// A place for one more sender.
    pub(crate) fn enter(self: &Arc<Self>, from: Option<IpAddr>) -> UnprovenPlace {
        let mut waiting = self.waiting.lock();
        if waiting.senders.len() >= self.most {
            waiting.evict_one();
        }
        let number = waiting.next_number;
        waiting.next_number += 1;
        let evicted = CancellationToken::new();
        let from = from.map(AddressGroup::of);
        waiting.senders.push(UnprovenSender { number, from, evicted: evicted.clone() });
        UnprovenPlace { senders: Arc::clone(self), number, evicted }
    }

    /// Holds a place while a body is read.
    pub(crate) async fn read(
        self: &Arc<Self>,
        from: Option<IpAddr>,
        reading: impl Future<Output = Result<Bytes, ApiError>>,
    ) -> Result<Bytes, ApiError> {
        let place = self.enter(from);
        place.hold(reading).await.unwrap_or(Err(TOO_MANY_AT_ONCE))
    }
}

impl WaitingSenders {
    fn evict_one(&mut self) {
        let mut counts: HashMap<Option<AddressGroup>, usize> = HashMap::new();
        for sender in &self.senders {
            *counts.entry(sender.from).or_default() += 1;
        }
        let most = counts.values().max().copied();
        let oldest = self.senders.iter().position(|it| counts.get(&it.from).copied() == most);
        if let Some(at) = oldest {
            self.senders.remove(at).evicted.cancel();
        }
    }
}

impl UnprovenPlace {
    /// `None`: it had to give way before the work was done.
    pub(crate) async fn hold<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.evicted.cancelled() => None,
        }
    }
}

impl Drop for UnprovenPlace {
    fn drop(&mut self) {
        self.senders.waiting.lock().senders.retain(|it| it.number != self.number);
    }
}

const TOO_MANY_AT_ONCE: ApiError = ApiError::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "too_busy",
    "too many requests without a key arrive at once; send it again",
)
.later(Duration::from_secs(1));

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn enter(senders: &Arc<UnprovenSenders>, address: &str) -> UnprovenPlace {
        senders.enter(Some(address.parse().unwrap()))
    }

    fn has_given_way(place: &UnprovenPlace) -> bool {
        place.hold(std::future::pending::<()>()).now_or_never().is_some()
    }

    #[test]
    fn the_oldest_of_the_address_with_the_most_gives_way() {
        let senders = UnprovenSenders::new(4);
        let real = enter(&senders, "192.0.2.1");
        let slow: Vec<UnprovenPlace> = (0..3).map(|_| enter(&senders, "198.51.100.7")).collect();
        let other = enter(&senders, "192.0.2.1");
        assert!(has_given_way(&slow[0]));
        assert!([&slow[1], &slow[2], &real, &other].iter().all(|it| !has_given_way(it)));
        drop(slow);
        assert_eq!(senders.waiting.lock().senders.len(), 2);
        assert_eq!(real.hold(async { 5 }).now_or_never(), Some(Some(5)));
    }
}
