//! What comes next in a turn: the decisions of the loop in which a model uses tools. Pure; `agent`
//! acts on them. The only place that says whose a call is.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde_json::Value;
use tollgate_core::id::ExposedName;

use crate::conversation::{Call, Message, Part, Response, ToolChoice};
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leave {
    /// Without anybody's leave, under this name at the gate: not every dialect takes every name.
    Auto(ExposedName),
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
pub struct OwnCall {
    call: Call,
    tool: ExposedName,
}

impl OwnCall {
    pub fn call(&self) -> &Call {
        &self.call
    }

    pub fn tool(&self) -> &ExposedName {
        &self.tool
    }
}

/// Why a call is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No such tool was offered.
    NotOffered,
    /// The answer ended before its arguments did, or may have.
    CutOff,
    /// The turn has come to this limit.
    Limit(Ended),
}

pub fn next(response: &Response, offered: &Offered, spent: &Spent, bounds: &Bounds) -> Step {
    let calls: Vec<&Call> = response.calls().collect();
    let Some(last) = calls.last().map(|call| call.id.clone()) else {
        return Step::Finish(Ended::Answered);
    };
    let cut = (!response.stop.is_whole()).then_some(last);
    let reached = reached(spent, bounds);
    // Whatever becomes of a call, it is one: nothing of a turn goes on without end.
    let mut left = bounds.calls.saturating_sub(spent.calls);
    let mut sorted = Sorted::default();
    for call in calls {
        let is_cut = cut.as_ref() == Some(&call.id);
        let call = call.clone();
        let standing = match offered.standing(&call.name) {
            Standing::Theirs | Standing::Own(Leave::Manual) => {
                sorted.pending.push(call);
                continue;
            }
            standing => standing,
        };
        let limit = reached.or((left == 0).then_some(Ended::MaxCalls));
        left = left.saturating_sub(1);
        match (standing, limit) {
            (_, Some(limit)) => sorted.refused.push((call, Refused::Limit(limit))),
            (Standing::Own(Leave::Auto(tool)), None) if !is_cut => {
                sorted.run.push(OwnCall { call, tool: tool.clone() });
            }
            (Standing::Own(Leave::Search), None) if !is_cut => sorted.search.push(call),
            (Standing::Own(_), None) => sorted.refused.push((call, Refused::CutOff)),
            (Standing::Unknown | Standing::Theirs, None) => {
                sorted.refused.push((call, Refused::NotOffered));
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

enum Standing<'o> {
    Theirs,
    Own(&'o Leave),
    Unknown,
}

impl Offered {
    fn standing(&self, name: &str) -> Standing<'_> {
        if self.theirs.contains(name) {
            return Standing::Theirs;
        }
        match (self.own.get(name), self.others) {
            (Some(leave), _) => Standing::Own(leave),
            (None, Others::Refused) => Standing::Unknown,
            (None, Others::Theirs) => Standing::Theirs,
        }
    }

    /// Whether a call of this name is the client's to see.
    pub fn is_shown(&self, name: &str) -> bool {
        matches!(self.standing(name), Standing::Theirs | Standing::Own(Leave::Manual))
    }
}

/// What a client insisted on was done: insisting again would go on for ever. Which tools may be
/// called at all stays as it was.
pub fn relaxed(choice: &ToolChoice) -> ToolChoice {
    match choice {
        ToolChoice::Required | ToolChoice::Named(_) => ToolChoice::Auto,
        ToolChoice::Opaque { dialect, value } => {
            let mut value = value.clone();
            relax(&mut value);
            ToolChoice::Opaque { dialect: *dialect, value }
        }
        choice @ (ToolChoice::Unsaid | ToolChoice::Auto | ToolChoice::None) => choice.clone(),
    }
}

/// `allowed_tools` of OpenAI has its mode inside, Gemini's list of names beside it.
fn relax(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    for (key, value) in fields {
        match (key.as_str(), value.as_str()) {
            ("mode", Some("required")) => *value = "auto".into(),
            ("mode", Some("ANY")) => *value = "AUTO".into(),
            _ => relax(value),
        }
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
