//! Settings of one server: when it starts, its concurrency, restarts, and the form of its results.

use std::time::Duration;

/// Concurrency limit of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencySettings {
    pub concurrent: usize,
    /// Calls that may be queued; further calls are refused.
    pub queue: usize,
}

impl Default for ConcurrencySettings {
    fn default() -> Self {
        Self { concurrent: 64, queue: 128 }
    }
}

/// When the probeable tools of a server are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerCalibration {
    /// When it comes up and while it is idle.
    ByItself,
    OnCommand,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerDesiredState {
    Enabled,
    Disabled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartMode {
    Eager,
    /// On first use; until then its tools come from the cached listing, if there is one.
    Lazy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartSettings {
    pub policy: RestartPolicy,
    /// Per minute; above that the server is `failed` and is retried only once a minute.
    pub max_restarts: u32,
    /// The first pause; doubles up to 30 s.
    pub backoff: Duration,
}

impl Default for RestartSettings {
    fn default() -> Self {
        Self { policy: RestartPolicy::Always, max_restarts: 5, backoff: Duration::from_secs(1) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartPolicy {
    Always,
    Never,
}
