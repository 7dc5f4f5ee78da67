//! Filters of a single request (include and exclude lists).

use super::{FilterReason, FilterSubject};
use crate::glob::{self, Glob};

/// Can only narrow: what it includes has passed all other levels.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RequestFilter {
    /// Every list has to match; an empty list matches nothing. No lists: no restriction.
    pub include_servers: Vec<Vec<Glob>>,
    pub exclude_servers: Vec<Glob>,
    /// Same rules as for servers.
    pub include_tools: Vec<Vec<Glob>>,
    pub exclude_tools: Vec<Glob>,
}

impl RequestFilter {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// The intersection of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.include_servers.extend(other.include_servers);
        self.exclude_servers.extend(other.exclude_servers);
        self.include_tools.extend(other.include_tools);
        self.exclude_tools.extend(other.exclude_tools);
        self
    }

    pub(super) fn stop(&self, subject: FilterSubject<'_>) -> Option<FilterReason<'_>> {
        let server = subject.server.as_str();
        if let Some(excluded) = self.find_exclusion(subject) {
            return Some(excluded);
        }
        if !self.include_servers.iter().all(|globs| glob::any(globs, server)) {
            return Some(FilterReason::NotIncluded);
        }
        if self.include_tools.is_empty() {
            return None;
        }
        let names = SubjectNames::of(subject);
        let is_in = |globs: &Vec<Glob>| globs.iter().any(|glob| names.fit(glob));
        (!self.include_tools.iter().all(is_in)).then_some(FilterReason::NotIncluded)
    }

    pub(super) fn find_exclusion(&self, subject: FilterSubject<'_>) -> Option<FilterReason<'_>> {
        let server = subject.server.as_str();
        if let Some(glob) = self.exclude_servers.iter().find(|glob| glob.matches(server)) {
            return Some(FilterReason::Excluded(glob));
        }
        if self.exclude_tools.is_empty() {
            return None;
        }
        let names = SubjectNames::of(subject);
        self.exclude_tools.iter().find(|glob| names.fit(glob)).map(FilterReason::Excluded)
    }
}

/// The exposed name, and the spellings `server/tool` and `server-tool` of other gateways.
struct SubjectNames<'a> {
    exposed: &'a str,
    spelled: Option<[String; 2]>,
}

impl<'a> SubjectNames<'a> {
    fn of(subject: FilterSubject<'a>) -> Self {
        let spelled = |own| ['/', '-'].map(|sign| format!("{}{sign}{own}", subject.server));
        Self { exposed: subject.exposed.as_str(), spelled: subject.own.map(spelled) }
    }

    fn fit(&self, glob: &Glob) -> bool {
        let spelled = self.spelled.iter().flatten();
        glob.matches(self.exposed) || spelled.into_iter().any(|name| glob.matches(name))
    }
}
