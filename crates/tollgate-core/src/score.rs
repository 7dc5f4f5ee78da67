//! Tool scores: speed badge, compatibility, leaderboard, and aggregates that installations can
//! merge.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::budget::Tier;

mod aggregate;
pub mod scale;
pub mod telemetry;

pub use aggregate::{AggregateError, LatencyAggregate};

/// Speed class of a tool, independent of the configured tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpeedBadge {
    Lightning,
    Fast,
    Standard,
    Slow,
}

impl SpeedBadge {
    /// From the measured p50. Unmeasured tools have no badge.
    pub fn of(p50: Duration) -> Self {
        match p50.as_millis() {
            0..50 => Self::Lightning,
            50..200 => Self::Fast,
            200..1_000 => Self::Standard,
            1_000.. => Self::Slow,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lightning => "lightning",
            Self::Fast => "fast",
            Self::Standard => "standard",
            Self::Slow => "slow",
        }
    }
}

impl fmt::Display for SpeedBadge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A sentence about the turns in which a tool of this tier is usable.
pub fn compatibility(tier: Tier) -> &'static str {
    match tier {
        Tier::Fast => "fast compatible",
        Tier::Standard => "standard compatible",
        Tier::Deep => "deep only",
    }
}

/// A measured tool on the leaderboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderboardEntry {
    pub category: String,
    pub name: String,
    pub p50: Duration,
}

/// The tools of one category, fastest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaderboard {
    pub category: String,
    pub ranked: Vec<RankedTool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankedTool {
    /// From 1. Equally fast tools share a rank, and the next rank is skipped accordingly.
    pub rank: usize,
    pub name: String,
    pub p50: Duration,
    pub badge: SpeedBadge,
}

/// Categories by name; within one by p50, then by name, so that the order is stable.
pub fn leaderboard(entries: Vec<LeaderboardEntry>) -> Vec<Leaderboard> {
    let mut categories: BTreeMap<String, Vec<LeaderboardEntry>> = BTreeMap::new();
    for entry in entries {
        categories.entry(entry.category.clone()).or_default().push(entry);
    }
    categories.into_iter().map(|(category, entries)| board(category, entries)).collect()
}

fn board(category: String, mut entries: Vec<LeaderboardEntry>) -> Leaderboard {
    entries.sort_unstable_by(|a, b| a.p50.cmp(&b.p50).then_with(|| a.name.cmp(&b.name)));
    let mut ranked: Vec<RankedTool> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let rank = match ranked.last() {
            Some(last) if last.p50 == entry.p50 => last.rank,
            Some(_) | None => index + 1,
        };
        let badge = SpeedBadge::of(entry.p50);
        ranked.push(RankedTool { rank, name: entry.name, p50: entry.p50, badge });
    }
    Leaderboard { category, ranked }
}

#[cfg(test)]
mod tests;
