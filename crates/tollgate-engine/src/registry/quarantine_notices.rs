//! Quarantine notices: announces tools that are newly flagged or withheld.

use std::collections::HashSet;

use tollgate_core::catalog::{Catalog, DoubtedTool};
use tollgate_core::id::ToolId;
use tollgate_core::tool::ContentHash;

use crate::notices::Notice;

/// More at once would only displace other notices.
const MAX_NOTICES: usize = 100;

pub(super) fn notices(previous: &Catalog, next: &Catalog) -> Vec<Notice> {
    let known: HashSet<_> = previous.doubted.iter().map(FindingKey::of).collect();
    let fresh = next.doubted.iter().filter(|it| !known.contains(&FindingKey::of(it)));
    let lines = fresh.filter_map(|it| {
        let reason = it.verdict.doubt()?.to_string();
        let tool = it.tool.id.clone();
        let exposed = it.tool.exposed.clone();
        Some(Notice::Doubted { tool, exposed, verdict: it.verdict.as_str(), reason })
    });
    lines.take(MAX_NOTICES).collect()
}

/// Identifies a finding; a different one is announced again.
#[derive(PartialEq, Eq, Hash)]
struct FindingKey<'t> {
    tool: &'t ToolId,
    definition: ContentHash,
    verdict: &'static str,
    doubt: &'static str,
}

impl<'t> FindingKey<'t> {
    fn of(doubted: &'t DoubtedTool) -> Self {
        Self {
            tool: &doubted.tool.id,
            definition: doubted.tool.hash,
            verdict: doubted.verdict.as_str(),
            doubt: doubted.verdict.doubt().map_or("", |doubt| doubt.as_str()),
        }
    }
}
