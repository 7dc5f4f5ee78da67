//! Quarantine notices: announces tools that are newly flagged or withheld.

use std::collections::HashSet;

use tollgate_core::catalog::{Catalog, DoubtedTool};
use tollgate_core::id::ToolId;
use tollgate_core::tool::ContentHash;

use crate::notices::Notice;

/// More at once would only displace other notices.
const MAX_NOTICES: usize = 100;

pub(super) fn notices(previous: &Catalog, next: &Catalog) -> Vec<Notice> {
    let known: HashSet<_> = previous.doubted.iter().map(mark).collect();
    let fresh = next.doubted.iter().filter(|it| !known.contains(&mark(it)));
    let told = fresh.filter_map(|it| {
        let reason = it.verdict.doubt()?.to_string();
        let tool = it.tool.id.clone();
        let exposed = it.tool.exposed.clone();
        Some(Notice::Doubted { tool, exposed, verdict: it.verdict.as_str(), reason })
    });
    told.take(MAX_NOTICES).collect()
}

/// Identifies a finding; a different one is announced again.
fn mark(doubted: &DoubtedTool) -> (&ToolId, ContentHash, &'static str, &'static str) {
    let why = doubted.verdict.doubt().map_or("", |doubt| doubt.as_str());
    (&doubted.tool.id, doubted.tool.hash, doubted.verdict.as_str(), why)
}
