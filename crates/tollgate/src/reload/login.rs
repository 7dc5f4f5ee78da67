//! OAuth login to a server while the gateway runs: the requester gets the link at once, and this
//! task completes the login.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tollgate_core::turn::Principal;
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_engine::gate::Gate;
use tollgate_engine::settings::Server;
use tollgate_server::config_service::ConfigServiceError;
use tollgate_store::Store;
use tracing::{info, warn};

use crate::oauth_consent::OauthConsent;

/// The link, or why there is none.
pub(super) type LoginLinkSender = oneshot::Sender<Result<String, ConfigServiceError>>;

/// A login in progress.
pub(super) struct LoginTask {
    pub(super) server: Server,
    pub(super) by: String,
    pub(super) store: Arc<Store>,
    pub(super) gate: Arc<Gate>,
}

impl LoginTask {
    /// Waits for the consent, with a timeout.
    pub(super) async fn run(self, reply: LoginLinkSender) {
        let reply = Arc::new(Mutex::new(Some(reply)));
        let outcome = match OauthConsent::to(&self.server) {
            Ok(consent) => {
                let shown = Arc::clone(&reply);
                let show = move |url: String| answer(&shown, Ok(url));
                consent.ask(Arc::clone(&self.store), Box::new(show)).await
            }
            Err(why) => {
                answer(&reply, Err(ConfigServiceError::NoLogin(why.to_string())));
                return;
            }
        };
        let id = &self.server.id;
        let word = if outcome.is_ok() { "logged in" } else { "refused" };
        let decision =
            Decision::new(AuditAction::Login, &Principal::from_name(&self.by), word).server(id);
        let decision = match &outcome {
            Ok(()) => decision,
            Err(why) => decision.because(&why.to_string()),
        };
        if let Err(error) = self.gate.ledger().note(decision).await {
            warn!(%error, server = %id, "cannot write a login to the audit trail");
        }
        match outcome {
            Ok(()) => {
                info!(server = %id, by = self.by, "logged in");
                // A server that waits for a login is retried at long intervals only.
                if let Some(upstream) = self.gate.upstream(id.as_str()) {
                    upstream.restart().await;
                }
            }
            Err(why) => {
                warn!(server = %id, by = self.by, %why, "not logged in");
                answer(&reply, Err(ConfigServiceError::NotLoggedIn(why.to_string())));
            }
        }
    }
}

/// Sends once: later the requester has the link already, or is gone.
fn answer(reply: &Mutex<Option<LoginLinkSender>>, text: Result<String, ConfigServiceError>) {
    if let Some(reply) = reply.lock().take() {
        let _ = reply.send(text);
    }
}
