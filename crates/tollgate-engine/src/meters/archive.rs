//! Persistence of measurements. A failing store costs only what it would have kept: the error is
//! logged once, and saving is retried.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tollgate_core::id::ToolId;
use tollgate_store::measurements::{Measurement, UnsavedMeasurement};
use tollgate_store::{Error, Store};

use super::meter::ToolMeter;

/// Tools that were not called for this long are deleted.
const MEASUREMENT_RETENTION: Duration = Duration::from_secs(180 * 24 * 3_600);

pub(crate) struct MeterArchive {
    store: Arc<Store>,
    environment: String,
    /// Why the last attempt failed. Locked while saving: concurrent saves would count calls twice.
    trouble: Mutex<Option<Error>>,
    /// When the last call of all was measured, if there was one at the start.
    newest: Mutex<Option<SystemTime>>,
}

impl MeterArchive {
    pub(crate) fn new(store: Arc<Store>, environment: String) -> Self {
        Self { store, environment, trouble: Mutex::default(), newest: Mutex::default() }
    }

    /// Unreadable measurements are dropped.
    pub(super) fn load(&self) -> HashMap<ToolId, Measurement> {
        let loaded = match self.store.measurements().load(&self.environment) {
            Ok(loaded) => loaded,
            Err(error) => {
                let remedy = error.remedy();
                tracing::warn!(%error, remedy, "cannot read the saved latency measurements; \
                                                starting without them");
                return HashMap::new();
            }
        };
        if loaded.unreadable > 0 {
            let rows = loaded.unreadable;
            tracing::warn!(
                rows,
                "some saved latency measurements are invalid; their tools start without them"
            );
        }
        *self.newest.lock() = loaded.measurements.iter().map(|it| it.updated_at).max();
        loaded.measurements.into_iter().map(|it| (it.tool.clone(), it)).collect()
    }

    /// Relative to the last measured call: a clock that jumped ahead must not delete everything.
    pub(super) fn forget_old(&self, wall: SystemTime) {
        let Some(newest) = *self.newest.lock() else { return };
        let Some(before) = newest.min(wall).checked_sub(MEASUREMENT_RETENTION) else { return };
        match self.store.measurements().forget(before) {
            Ok(0) => {}
            Ok(tools) => {
                tracing::info!(tools, "removed latency measurements older than half a year")
            }
            // Saving reports the same error.
            Err(error) => tracing::debug!(%error, "cannot remove old latency measurements"),
        }
    }

    pub(super) fn save(
        &self,
        meters: &HashMap<ToolId, Arc<ToolMeter>>,
        now: Instant,
        wall: SystemTime,
    ) -> Result<(), Error> {
        let mut trouble = self.trouble.lock();
        let changed = meters.values().filter_map(|it| Some((it, it.unsaved_changes(now, wall)?)));
        let (owners, unsaved): (Vec<_>, Vec<UnsavedMeasurement>) =
            changed.map(|(meter, (recorded, unsaved))| ((meter, recorded), unsaved)).unzip();
        if unsaved.is_empty() {
            return Ok(());
        }
        let saved = self.store.measurements().save(&self.environment, &unsaved);
        tell(&mut trouble, saved.as_ref().err());
        for (((meter, recorded), unsaved), revision) in owners.into_iter().zip(&unsaved).zip(saved?)
        {
            meter.mark_saved(recorded, unsaved, revision);
        }
        Ok(())
    }
}

fn tell(trouble: &mut Option<Error>, now: Option<&Error>) {
    match (save_notice(trouble.as_ref(), now), now) {
        (SaveNotice::Fails, Some(error)) => {
            let remedy = error.remedy();
            tracing::warn!(%error, remedy, "cannot save latency measurements; they are kept in \
                                            memory");
        }
        (SaveNotice::WorksAgain, _) => tracing::info!("latency measurements are saved again"),
        (SaveNotice::Fails | SaveNotice::Nothing, _) => {}
    }
    *trouble = now.cloned();
}

/// What to log after an attempt, given the one before: each failure only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaveNotice {
    Nothing,
    Fails,
    WorksAgain,
}

pub(super) fn save_notice(before: Option<&Error>, now: Option<&Error>) -> SaveNotice {
    match (before, now) {
        (before, now) if before == now => SaveNotice::Nothing,
        (_, Some(_)) => SaveNotice::Fails,
        (_, None) => SaveNotice::WorksAgain,
    }
}
