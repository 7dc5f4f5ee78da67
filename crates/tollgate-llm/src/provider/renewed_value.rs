//! Renewed value: credentials that are fetched, cached, and renewed before they expire.
//!
//! Single flight: while they are fetched, the other requests wait for them, or use those that are
//! still valid.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tollgate_engine::clock::Clock;

/// A value is renewed this long before it expires, or in the last quarter of a shorter life.
const RENEWAL: Duration = Duration::from_secs(300);

pub(super) struct RenewedValue<T> {
    clock: Arc<dyn Clock>,
    cached: Mutex<Option<CachedValue<T>>>,
    /// Held while a value is fetched.
    flight: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct CachedValue<T> {
    value: T,
    renew_at: Instant,
    expires_at: Instant,
}

/// A fetched value, and how long it is valid.
pub(super) struct FetchedValue<T> {
    pub(super) value: T,
    pub(super) life: Duration,
}

impl<T: Clone> RenewedValue<T> {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, cached: Mutex::new(None), flight: tokio::sync::Mutex::new(()) }
    }

    /// The value for a request that is sent now. If it cannot be renewed, the old one is used as
    /// long as it is valid.
    pub(super) async fn get<E, F>(&self, fetch: impl FnOnce() -> F) -> Result<T, E>
    where
        F: Future<Output = Result<FetchedValue<T>, E>>,
    {
        let Some(valid) = self.valid() else {
            let _flight = self.flight.lock().await;
            // Another request may have fetched it meanwhile.
            return match self.valid() {
                Some(valid) => Ok(valid.value),
                None => self.store(fetch).await,
            };
        };
        if self.clock.now() < valid.renew_at {
            return Ok(valid.value);
        }
        let Ok(_flight) = self.flight.try_lock() else { return Ok(valid.value) };
        // One that just ended may have renewed it.
        match self.valid().filter(|cached| self.clock.now() < cached.renew_at) {
            Some(renewed) => Ok(renewed.value),
            None => Ok(self.store(fetch).await.unwrap_or(valid.value)),
        }
    }

    /// The provider did not accept this one: the next request gets another.
    pub(super) fn discard(&self, is_refused: impl Fn(&T) -> bool) {
        self.cached.lock().take_if(|cached| is_refused(&cached.value));
    }

    fn valid(&self) -> Option<CachedValue<T>> {
        let now = self.clock.now();
        self.cached.lock().clone().filter(|cached| now < cached.expires_at)
    }

    async fn store<E, F>(&self, fetch: impl FnOnce() -> F) -> Result<T, E>
    where
        F: Future<Output = Result<FetchedValue<T>, E>>,
    {
        let requested_at = self.clock.now();
        let FetchedValue { value, life } = fetch().await?;
        let renewal = RENEWAL.min(life / 4);
        let cached = CachedValue {
            value: value.clone(),
            renew_at: requested_at + (life - renewal),
            expires_at: requested_at + life,
        };
        *self.cached.lock() = Some(cached);
        Ok(value)
    }
}
