//! All that a program can reach: one trait. Whoever runs a program implements it.

use async_trait::async_trait;

use crate::frames::{Answer, Call};

#[async_trait]
pub trait HostCalls: Send + Sync {
    /// Calls that do not wait for each other; one answer for each, in their order.
    async fn call(&self, calls: Vec<Call>) -> Vec<Answer>;
}
