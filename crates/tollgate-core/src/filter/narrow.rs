//! What one request leaves of what it could see, in its own words.

use super::{Stop, Subject};
use crate::glob::Glob;

/// Can only take away: whatever it includes has passed every level before.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Narrow {
    /// `None`: all of them. Empty: none.
    pub include_servers: Option<Vec<Glob>>,
    pub exclude_servers: Vec<Glob>,
    pub include_tools: Option<Vec<Glob>>,
    pub exclude_tools: Vec<Glob>,
}

impl Narrow {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn stop(&self, subject: Subject<'_>) -> Option<Stop<'_>> {
        let server = |glob: &&Glob| glob.matches(subject.server.as_str());
        let tool = |glob: &&Glob| names(glob, subject);
        if let Some(glob) = self.exclude_servers.iter().find(server) {
            return Some(Stop::Excluded(glob));
        }
        if let Some(glob) = self.exclude_tools.iter().find(tool) {
            return Some(Stop::Excluded(glob));
        }
        let servers = self.include_servers.as_ref();
        let tools = self.include_tools.as_ref();
        let is_in = servers.is_none_or(|globs| globs.iter().any(|glob| server(&glob)))
            && tools.is_none_or(|globs| globs.iter().any(|glob| tool(&glob)));
        (!is_in).then_some(Stop::NotIncluded)
    }
}

/// By the exposed name, or as `server/tool` or `server-tool`, as other gateways spell it.
fn names(glob: &Glob, subject: Subject<'_>) -> bool {
    if glob.matches(subject.exposed.as_str()) {
        return true;
    }
    let Some(own) = subject.own else { return false };
    ['/', '-'].iter().any(|sign| glob.matches(&format!("{}{sign}{own}", subject.server)))
}
