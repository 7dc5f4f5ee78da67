//! Saves usage in the background. A failing store costs nothing but memory: what could not be saved
//! is tried again.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tollgate_core::model_usage::UsageDay;
use tollgate_mcp::tasks::{self, Task};
use tollgate_store::model_usage::UsageRow;
use tollgate_store::{Error, Store};

use super::ModelUsageMeter;

/// Usage that a crash may lose.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
/// After a failure.
const RETRY: Duration = Duration::from_secs(10);
/// Older days are deleted: a year and the month in which it is billed.
const RETENTION_DAYS: u32 = 400;

/// Saves until it is dropped; then saves the rest.
pub(crate) struct ModelUsageArchive {
    meter: Arc<ModelUsageMeter>,
    _save: Option<Task>,
}

impl ModelUsageMeter {
    pub(crate) fn start_saving(self: &Arc<Self>) -> ModelUsageArchive {
        let save = self.store.clone().map(|store| {
            let meter = Arc::clone(self);
            tasks::spawn("model usage", async move { meter.keep_saving(store).await })
        });
        ModelUsageArchive { meter: Arc::clone(self), _save: save }
    }

    async fn keep_saving(self: &Arc<Self>, store: Arc<Store>) {
        let oldest = UsageDay::of(self.clock.wall()).days_before(RETENTION_DAYS);
        let forgotten = tokio::task::spawn_blocking(move || store.model_usage().forget(oldest));
        if let Ok(Err(error)) = forgotten.await {
            // Saving reports the same error.
            tracing::debug!(%error, "cannot remove old model usage");
        }
        let trouble = Arc::new(Mutex::new(None));
        loop {
            self.changed.notified().await;
            tokio::time::sleep(SAVE_INTERVAL).await;
            loop {
                let meter = Arc::clone(self);
                let saved = tokio::task::spawn_blocking(move || meter.save()).await;
                // The panic hook has already reported a panic.
                let error = saved.unwrap_or(Ok(())).err();
                report(&mut trouble.lock(), error.as_ref());
                if error.is_none() {
                    break;
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// Saves all that is not saved yet. May block.
    pub(crate) fn save(&self) -> Result<(), Error> {
        let Some(store) = &self.store else { return Ok(()) };
        let _saving = self.saving.lock();
        let rows = self.state.lock().take_unsaved();
        if rows.is_empty() {
            return Ok(());
        }
        let saved = store.model_usage().add_rows(&rows);
        if saved.is_err() {
            self.state.lock().put_back(rows);
        }
        saved
    }
}

impl Drop for ModelUsageArchive {
    fn drop(&mut self) {
        report(&mut None, self.meter.save().err().as_ref());
    }
}

/// Each failure only once.
fn report(trouble: &mut Option<Error>, now: Option<&Error>) {
    match now {
        Some(error) if trouble.as_ref() != Some(error) => {
            let remedy = error.remedy();
            tracing::warn!(%error, remedy, "cannot save the usage of models; it is kept in memory");
        }
        None if trouble.is_some() => tracing::info!("the usage of models is saved again"),
        Some(_) | None => {}
    }
    *trouble = now.cloned();
}

/// Nothing, if it cannot be read: then limits by day begin anew.
pub(super) fn load_day(store: Option<&Store>, day: UsageDay) -> Vec<UsageRow> {
    let loaded = store.map(|store| store.model_usage().load(day, day));
    loaded.transpose().map(Option::unwrap_or_default).unwrap_or_else(|error| {
        let remedy = error.remedy();
        tracing::warn!(%error, remedy, "cannot read today's usage of models; limits by day begin anew");
        Vec::new()
    })
}
