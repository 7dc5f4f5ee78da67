//! Changes of the config as the audit trail keeps them.

use std::path::Path;

use tollgate_core::id::ServerId;
use tollgate_core::turn::Principal;
use tollgate_engine::audit::{Act, Decision};
use tollgate_server::operator::{Change, Outcome, Switch};

/// What was done to the file, by name.
pub(super) struct Done {
    act: Act,
    word: &'static str,
    server: Option<String>,
}

pub(super) fn act(change: &Change) -> Done {
    let (act, word, server) = match change {
        Change::Text(_) => (Act::Reload, "edited", None),
        Change::Add { name, .. } => (Act::Server, "added", Some(name)),
        Change::Replace { name, .. } => (Act::Server, "edited", Some(name)),
        Change::Remove { name } => (Act::Server, "removed", Some(name)),
        Change::Switch { name, to: Switch::On } => (Act::Server, "enabled", Some(name)),
        Change::Switch { name, to: Switch::Off } => (Act::Server, "disabled", Some(name)),
    };
    Done { act, word, server: server.cloned() }
}

impl Done {
    pub(super) fn by(self, principal: &str) -> Decision {
        let decision = Decision::new(self.act, &Principal::named(principal), self.word);
        let server = self.server.and_then(|name| ServerId::parse(&name).ok());
        match server {
            Some(server) => decision.server(&server),
            None => decision,
        }
    }
}

/// How a reading of the file came out; nothing where nothing was new.
pub(super) fn reload(by: &str, file: &Path, result: &Outcome) -> Option<Decision> {
    let (word, why) = match result {
        Outcome::Applied(_) => ("applied", None),
        Outcome::Refused(why) => ("refused", Some(why)),
        Outcome::Unchanged => return None,
    };
    let name = file.display().to_string();
    let decision = Decision::new(Act::Reload, &Principal::named(by), word).about(&name);
    Some(match why {
        Some(why) => decision.because(why),
        None => decision,
    })
}
