//! How often something may be done.

use std::time::Duration;

/// So many calls in so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub calls: u32,
    pub per: Duration,
}
