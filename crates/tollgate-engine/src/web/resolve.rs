//! DNS resolution with the system's resolver.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

/// A lookup blocks a thread until the system's timeout, even if its caller is gone.
const MAX_CONCURRENT_LOOKUPS: usize = 32;

/// A trait, so that tests can change the addresses of a name.
#[async_trait]
pub(crate) trait Resolve: Send + Sync {
    /// All addresses of a name; empty if it does not exist.
    async fn addresses(&self, name: &str) -> Vec<IpAddr>;
}

pub(crate) struct SystemResolver {
    threads: Arc<Semaphore>,
}

impl SystemResolver {
    pub(crate) fn new() -> Self {
        Self { threads: Arc::new(Semaphore::new(MAX_CONCURRENT_LOOKUPS)) }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn addresses(&self, name: &str) -> Vec<IpAddr> {
        let Ok(thread) = Arc::clone(&self.threads).acquire_owned().await else {
            return Vec::new();
        };
        let name = name.to_owned();
        let looked_up = tokio::task::spawn_blocking(move || {
            // Released when the lookup ends, not when its caller gives up.
            let _thread = thread;
            let found = (name.as_str(), 0).to_socket_addrs();
            found.map(|found| found.map(|it| it.ip()).collect()).unwrap_or_default()
        });
        looked_up.await.unwrap_or_default()
    }
}
