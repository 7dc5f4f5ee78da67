//! A server that somebody tries, written down before it is started.

use tollgate_core::turn::Principal;

use super::Gate;
use crate::audit::{AuditAction, AuditWriteError, Decision};
use crate::settings::{OnAuditFailure, Server};
use crate::upstream::{self, ServerTrial};

/// Why a server was not tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("other servers are being tested; wait until one of them is done")]
    Full,
    /// And nothing is done that is not.
    #[error(transparent)]
    Unwritten(#[from] AuditWriteError),
}

impl Gate {
    /// Starts a server aside, to see whether it works. What was started, and by whom, is in the
    /// audit trail before it is.
    pub async fn try_out(&self, server: Server, by: &Principal) -> Result<ServerTrial, TrialError> {
        let permit = self.trials.try_acquire().ok_or(TrialError::Full)?;
        let (what, on_failure) = {
            let current = self.registry.current();
            let masker = &current.calls.masker;
            let what = upstream::describe_target(&server, masker);
            let masked = masker.text(&what);
            (masked.unwrap_or(what), current.calls.audit.on_failure)
        };
        let row = Decision::new(AuditAction::Server, by, "tried").server(&server.id).because(&what);
        match (self.ledger().note(row).await, on_failure) {
            (Err(unwritten), OnAuditFailure::Refuse) => return Err(unwritten.into()),
            (Err(error), _) => {
                tracing::warn!(%error, "cannot write a server test to the audit trail")
            }
            (Ok(()), _) => {}
        }
        Ok(self.trials.begin(server, permit))
    }
}
