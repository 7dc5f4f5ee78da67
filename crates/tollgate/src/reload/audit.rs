//! Audit rows for config changes.

use std::path::Path;

use tollgate_core::id::ServerId;
use tollgate_core::turn::Principal;
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_server::config_service::{ConfigChange, ReloadOutcome, ServerSwitch};

/// An action on the file, by name.
pub(super) struct ConfigAuditEntry {
    act: AuditAction,
    word: &'static str,
    server: Option<String>,
}

pub(super) fn act(change: &ConfigChange) -> ConfigAuditEntry {
    let (act, word, server) = match change {
        ConfigChange::Text(_) => (AuditAction::Reload, "edited", None),
        ConfigChange::Add { name, .. } => (AuditAction::Server, "added", Some(name)),
        ConfigChange::Replace { name, .. } => (AuditAction::Server, "edited", Some(name)),
        ConfigChange::Remove { name } => (AuditAction::Server, "removed", Some(name)),
        ConfigChange::Switch { name, to: ServerSwitch::On } => {
            (AuditAction::Server, "enabled", Some(name))
        }
        ConfigChange::Switch { name, to: ServerSwitch::Off } => {
            (AuditAction::Server, "disabled", Some(name))
        }
    };
    ConfigAuditEntry { act, word, server: server.cloned() }
}

impl ConfigAuditEntry {
    pub(super) fn by(self, principal: &str) -> Decision {
        let decision = Decision::new(self.act, &Principal::from_name(principal), self.word);
        let server = self.server.and_then(|name| ServerId::parse(&name).ok());
        match server {
            Some(server) => decision.server(&server),
            None => decision,
        }
    }
}

/// Result of a reload. `None` if nothing changed.
pub(super) fn reload(by: &str, file: &Path, result: &ReloadOutcome) -> Option<Decision> {
    let (word, why) = match result {
        ReloadOutcome::Applied(_) => ("applied", None),
        ReloadOutcome::Refused(why) => ("refused", Some(why)),
        ReloadOutcome::Unchanged => return None,
    };
    let name = file.display().to_string();
    let decision = Decision::new(AuditAction::Reload, &Principal::from_name(by), word).about(&name);
    Some(match why {
        Some(why) => decision.because(why),
        None => decision,
    })
}
