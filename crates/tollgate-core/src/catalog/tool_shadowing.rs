//! Detects tool shadowing, a kind of prompt injection: a description that mentions another server's
//! tools can change how those are called.
//!
//! Only names that are not plain words are searched for; otherwise every text would match.

use std::collections::{HashMap, HashSet};

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::tools::CatalogCandidate;
use crate::digest;
use crate::id::{ServerId, ToolId};
use crate::names::ServerOrigin;
use crate::tool::{Finding, FindingKind, ToolDefinition};

/// Shorter names are treated as plain words.
const MIN_NAME_BYTES: usize = 6;
/// Maximum findings per tool.
const MAX_FINDINGS_PER_TOOL: usize = 8;

/// The findings and the names searched for: unchanged tools need no second scan.
#[derive(Debug, Default)]
pub(super) struct ToolMentions {
    names: [u8; 32],
    found: HashMap<ToolId, Vec<Finding>>,
}

/// Adds to each candidate the mentions of other servers' tools.
pub(super) fn mark(
    candidates: &mut [CatalogCandidate<'_>],
    previous: Option<&ToolMentions>,
) -> ToolMentions {
    let owners = ToolNameOwners::of(candidates);
    let names = owners.digest();
    let previous = previous.filter(|it| it.names == names);
    let mut mentions = ToolMentions { names, found: HashMap::new() };
    if !are_several(candidates) {
        return mentions;
    }
    let mut finder = None;
    for candidate in candidates.iter_mut().filter(|it| it.origin() == ServerOrigin::Upstream) {
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

fn are_several(candidates: &[CatalogCandidate<'_>]) -> bool {
    let mut servers = candidates.iter().map(|it| &it.id().server);
    let first = servers.next();
    servers.any(|server| Some(server) != first)
}

/// Names that identify a tool, with the servers that have it.
struct ToolNameOwners {
    /// Sorted.
    names: Vec<(String, HashSet<ServerId>)>,
}

impl ToolNameOwners {
    fn of(candidates: &[CatalogCandidate<'_>]) -> Self {
        let mut names: HashMap<String, HashSet<ServerId>> = HashMap::new();
        for candidate in candidates {
            let id = candidate.id();
            for name in [id.tool.as_str(), candidate.exposed_name().as_str()] {
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
        let sum =
            self.names.iter().fold(digest::DigestBuilder::default(), |sum, (name, servers)| {
                let mut servers: Vec<&str> = servers.iter().map(ServerId::as_str).collect();
                servers.sort_unstable();
                sum.with(name).with([0]).with(servers.join(",")).with([1])
            });
        sum.finish()
    }

    /// `None` if the automaton is too large, which short names do not reach.
    fn finder(&self) -> Option<AhoCorasick> {
        AhoCorasick::new(self.names.iter().map(|(name, _)| name)).ok()
    }
}

/// Consists of several words, so that it does not occur in prose by chance.
fn is_telling(name: &str) -> bool {
    let joined = name.contains(['_', '-', '.'])
        || name
            .as_bytes()
            .windows(2)
            .any(|it| it[0].is_ascii_lowercase() && it[1].is_ascii_uppercase());
    name.len() >= MIN_NAME_BYTES && name.is_ascii() && joined
}

fn look(
    finder: &AhoCorasick,
    names: &ToolNameOwners,
    candidate: &CatalogCandidate<'_>,
) -> Vec<Finding> {
    let own = &candidate.id().server;
    let mut findings: Vec<Finding> = Vec::new();
    for (at, text) in texts(candidate.definition()) {
        for found in finder.find_overlapping_iter(text) {
            if !stands_alone(text, found.start(), found.end()) {
                continue;
            }
            let (name, servers) = &names.names[found.pattern().as_usize()];
            let is_known = findings.iter().any(|it| it.at == at);
            if !servers.contains(own) && !is_known && findings.len() < MAX_FINDINGS_PER_TOOL {
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

/// All text addressed to a reader, with its location.
fn texts(definition: &ToolDefinition) -> Vec<(String, &str)> {
    let mut texts = Vec::new();
    let top = [("/title", &definition.title), ("/description", &definition.description)];
    texts.extend(top.into_iter().filter_map(|(at, text)| Some((at.to_owned(), text.as_deref()?))));
    collect_descriptions(&definition.input_schema, "/inputSchema", &mut texts);
    texts
}

fn collect_descriptions<'d>(value: &'d Value, at: &str, texts: &mut Vec<(String, &'d str)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let at = format!("{at}/{}", crate::tool::scrub::escape(key));
                match value {
                    Value::String(text) if key == "description" || key == "title" => {
                        texts.push((at, text));
                    }
                    value => collect_descriptions(value, &at, texts),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_descriptions(item, &format!("{at}/{index}"), texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
