//! Quarantine: which definitions of tools are served, by pins of what was seen or accepted, the
//! operator's policy, and one judgement over both.
//!
//! Asked by the catalogue; decides only, and keeps nothing itself.

use std::collections::HashMap;
use std::fmt;

use crate::id::{ServerId, ToolId, ToolName};
use crate::tool::{ContentHash, Finding, TaintRule};

mod diff;
pub use diff::{Change, diff};

/// What the operator wants of a server's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrustPolicy {
    pub pin: Pinning,
    pub on_change: OnChange,
    pub on_finding: OnFinding,
    /// Of its destructive tools.
    pub taint: TaintRule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pinning {
    /// What is seen first is trusted, and nothing else from then on.
    #[default]
    FirstUse,
    /// Nothing is served that no person has accepted.
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

/// What is remembered of one tool. That there is one at all means: it is not new any more.
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
    /// Someone has seen it, with all that was found in it.
    Person,
}

impl Pin {
    /// Rejections beyond that push out the oldest: a hash that changes with every listing is
    /// withheld as changed in any case.
    const MOST_REJECTED: usize = 64;

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
        let surplus = (self.rejected.len() + 1).saturating_sub(Self::MOST_REJECTED);
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
    /// So many tools of one server are trusted unseen. One that makes up new names without end
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

/// What a server offers under a name, as far as it is judged.
#[derive(Debug, Clone, Copy)]
pub struct OfferedDefinition<'a> {
    pub hash: ContentHash,
    pub findings: &'a [Finding],
    /// Whether one more tool of this server may be trusted unseen.
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
    /// Served, and a person should look at it.
    Flagged(TrustDoubt),
    Withheld(TrustDoubt),
}

/// Why a definition is not simply served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustDoubt {
    New,
    /// New as well, and one of too many.
    Crowd,
    Changed,
    Rejected,
    /// The first one, and how many more there are.
    Finding(Finding, usize),
}

/// A verdict, and whether the definition is trusted from now on because it is the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustJudgement {
    pub verdict: TrustVerdict,
    pub is_first_use: bool,
}

/// The one judgement. What a person decided of this very definition counts before all policy.
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
            seen(TrustVerdict::Withheld(TrustDoubt::Crowd))
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

    /// One word for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Flagged(_) => "flagged",
            Self::Withheld(_) => "withheld",
        }
    }
}

impl TrustDoubt {
    /// One word for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::New | Self::Crowd => "new",
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
            Self::Crowd => write!(
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
