//! Descriptions that speak of other servers' tools: the way in which one server's words change what
//! calls of another do. Only names that are no plain words count, or every text would be suspect.

use std::collections::{HashMap, HashSet};

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::tools::Candidate;
use crate::digest;
use crate::id::{ServerId, ToolId};
use crate::names::Origin;
use crate::tool::{Definition, Finding, FindingKind};

/// Shorter names are words like any other.
const SHORTEST: usize = 6;
/// Findings of one tool.
const MOST: usize = 8;

/// What was found, and among which names: tools that stay the same need no second look.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    names: [u8; 32],
    found: HashMap<ToolId, Vec<Finding>>,
}

/// Gives each candidate what its text says of others' tools.
pub(super) fn mark(candidates: &mut [Candidate<'_>], previous: Option<&Mentions>) -> Mentions {
    let owners = Names::of(candidates);
    let names = owners.digest();
    let previous = previous.filter(|it| it.names == names);
    let mut mentions = Mentions { names, found: HashMap::new() };
    if !are_several(candidates) {
        return mentions;
    }
    let mut finder = None;
    for candidate in candidates.iter_mut().filter(|it| it.origin() == Origin::Upstream) {
        let found = match previous.filter(|_| candidate.is_unchanged()) {
            Some(previous) => previous.found.get(candidate.id()).cloned().unwrap_or_default(),
            None => {
                let finder = finder.get_or_insert_with(|| owners.finder()).as_ref();
                finder.map(|it| look(it, &owners, candidate)).unwrap_or_default()
            }
        };
        if !found.is_empty() {
            mentions.found.insert(candidate.id().clone(), found.clone());
            candidate.shadowing(found);
        }
    }
    mentions
}

fn are_several(candidates: &[Candidate<'_>]) -> bool {
    let mut servers = candidates.iter().map(|it| &it.id().server);
    let first = servers.next();
    servers.any(|server| Some(server) != first)
}

/// Names that stand for one thing only, and whose they are.
struct Names {
    /// In order.
    names: Vec<(String, HashSet<ServerId>)>,
}

impl Names {
    fn of(candidates: &[Candidate<'_>]) -> Self {
        let mut names: HashMap<String, HashSet<ServerId>> = HashMap::new();
        for candidate in candidates {
            let id = candidate.id();
            for name in [id.tool.as_str(), candidate.exposed().as_str()] {
                if is_telling(name) {
                    names.entry(name.to_owned()).or_default().insert(id.server.clone());
                }
            }
        }
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self { names }
    }

    fn digest(&self) -> [u8; 32] {
        let sum = self.names.iter().fold(digest::Sum::default(), |sum, (name, servers)| {
            let mut servers: Vec<&str> = servers.iter().map(ServerId::as_str).collect();
            servers.sort_unstable();
            sum.with(name).with([0]).with(servers.join(",")).with([1])
        });
        sum.finish()
    }

    /// `None` beyond all memory, which names of a few bytes do not reach.
    fn finder(&self) -> Option<AhoCorasick> {
        AhoCorasick::new(self.names.iter().map(|(name, _)| name)).ok()
    }
}

/// Joined of several words, so that no sentence has it by chance.
fn is_telling(name: &str) -> bool {
    let joined = name.contains(['_', '-', '.'])
        || name
            .as_bytes()
            .windows(2)
            .any(|it| it[0].is_ascii_lowercase() && it[1].is_ascii_uppercase());
    name.len() >= SHORTEST && name.is_ascii() && joined
}

fn look(finder: &AhoCorasick, names: &Names, candidate: &Candidate<'_>) -> Vec<Finding> {
    let own = &candidate.id().server;
    let mut findings: Vec<Finding> = Vec::new();
    for (at, text) in texts(candidate.definition()) {
        for found in finder.find_overlapping_iter(text) {
            if !stands_alone(text, found.start(), found.end()) {
                continue;
            }
            let (name, servers) = &names.names[found.pattern().as_usize()];
            let is_known = findings.iter().any(|it| it.at == at);
            if !servers.contains(own) && !is_known && findings.len() < MOST {
                let whose = servers.iter().map(ServerId::as_str).min().unwrap_or_default();
                let excerpt = format!("{name} of {whose}");
                findings.push(Finding::quoting(FindingKind::Shadow, &at, excerpt));
            }
        }
    }
    findings
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let continues = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_-".contains(c));
    !continues(text[..start].chars().next_back()) && !continues(text[end..].chars().next())
}

/// All that is said to a reader, with its place.
fn texts(definition: &Definition) -> Vec<(String, &str)> {
    let mut texts = Vec::new();
    let top = [("/title", &definition.title), ("/description", &definition.description)];
    texts.extend(top.into_iter().filter_map(|(at, text)| Some((at.to_owned(), text.as_deref()?))));
    described(&definition.input_schema, "/inputSchema", &mut texts);
    texts
}

fn described<'d>(value: &'d Value, at: &str, texts: &mut Vec<(String, &'d str)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let at = format!("{at}/{}", crate::tool::scrub::escape(key));
                match value {
                    Value::String(text) if key == "description" || key == "title" => {
                        texts.push((at, text));
                    }
                    value => described(value, &at, texts),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                described(item, &format!("{at}/{index}"), texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
