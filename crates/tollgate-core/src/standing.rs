//! Which tier a tool belongs to, and why: from measured latency, else from what was declared.

use crate::budget::Tier;

/// Where a tool stands: the tier that it is in, and the reason in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    pub tier: Tier,
    pub reason: String,
}
