//! What one request leaves of what it could see, in its own words.

use super::{Stop, Subject};
use crate::glob::{self, Glob};

/// Can only take away: whatever it includes has passed every level before.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Narrow {
    /// Every list has to let it in; one that is empty lets nothing in. No lists: all of them.
    pub include_servers: Vec<Vec<Glob>>,
    pub exclude_servers: Vec<Glob>,
    /// As with servers.
    pub include_tools: Vec<Vec<Glob>>,
    pub exclude_tools: Vec<Glob>,
}

impl Narrow {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Leaves what both leave.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.include_servers.extend(other.include_servers);
        self.exclude_servers.extend(other.exclude_servers);
        self.include_tools.extend(other.include_tools);
        self.exclude_tools.extend(other.exclude_tools);
        self
    }

    pub(super) fn stop(&self, subject: Subject<'_>) -> Option<Stop<'_>> {
        let server = subject.server.as_str();
        if let Some(excluded) = self.excluded(subject) {
            return Some(excluded);
        }
        if !self.include_servers.iter().all(|globs| glob::any(globs, server)) {
            return Some(Stop::NotIncluded);
        }
        if self.include_tools.is_empty() {
            return None;
        }
        let names = Names::of(subject);
        let is_in = |globs: &Vec<Glob>| globs.iter().any(|glob| names.fit(glob));
        (!self.include_tools.iter().all(is_in)).then_some(Stop::NotIncluded)
    }

    pub(super) fn excluded(&self, subject: Subject<'_>) -> Option<Stop<'_>> {
        let server = subject.server.as_str();
        if let Some(glob) = self.exclude_servers.iter().find(|glob| glob.matches(server)) {
            return Some(Stop::Excluded(glob));
        }
        if self.exclude_tools.is_empty() {
            return None;
        }
        let names = Names::of(subject);
        self.exclude_tools.iter().find(|glob| names.fit(glob)).map(Stop::Excluded)
    }
}

/// The exposed name, and `server/tool` and `server-tool`, as other gateways spell it.
struct Names<'a> {
    exposed: &'a str,
    spelled: Option<[String; 2]>,
}

impl<'a> Names<'a> {
    fn of(subject: Subject<'a>) -> Self {
        let spelled = |own| ['/', '-'].map(|sign| format!("{}{sign}{own}", subject.server));
        Self { exposed: subject.exposed.as_str(), spelled: subject.own.map(spelled) }
    }

    fn fit(&self, glob: &Glob) -> bool {
        let spelled = self.spelled.iter().flatten();
        glob.matches(self.exposed) || spelled.into_iter().any(|name| glob.matches(name))
    }
}
