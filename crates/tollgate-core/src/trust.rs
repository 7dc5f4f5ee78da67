//! Quarantine of tool definitions: which ones are served, by pins of seen or accepted definitions
//! and the operator's policy.
//!
//! Used by the catalogue; pure decision, no storage.

use std::collections::HashMap;
use std::fmt;

use crate::id::{ServerId, ToolId, ToolName};
use crate::tool::{ContentHash, Finding, TaintRule};

mod diff;
pub use diff::{Change, diff};

/// The operator's policy for a server's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrustPolicy {
    pub pin: Pinning,
    pub on_change: OnChange,
    pub on_finding: OnFinding,
    /// For its destructive tools.
    pub taint: TaintRule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pinning {
    /// Trust on first use: the first definition is trusted, later ones are not.
    #[default]
    FirstUse,
    /// Only definitions accepted by a reviewer are served.
    Reviewed,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnChange {
    #[default]
    Quarantine,
    Flag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFinding {
    #[default]
    Flag,
    Quarantine,
}

/// The stored state of one tool. Its existence means that the tool is not new.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pin {
    pub trusted: Option<TrustedHash>,
    /// Oldest first.
    pub rejected: Vec<ContentHash>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedHash {
    pub hash: ContentHash,
    pub by: TrustedBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedBy {
    FirstUse,
    /// Accepted by a reviewer, with all its findings.
    Person,
}

impl Pin {
    /// Further rejections evict the oldest. A hash that changes with every listing is withheld as
    /// changed anyway.
    const MAX_REJECTED: usize = 64;

    pub fn first_use(hash: ContentHash) -> Self {
        let trusted = Some(TrustedHash { hash, by: TrustedBy::FirstUse });
        Self { trusted, rejected: Vec::new() }
    }

    pub fn accept(&mut self, hash: ContentHash) {
        self.rejected.retain(|rejected| *rejected != hash);
        self.trusted = Some(TrustedHash { hash, by: TrustedBy::Person });
    }

    pub fn reject(&mut self, hash: ContentHash) {
        self.trusted = self.trusted.filter(|trusted| trusted.hash != hash);
        self.rejected.retain(|rejected| *rejected != hash);
        let surplus = (self.rejected.len() + 1).saturating_sub(Self::MAX_REJECTED);
        self.rejected.drain(..surplus);
        self.rejected.push(hash);
    }
}

/// The pins of all servers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolPins {
    servers: HashMap<ServerId, HashMap<ToolName, Pin>>,
}

impl ToolPins {
    /// Maximum tools of one server that are trusted on first use. A server with endless new names
    /// would fill the store.
    pub const MAX_FIRST_USES: usize = 10_000;

    pub fn get(&self, tool: &ToolId) -> Option<&Pin> {
        self.servers.get(&tool.server)?.get(&tool.tool)
    }

    pub fn of(&mut self, tool: &ToolId) -> &mut Pin {
        self.servers.entry(tool.server.clone()).or_default().entry(tool.tool.clone()).or_default()
    }

    pub fn count(&self, server: &ServerId) -> usize {
        self.servers.get(server).map_or(0, HashMap::len)
    }
}

impl FromIterator<(ToolId, Pin)> for ToolPins {
    fn from_iter<I: IntoIterator<Item = (ToolId, Pin)>>(pins: I) -> Self {
        let mut all = Self::default();
        for (tool, pin) in pins {
            *all.of(&tool) = pin;
        }
        all
    }
}

/// The definition offered under a name, as far as the decision needs it.
#[derive(Debug, Clone, Copy)]
pub struct OfferedDefinition<'a> {
    pub hash: ContentHash,
    pub findings: &'a [Finding],
    /// Whether another tool of this server may be trusted on first use.
    pub room: FirstUseRoom,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstUseRoom {
    Left,
    None,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustVerdict {
    Served,
    /// Served, but needs review.
    Flagged(TrustDoubt),
    Withheld(TrustDoubt),
}

/// Why a definition is not simply served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustDoubt {
    New,
    /// New, and beyond the limit of first uses.
    TooManyNew,
    Changed,
    Rejected,
    /// The first finding, and the number of others.
    Finding(Finding, usize),
}

/// A verdict, and whether the definition is to be pinned as a first use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustJudgement {
    pub verdict: TrustVerdict,
    pub is_first_use: bool,
}

/// The trust decision. A reviewer's decision on this exact definition overrides all policy.
pub fn judge(
    policy: TrustPolicy,
    pin: Option<&Pin>,
    offered: &OfferedDefinition<'_>,
) -> TrustJudgement {
    let hash = offered.hash;
    let seen = |verdict| TrustJudgement { verdict, is_first_use: false };
    if pin.is_some_and(|pin| pin.rejected.contains(&hash)) {
        return seen(TrustVerdict::Withheld(TrustDoubt::Rejected));
    }
    let trusted = pin.and_then(|pin| pin.trusted);
    let is_accepted = trusted.is_some_and(|it| it.by == TrustedBy::Person && it.hash == hash);
    if is_accepted {
        return seen(TrustVerdict::Served);
    }
    let doubt = finding(offered.findings);
    if let (Some(doubt), OnFinding::Quarantine) = (&doubt, policy.on_finding) {
        return seen(TrustVerdict::Withheld(doubt.clone()));
    }
    let as_found = || doubt.clone().map_or(TrustVerdict::Served, TrustVerdict::Flagged);
    match (policy.pin, pin) {
        (Pinning::Off, _) => seen(as_found()),
        (Pinning::Reviewed, pin) => {
            seen(TrustVerdict::Withheld(match pin.and_then(|pin| pin.trusted) {
                Some(trusted) if trusted.hash != hash => TrustDoubt::Changed,
                _ => TrustDoubt::New,
            }))
        }
        (Pinning::FirstUse, None) if offered.room == FirstUseRoom::None => {
            seen(TrustVerdict::Withheld(TrustDoubt::TooManyNew))
        }
        (Pinning::FirstUse, None) => TrustJudgement { verdict: as_found(), is_first_use: true },
        (Pinning::FirstUse, Some(Pin { trusted: Some(it), .. })) if it.hash == hash => {
            seen(as_found())
        }
        (Pinning::FirstUse, Some(_)) => seen(match policy.on_change {
            OnChange::Quarantine => TrustVerdict::Withheld(TrustDoubt::Changed),
            OnChange::Flag if trusted.is_none() => TrustVerdict::Withheld(TrustDoubt::Changed),
            OnChange::Flag => TrustVerdict::Flagged(TrustDoubt::Changed),
        }),
    }
}

fn finding(findings: &[Finding]) -> Option<TrustDoubt> {
    let mut suspicious = findings.iter().filter(|it| it.is_suspicious());
    let first = suspicious.next()?.clone();
    Some(TrustDoubt::Finding(first, suspicious.count()))
}

impl TrustVerdict {
    pub fn doubt(&self) -> Option<&TrustDoubt> {
        match self {
            Self::Served => None,
            Self::Flagged(doubt) | Self::Withheld(doubt) => Some(doubt),
        }
    }

    /// An identifier for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Flagged(_) => "flagged",
            Self::Withheld(_) => "withheld",
        }
    }
}

impl TrustDoubt {
    /// An identifier for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::New | Self::TooManyNew => "new",
            Self::Changed => "changed",
            Self::Rejected => "rejected",
            Self::Finding(..) => "finding",
        }
    }
}

impl fmt::Display for TrustDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("it is new and has not been accepted yet"),
            Self::TooManyNew => write!(
                f,
                "it is new, and its server has already offered more than {} tools; an operator \
                 must accept it",
                ToolPins::MAX_FIRST_USES
            ),
            Self::Changed => f.write_str("its server changed it since it was trusted"),
            Self::Rejected => f.write_str("this definition of it was rejected"),
            Self::Finding(first, 0) => write!(f, "it looks suspicious: {first}"),
            Self::Finding(first, more) => {
                write!(f, "it looks suspicious: {first}, and {more} more")
            }
        }
    }
}

#[cfg(test)]
mod tests;
