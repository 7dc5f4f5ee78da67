//! File watcher. It watches the directory, not the file: editors replace the file, and mounted
//! configs swap a symlink beside it. It only signals when to check.

use std::path::{Path, PathBuf};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tracing::debug;

pub(super) struct ConfigWatcher {
    /// Capacity one is enough: it only signals that there is something to check.
    changes: mpsc::Receiver<()>,
    /// Watches while it is held. `None` where watching is not supported.
    _watcher: Option<RecommendedWatcher>,
    /// Keeps `heard` open.
    _changes_sender: mpsc::Sender<()>,
}

impl ConfigWatcher {
    pub(super) fn start(file: &Path) -> Self {
        let (tell, changes) = mpsc::channel(1);
        let watcher = watcher(file, tell.clone());
        let watcher = watcher.inspect_err(|error| {
            debug!(%error, "cannot watch the config file; polling it every two seconds");
        });
        Self { changes, _watcher: watcher.ok(), _changes_sender: tell }
    }

    /// Cancel-safe.
    pub(super) async fn wait_for_change(&mut self) {
        if self.changes.recv().await.is_none() {
            std::future::pending().await
        }
    }

    /// Clears the pending signal before a check.
    pub(super) fn forget(&mut self) {
        while self.changes.try_recv().is_ok() {}
    }
}

fn watcher(file: &Path, tell: mpsc::Sender<()>) -> notify::Result<RecommendedWatcher> {
    let name = file.file_name().unwrap_or_default().to_owned();
    let concerns = move |path: &PathBuf| {
        let changed = path.file_name().unwrap_or_default();
        // `..data` is the symlink that Kubernetes swaps.
        changed == name || changed.to_string_lossy().starts_with("..")
    };
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let looks = match event {
            Ok(event) if event.kind.is_access() => false,
            Ok(event) => event.paths.is_empty() || event.paths.iter().any(&concerns),
            // Events were lost.
            Err(_) => true,
        };
        if looks {
            // A pending signal means the same.
            let _ = tell.try_send(());
        }
    })?;
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    watcher.watch(folder, RecursiveMode::NonRecursive)?;
    // A symlink: its target is elsewhere, and may be replaced there.
    if let Ok(target) = file.canonicalize()
        && let (Some(there), Ok(here)) = (target.parent(), folder.canonicalize())
        && there != here
    {
        let _ = watcher.watch(there, RecursiveMode::NonRecursive);
    }
    Ok(watcher)
}
