//! What the caller hears while something takes long: of a tool, or of a turn that another model
//! answers.

use std::sync::Arc;
use std::time::Duration;

/// The message during a slow call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowResponse {
    pub threshold: Duration,
    pub message: Arc<str>,
}
