//! How one server is run and heard: when it starts, how many calls it gets, and in which form its
//! results go on.

use std::time::Duration;

/// How many calls a server gets at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencySettings {
    pub concurrent: usize,
    /// Calls that wait for one of those to end; more are refused.
    pub queue: usize,
}

impl Default for ConcurrencySettings {
    fn default() -> Self {
        Self { concurrent: 64, queue: 128 }
    }
}

/// When those tools of a server are measured that may be probed.
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
    /// On first use; until then its tools are those of the last listing, if there was one.
    Lazy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartSettings {
    pub policy: RestartPolicy,
    /// Within a minute; more, and the server is `failed` and only tried once a minute.
    pub max_restarts: u32,
    /// The first pause; it doubles up to 30 s.
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
