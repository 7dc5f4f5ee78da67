//! What comes next in a turn: the decisions of the loop in which a model uses tools. Pure; `agent`
//! acts on them. The only place that says whose a call is.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde_json::Value;
use tollgate_core::id::ExposedName;

use crate::conversation::{ChatMessage, ChatResponse, FunctionCall, MessagePart, ToolChoice};
use crate::gateway_report::LoopEnd;

/// What a model was offered in a round. A call to anything else is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedTools {
    /// The gateway's tools.
    pub own: BTreeMap<String, ToolRunMode>,
    /// The client's tools. They go before the gateway's own of the same name.
    pub theirs: HashSet<String>,
    pub others: UnofferedToolPolicy,
}

/// What a call is of a tool that nobody offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnofferedToolPolicy {
    #[default]
    Refused,
    /// The client's to judge: no agent has a part in the conversation.
    Theirs,
}

/// Whether a tool of the gateway runs when a model wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRunMode {
    /// Without anybody's leave, under this name at the gate: not every dialect takes every name.
    Auto(ExposedName),
    /// The call goes back to the client, who may have it run.
    Manual,
    /// It is answered by the loop itself: the search for tools.
    Search,
}

/// How far a turn may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnBounds {
    /// Rounds of calls.
    pub depth: u32,
    /// Calls of all rounds together, those of programs included.
    pub calls: u32,
    /// Of tools, one after another; `None`: no budget.
    pub tool_time: Option<Duration>,
}

/// How far it went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnSpending {
    /// Rounds of calls that were dealt with, whether any was run or not.
    pub depth: u32,
    pub calls: u32,
    pub tool_time: Duration,
}

/// What to do about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnStep {
    /// It is the end.
    Finish(LoopEnd),
    /// Deal with the calls, then go on.
    Deal { sorted: SortedCalls, then: AfterCalls },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCalls {
    /// Ask the model again.
    Ask,
    /// Ask it once more, without tools: it has come to a limit and may say what it knows.
    Conclude(LoopEnd),
    /// The rest is the client's.
    Return,
}

/// The calls of an answer, by what becomes of them, each in the model's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SortedCalls {
    pub run: Vec<OwnCall>,
    pub search: Vec<FunctionCall>,
    /// Answered with a reason, and run by nobody.
    pub refused: Vec<(FunctionCall, CallRefusalReason)>,
    /// The client's to run, or to agree to.
    pub pending: Vec<FunctionCall>,
}

/// A call of a tool that was offered and runs by itself. Only [`next`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCall {
    call: FunctionCall,
    tool: ExposedName,
}

impl OwnCall {
    pub fn call(&self) -> &FunctionCall {
        &self.call
    }

    pub fn tool(&self) -> &ExposedName {
        &self.tool
    }
}

/// Why a call is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallRefusalReason {
    /// No such tool was offered.
    NotOffered,
    /// The answer ended before its arguments did, or may have.
    CutOff,
    /// The turn has come to this limit.
    Limit(LoopEnd),
}

pub fn next(
    response: &ChatResponse,
    offered: &OfferedTools,
    spent: &TurnSpending,
    bounds: &TurnBounds,
) -> TurnStep {
    let calls: Vec<&FunctionCall> = response.calls().collect();
    let Some(last) = calls.last().map(|call| call.id.clone()) else {
        return TurnStep::Finish(LoopEnd::Answered);
    };
    let cut = (!response.stop.is_whole()).then_some(last);
    let reached = first_limit_reached(spent, bounds);
    // Whatever becomes of a call, it is one: nothing of a turn goes on without end.
    let mut left = bounds.calls.saturating_sub(spent.calls);
    let mut sorted = SortedCalls::default();
    for call in calls {
        let is_cut = cut.as_ref() == Some(&call.id);
        let call = call.clone();
        let standing = match offered.ownership(&call.name) {
            CallOwnership::Theirs | CallOwnership::Own(ToolRunMode::Manual) => {
                sorted.pending.push(call);
                continue;
            }
            standing => standing,
        };
        let limit = reached.or((left == 0).then_some(LoopEnd::MaxCalls));
        left = left.saturating_sub(1);
        match (standing, limit) {
            (_, Some(limit)) => sorted.refused.push((call, CallRefusalReason::Limit(limit))),
            (CallOwnership::Own(ToolRunMode::Auto(tool)), None) if !is_cut => {
                sorted.run.push(OwnCall { call, tool: tool.clone() });
            }
            (CallOwnership::Own(ToolRunMode::Search), None) if !is_cut => sorted.search.push(call),
            (CallOwnership::Own(_), None) => sorted.refused.push((call, CallRefusalReason::CutOff)),
            (CallOwnership::Unknown | CallOwnership::Theirs, None) => {
                sorted.refused.push((call, CallRefusalReason::NotOffered));
            }
        }
    }
    let then = match (reached, sorted.pending.is_empty()) {
        (_, false) => AfterCalls::Return,
        (Some(limit), true) => AfterCalls::Conclude(limit),
        (None, true) => AfterCalls::Ask,
    };
    TurnStep::Deal { sorted, then }
}

fn first_limit_reached(spent: &TurnSpending, bounds: &TurnBounds) -> Option<LoopEnd> {
    if spent.depth >= bounds.depth {
        Some(LoopEnd::MaxDepth)
    } else if spent.calls >= bounds.calls {
        Some(LoopEnd::MaxCalls)
    } else if bounds.tool_time.is_some_and(|most| spent.tool_time >= most) {
        Some(LoopEnd::Deadline)
    } else {
        None
    }
}

enum CallOwnership<'o> {
    Theirs,
    Own(&'o ToolRunMode),
    Unknown,
}

impl OfferedTools {
    fn ownership(&self, name: &str) -> CallOwnership<'_> {
        if self.theirs.contains(name) {
            return CallOwnership::Theirs;
        }
        match (self.own.get(name), self.others) {
            (Some(leave), _) => CallOwnership::Own(leave),
            (None, UnofferedToolPolicy::Refused) => CallOwnership::Unknown,
            (None, UnofferedToolPolicy::Theirs) => CallOwnership::Theirs,
        }
    }

    /// Whether a call of this name is the client's to see.
    pub fn is_shown(&self, name: &str) -> bool {
        matches!(
            self.ownership(name),
            CallOwnership::Theirs | CallOwnership::Own(ToolRunMode::Manual)
        )
    }
}

/// What a client insisted on was done: insisting again would go on for ever. Which tools may be
/// called at all stays as it was.
pub fn relax_choice(choice: &ToolChoice) -> ToolChoice {
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
pub struct TurnCallIds(HashSet<String>);

impl TurnCallIds {
    /// None that stands in these messages is given again.
    pub fn behind(messages: &[ChatMessage]) -> Self {
        let calls =
            messages.iter().flat_map(|message| &message.parts).filter_map(MessagePart::as_call);
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
