//! All rules, shipped and from packs: looked up by id or name, or searched by a question. Called by
//! the tools; reads files only at construction.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use tollgate_core::nearest::nearest;
use tollgate_core::relevance::{RelevanceDocument, RelevanceIndex, RelevanceQuery};

use super::pack::{self, GameRule};
use crate::builtin::document::{self, DocumentError, DocumentLineError};

const BUILTIN_PACKS: &[&str] = &[
    include_str!("conditions.yaml"),
    include_str!("combat.yaml"),
    include_str!("spells.yaml"),
    include_str!("general.yaml"),
];
const MAX_RULES: usize = 10_000;

/// Loaded once: shipped rules do not change.
static BUILTIN_RULE_BOOK: LazyLock<Arc<RuleBook>> = LazyLock::new(|| {
    let read = |text: &&str| {
        let node = document::yaml(text).expect("the rules that ship are YAML");
        let (rules, wrong) = pack::pack(&node, "").expect("the rules that ship are a pack");
        assert!(wrong.is_empty(), "the rules that ship are sound");
        rules.into_iter().map(|(_, rule)| rule)
    };
    Arc::new(RuleBook::of(BUILTIN_PACKS.iter().flat_map(read).collect()))
});

/// Invariant: ids are unique. The index has the rules in the same order.
#[derive(Debug)]
pub struct RuleBook {
    rules: Vec<GameRule>,
    by_id: HashMap<String, usize>,
    index: RelevanceIndex,
}

impl RuleBook {
    pub fn builtin() -> Arc<Self> {
        Arc::clone(&BUILTIN_RULE_BOOK)
    }

    /// The shipped rules and those of a directory, which take precedence for the same id and
    /// system.
    pub fn with_directory(directory: &Path) -> (Arc<Self>, Vec<DocumentError>) {
        let (found, mut flaws) = pack::read_directory(directory);
        let mut rules = BUILTIN_RULE_BOOK.rules.clone();
        let shipped = rules.len();
        let mut places: HashMap<String, usize> =
            rules.iter().enumerate().map(|(at, rule)| (rule.id.clone(), at)).collect();
        // For each id, the pack and line where it was first defined.
        let mut firsts: HashMap<String, String> = HashMap::new();
        for (path, (line, rule)) in found {
            let flaw = |problem: String| DocumentLineError::at(line, problem).of(&path);
            let id = &rule.id;
            let system = &rule.pack.system;
            match places.get(id).copied() {
                Some(at) if rules[at].pack.system != *system => flaws.push(flaw(format!(
                    "the id `{id}` is already used by a rule of `{}`; use `{system}-{id}`",
                    rules[at].pack.system
                ))),
                Some(_) if firsts.contains_key(id) => {
                    flaws.push(flaw(format!("duplicate id `{id}`, already in {}", firsts[id])));
                }
                None if rules.len() == shipped + MAX_RULES => {
                    flaws.push(flaw(format!("the limit is {MAX_RULES} rules")));
                    break;
                }
                place => {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    firsts.insert(id.clone(), format!("`{name}`, line {line}"));
                    match place {
                        Some(at) => rules[at] = rule,
                        None => {
                            places.insert(id.clone(), rules.len());
                            rules.push(rule);
                        }
                    }
                }
            }
        }
        (Arc::new(Self::of(rules)), flaws)
    }

    fn of(rules: Vec<GameRule>) -> Self {
        let also: Vec<String> = rules.iter().map(|rule| rule.also.join(", ")).collect();
        let subjects = rules.iter().zip(&also).map(|(rule, also)| RelevanceDocument {
            name: &rule.name,
            title: Some(also),
            description: Some(&rule.text),
            parameters: None,
        });
        let index = RelevanceIndex::new(subjects);
        let by_id = rules.iter().enumerate().map(|(at, rule)| (rule.id.clone(), at)).collect();
        Self { rules, by_id, index }
    }

    pub fn systems(&self) -> BTreeSet<&str> {
        self.rules.iter().map(|rule| rule.pack.system.as_str()).collect()
    }

    /// By id, ignoring case and separators, or by name if only one rule has it.
    pub(super) fn rule(&self, requested: &str) -> Option<&GameRule> {
        if let Some(at) = self.by_id.get(requested) {
            return Some(&self.rules[*at]);
        }
        let requested = fold_case(requested);
        if requested.is_empty() {
            return None;
        }
        if let Some(rule) = self.rules.iter().find(|rule| fold_case(&rule.id) == requested) {
            return Some(rule);
        }
        let mut named = self.rules.iter().filter(|rule| fold_case(&rule.name) == requested);
        named.next().filter(|_| named.next().is_none())
    }

    /// Rules relevant to the question; those it names come first. Words that no rule contains are
    /// treated as typos.
    pub(super) fn search(
        &self,
        requested: &str,
        system: Option<&str>,
        most: usize,
    ) -> Vec<&GameRule> {
        let query = self.index.correct_spelling(&RelevanceQuery::new(requested));
        let found = self.index.best(&query, self.rules.len());
        let of_system = |rule: &&GameRule| system.is_none_or(|system| rule.pack.system == system);
        let mut found: Vec<&GameRule> =
            found.into_iter().map(|at| &self.rules[at]).filter(of_system).collect();
        let head = &requested[..requested.floor_char_boundary(MAX_SEARCHED_BYTES)];
        let head = head.to_lowercase();
        found.sort_by_cached_key(|rule| Reverse(name_score(&query, &head, rule)));
        found.truncate(most);
        found
    }

    /// Rules with similar ids or names, the most similar first.
    pub(super) fn near(&self, requested: &str, system: Option<&str>) -> Vec<&GameRule> {
        let of_system = |rule: &&GameRule| system.is_none_or(|system| rule.pack.system == system);
        let rules: Vec<&GameRule> = self.rules.iter().filter(of_system).collect();
        let ids = nearest(requested, rules.iter().map(|rule| rule.id.as_str()));
        let names = nearest(requested, rules.iter().map(|rule| rule.name.as_str()));
        let by_id = ids.iter().filter_map(|id| rules.iter().find(|rule| rule.id == **id));
        let by_name = names.iter().filter_map(|name| rules.iter().find(|rule| rule.name == **name));
        let mut near: Vec<&GameRule> = Vec::new();
        for rule in by_id.chain(by_name) {
            if !near.iter().any(|known| known.id == rule.id) {
                near.push(rule);
            }
        }
        near.truncate(MAX_SUGGESTIONS);
        near
    }
}

const MAX_SUGGESTIONS: usize = 5;

/// Bytes of a question that are searched for literal names.
const MAX_SEARCHED_BYTES: usize = 4 * 1024;

/// How much of a question is the name of a rule. More words score higher; the name scores above its
/// synonyms; a literal match (`grappled`) above a stemmed one (`grappling`).
fn name_score(query: &RelevanceQuery, requested: &str, rule: &GameRule) -> usize {
    let score = |name: &str| match query.names(name) {
        0 => 0,
        words => 4 * words + if says(requested, name) { 3 } else { 0 },
    };
    let others = rule.also.iter().map(|name| score(name).saturating_sub(2));
    others.max().unwrap_or(0).max(score(&rule.name))
}

/// Whether the name occurs literally, as whole words.
fn says(query: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    query.match_indices(&name).any(|(at, _)| {
        let before = &query[..at];
        let after = &query[at + name.len()..];
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    })
}

fn fold_case(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
