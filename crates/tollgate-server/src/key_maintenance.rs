//! Background maintenance of keys: detects keys that another process created or revoked and keys
//! that expired, closes the sessions of callers that lost access, and stores when keys were last
//! used.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tollgate_engine::audit::{AuditAction, Decision};

use crate::app_state::AppState;
use crate::auth::keyring::KeyringError;

/// A revocation by another process acts within a second: this interval, and the time to stop
/// running work.
const KEY_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// In polls: once a minute.
const KEEP_EVERY: u64 = 300;

/// Runs until it is dropped.
pub(crate) async fn tend(front: Arc<AppState>) {
    let mut looks = tokio::time::interval(KEY_POLL_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = None;
    let mut is_failing = false;
    for look in 1_u64.. {
        looks.tick().await;
        front.keys.expire();
        close_sessions(&front);
        if front.keys.keyring.is_none() {
            continue;
        }
        let looked = blocking(&front, move |front| {
            let Some(keyring) = &front.keys.keyring else { return Ok(seen) };
            let version = Some(keyring.version()?);
            if version != seen {
                front.keys.refresh()?;
            }
            if look % KEEP_EVERY == 0 {
                front.keys.keep_use()?;
            }
            Ok(version)
        });
        match looked.await {
            Ok(version) => (seen, is_failing) = (version, false),
            // Logged once: known keys stay valid.
            Err(error) if !is_failing => {
                tracing::warn!(%error, "cannot watch for changes of keys");
                is_failing = true;
            }
            Err(_) => {}
        }
    }
}

/// Their calls and streams have ended already.
fn close_sessions(front: &AppState) {
    for (principal, why) in front.sessions.close_revoked() {
        let row = Decision::new(AuditAction::Revocation, &principal, "revoked");
        front.gate.ledger().note_later(row.about("MCP session").because(why.as_str()));
    }
}

pub(crate) async fn keep_use(front: &Arc<AppState>) {
    if let Err(error) = blocking(front, |front| front.keys.keep_use()).await {
        tracing::warn!(%error, "cannot save when keys were last used");
    }
}

async fn blocking<T: Send + 'static>(
    front: &Arc<AppState>,
    work: impl FnOnce(&AppState) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, KeyringError> {
    let front = Arc::clone(front);
    match tokio::task::spawn_blocking(move || work(&front)).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
