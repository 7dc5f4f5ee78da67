//! What comes next in a turn: the decisions of the loop in which a model uses tools. Pure; `agent`
//! acts on them. The only place that says whose a call is.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::conversation::{Call, Message, Part};
use crate::told::Ended;

/// What a model was offered in a round. A call to anything else is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offered {
    /// The gateway's tools.
    pub own: BTreeMap<String, Leave>,
    /// The client's tools. They go before the gateway's own of the same name.
    pub theirs: HashSet<String>,
    pub others: Others,
}

/// What a call is of a tool that nobody offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Others {
    #[default]
    Refused,
    /// The client's to judge: no agent has a part in the conversation.
    Theirs,
}

/// Whether a tool of the gateway runs when a model wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// Without anybody's leave.
    Auto,
    /// The call goes back to the client, who may have it run.
    Manual,
    /// It is answered by the loop itself: the search for tools.
    Search,
}

/// How far a turn may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Rounds of calls.
    pub depth: u32,
    /// Calls of all rounds together.
    pub calls: u32,
    /// Of tools, one after another; `None`: no budget.
    pub tool_time: Option<Duration>,
}

/// How far it went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Rounds of calls that were dealt with, whether any was run or not.
    pub depth: u32,
    pub calls: u32,
    pub tool_time: Duration,
}

/// What to do about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// It is the end.
    Finish(Ended),
    /// Deal with the calls, then go on.
    Deal { sorted: Sorted, then: Then },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Ask the model again.
    Ask,
    /// Ask it once more, without tools: it has come to a limit and may say what it knows.
    Conclude(Ended),
    /// The rest is the client's.
    Return,
}

/// The calls of an answer, by what becomes of them, each in the model's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sorted {
    pub run: Vec<OwnCall>,
    pub search: Vec<Call>,
    /// Answered with a reason, and run by nobody.
    pub refused: Vec<(Call, Refused)>,
    /// The client's to run, or to agree to.
    pub pending: Vec<Call>,
}

/// A call of a tool that was offered and runs by itself. Only [`next`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCall(Call);

impl OwnCall {
    pub fn call(&self) -> &Call {
        &self.0
    }
}

/// Why a call is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No such tool was offered.
    NotOffered,
    /// The turn has come to this limit.
    Limit(Ended),
}

pub fn next(parts: &[Part], offered: &Offered, spent: &Spent, bounds: &Bounds) -> Step {
    let calls: Vec<&Call> = parts.iter().filter_map(Part::as_call).collect();
    if calls.is_empty() {
        return Step::Finish(Ended::Answered);
    }
    let reached = reached(spent, bounds);
    let mut left = bounds.calls.saturating_sub(spent.calls);
    let mut sorted = Sorted::default();
    for call in calls {
        let standing = offered.standing(&call.name);
        let call = call.clone();
        match (standing, reached) {
            (Standing::Theirs | Standing::Own(Leave::Manual), _) => sorted.pending.push(call),
            (Standing::Unknown, _) => sorted.refused.push((call, Refused::NotOffered)),
            (Standing::Own(_), Some(limit)) => sorted.refused.push((call, Refused::Limit(limit))),
            (Standing::Own(Leave::Search), None) => sorted.search.push(call),
            (Standing::Own(Leave::Auto), None) if left == 0 => {
                sorted.refused.push((call, Refused::Limit(Ended::MaxCalls)));
            }
            (Standing::Own(Leave::Auto), None) => {
                left -= 1;
                sorted.run.push(OwnCall(call));
            }
        }
    }
    let then = match (reached, sorted.pending.is_empty()) {
        (_, false) => Then::Return,
        (Some(limit), true) => Then::Conclude(limit),
        (None, true) => Then::Ask,
    };
    Step::Deal { sorted, then }
}

fn reached(spent: &Spent, bounds: &Bounds) -> Option<Ended> {
    if spent.depth >= bounds.depth {
        Some(Ended::MaxDepth)
    } else if spent.calls >= bounds.calls {
        Some(Ended::MaxCalls)
    } else if bounds.tool_time.is_some_and(|most| spent.tool_time >= most) {
        Some(Ended::Deadline)
    } else {
        None
    }
}

enum Standing {
    Theirs,
    Own(Leave),
    Unknown,
}

impl Offered {
    fn standing(&self, name: &str) -> Standing {
        if self.theirs.contains(name) {
            return Standing::Theirs;
        }
        match (self.own.get(name), self.others) {
            (Some(leave), _) => Standing::Own(*leave),
            (None, Others::Refused) => Standing::Unknown,
            (None, Others::Theirs) => Standing::Theirs,
        }
    }

    /// Whether a call of this name is the client's to see.
    pub fn is_shown(&self, name: &str) -> bool {
        matches!(self.standing(name), Standing::Theirs | Standing::Own(Leave::Manual))
    }
}

/// The ids of the calls of a turn. Results are told apart by them, whatever the model said.
#[derive(Debug, Clone, Default)]
pub struct Ids(HashSet<String>);

impl Ids {
    /// None that stands in these messages is given again.
    pub fn behind(messages: &[Message]) -> Self {
        let calls = messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_call);
        Self(calls.map(|call| call.id.clone()).collect())
    }

    /// The same id, if it is a new one; else one that is.
    pub fn distinct(&mut self, id: &str) -> String {
        let id = if id.is_empty() { "call" } else { id };
        let mut fresh = id.to_owned();
        let mut number = 2;
        while !self.0.insert(fresh.clone()) {
            fresh = format!("{id}_{number}");
            number += 1;
        }
        fresh
    }
}

#[cfg(test)]
mod tests;
