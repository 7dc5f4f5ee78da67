//! Concurrency limit of probes. One at a time per server: probes that wait for each other would
//! measure the queue, not the tool. Also limits the total.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tollgate_core::id::ServerId;

/// Concurrent probes at all servers.
pub(crate) const MAX_PROBES: usize = 16;

pub(crate) struct ProbeLimiter {
    all: Arc<Semaphore>,
    servers: Mutex<HashMap<ServerId, Arc<Semaphore>>>,
}

/// Permit to probe one server, until dropped.
pub(crate) struct ProbePermit {
    _server: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Default for ProbeLimiter {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(MAX_PROBES)), servers: Mutex::default() }
    }
}

impl ProbeLimiter {
    /// Acquires the server first, so that no global permit is held while waiting.
    pub(crate) async fn acquire(&self, server: &ServerId) -> ProbePermit {
        let one = || Arc::new(Semaphore::new(1));
        let own = Arc::clone(self.servers.lock().entry(server.clone()).or_insert_with(one));
        let server = own.acquire_owned().await.expect("it is never closed");
        let all = Arc::clone(&self.all).acquire_owned().await.expect("it is never closed");
        ProbePermit { _server: server, _all: all }
    }
}
