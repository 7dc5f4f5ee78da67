//! A server that somebody tries, written down before it is started.

use tollgate_core::turn::Principal;

use super::Gate;
use crate::audit::{Act, Decision, Unwritten};
use crate::settings::{OnFailure, Server};
use crate::upstream::{self, Trial};

/// Why a server was not tried.
#[derive(Debug, thiserror::Error)]
pub enum NotTried {
    #[error("other servers are being tried; wait until one of them is done")]
    Full,
    /// And nothing is done that is not.
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
}

impl Gate {
    /// Starts a server aside, to see whether it works. What was started, and by whom, is in the
    /// audit trail before it is.
    pub async fn try_out(&self, server: Server, by: &Principal) -> Result<Trial, NotTried> {
        let seat = self.trials.seat().ok_or(NotTried::Full)?;
        let (what, on_failure) = {
            let current = self.registry.current();
            let masker = &current.charter.masker;
            let what = upstream::described(&server, masker);
            let masked = masker.text(&what);
            (masked.unwrap_or(what), current.charter.audit.on_failure)
        };
        let row = Decision::new(Act::Server, by, "tried").server(&server.id).because(&what);
        match (self.ledger().note(row).await, on_failure) {
            (Err(unwritten), OnFailure::Refuse) => return Err(unwritten.into()),
            (Err(error), _) => {
                tracing::warn!(%error, "a trial of a server is not in the audit trail")
            }
            (Ok(()), _) => {}
        }
        Ok(self.trials.begin(server, seat))
    }
}
