//! A change of the servers, as the command line, the wizard or the registry request it.

use tollgate_core::secret::Secret;
use tollgate_server::config_service::{ApplyMode, ConfigChange};

/// A change and the messages for it.
pub(super) struct RequestedServerChange {
    pub(super) change: ConfigChange,
    pub(super) mode: ApplyMode,
    /// Variables that the new text refers to, with their values.
    pub(super) given: Vec<(String, Secret)>,
}
