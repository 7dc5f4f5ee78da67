//! What all servers of a gateway share.

use std::path::PathBuf;
use std::sync::Arc;

use tollgate_store::Store;

use super::UpstreamUpdateSender;
use crate::clock::Clock;
use crate::confine::Launcher;
use crate::notices::Notices;

/// Given to each server when it starts.
#[derive(Clone)]
pub struct UpstreamContext {
    pub clock: Arc<dyn Clock>,
    pub updates: UpstreamUpdateSender,
    /// Directory of persistent state.
    pub data: PathBuf,
    /// The launcher of child processes.
    pub launcher: Option<Launcher>,
    /// The store of logins.
    pub store: Option<Arc<Store>>,
    /// Receives notices of state changes.
    pub notices: Notices,
}
