//! Looks after the keys while the gateway serves: notices what another process made or revoked, and
//! keeps when keys were last used.

use std::sync::Arc;
use std::time::Duration;

use super::keyring::KeyringError;
use crate::mcp::Front;

/// Another process waits no longer for its change to count.
const LOOK: Duration = Duration::from_secs(1);
/// In looks.
const KEEP_EVERY: u64 = 60;

/// Goes on until it is dropped.
pub(crate) async fn tend(front: Arc<Front>) {
    if front.keys.keyring.is_none() {
        return;
    }
    let mut looks = tokio::time::interval(LOOK);
    let mut seen = None;
    let mut is_failing = false;
    for look in 1_u64.. {
        looks.tick().await;
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
            // Said once: those that are known go on letting in.
            Err(error) if !is_failing => {
                tracing::warn!(%error, "changes of keys are not noticed");
                is_failing = true;
            }
            Err(_) => {}
        }
    }
}

pub(crate) async fn keep_use(front: &Arc<Front>) {
    if let Err(error) = blocking(front, |front| front.keys.keep_use()).await {
        tracing::warn!(%error, "when keys were last used is not kept");
    }
}

async fn blocking<T: Send + 'static>(
    front: &Arc<Front>,
    work: impl FnOnce(&Front) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, KeyringError> {
    let front = Arc::clone(front);
    match tokio::task::spawn_blocking(move || work(&front)).await {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}
