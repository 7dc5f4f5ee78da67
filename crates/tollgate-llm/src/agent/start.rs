//! Starts a prepared completion, which ends when its caller loses access.

use tollgate_engine::revocations::until_revoked;

use super::prepare::PreparedCompletion;
use super::run::CompletionRun;
use super::{CompletionOutcome, CompletionSink};
use crate::error::{LlmError, LlmErrorKind};

impl PreparedCompletion {
    /// Runs the completion. With a `voice`, the answer is also streamed to it. Dropping the future
    /// cancels all work of the completion.
    pub async fn run(self, voice: Option<CompletionSink>) -> Result<CompletionOutcome, LlmError> {
        let lease = self.lease.clone();
        let run =
            until_revoked(&lease, Box::pin(CompletionRun::new(self, voice).run_to_end())).await;
        run.unwrap_or_else(|why| {
            Err(LlmError::new(
                LlmErrorKind::Unauthenticated,
                format!("stopped, access revoked: {why}"),
            ))
        })
    }
}
