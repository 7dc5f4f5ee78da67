//! Turn state machine: decides the next step of the agent loop. Pure; `agent` executes the steps.
//! The only place that decides who runs a call.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tollgate_core::id::ExposedName;

use crate::conversation::{ChatMessage, ChatResponse, FunctionCall, MessagePart, ToolChoice};
use crate::gateway_report::LoopEnd;

/// Tools offered to a model in a round. A call to any other tool is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedTools {
    /// The gateway's tools.
    pub own: BTreeMap<String, ToolRunMode>,
    /// The client's tools. They take precedence over gateway tools of the same name.
    pub theirs: HashSet<String>,
    pub others: UnofferedToolPolicy,
}

/// What to do with a call of a tool that was not offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnofferedToolPolicy {
    #[default]
    Refused,
    /// Left to the client: no agent is involved in the conversation.
    Theirs,
}

/// Whether a gateway tool runs when a model calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRunMode {
    /// Without approval, under this name at the gate: not every dialect accepts every name.
    Auto(ExposedName),
    /// The call is returned to the client, which may have it run.
    Manual,
    /// The loop answers it itself: the tool search.
    Search,
}

/// Limits of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnBounds {
    /// Rounds of calls.
    pub depth: u32,
    /// Calls of all rounds, including those of programs.
    pub calls: u32,
    /// Total time of tools; `None`: no budget.
    pub tool_time: Option<Duration>,
}

/// What a turn has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnSpending {
    /// Rounds of calls that were handled, whether any was run or not.
    pub depth: u32,
    pub calls: u32,
    pub tool_time: Duration,
}

/// What to do with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnStep {
    /// End the loop.
    Finish(LoopEnd),
    /// Handle the calls, then continue.
    Deal { sorted: SortedCalls, then: AfterCalls },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCalls {
    /// Query the model again.
    Ask,
    /// Query it once more, without tools: a limit was reached, and it may answer with what it has.
    Conclude(LoopEnd),
    /// The client handles the rest.
    Return,
}

/// The calls of an answer, grouped by how they are handled, each in the model's order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SortedCalls {
    pub run: Vec<OwnCall>,
    pub search: Vec<FunctionCall>,
    /// Answered with a reason, and not run.
    pub refused: Vec<(FunctionCall, CallRefusalReason)>,
    /// The client runs or approves them.
    pub pending: Vec<FunctionCall>,
}

/// A call of an offered tool that runs without approval. Only [`next`] creates one.
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
    /// The answer ended before its arguments were complete, or may have.
    CutOff,
    /// The turn has reached this limit.
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
    // Every call counts, however it is handled: this bounds the turn.
    let mut left = bounds.calls.saturating_sub(spent.calls);
    let mut sorted = SortedCalls::default();
    let mut exceeded = None;
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
            (_, Some(limit)) => {
                exceeded = Some(limit);
                sorted.refused.push((call, CallRefusalReason::Limit(limit)));
            }
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
    let then = match (reached.or(exceeded), sorted.pending.is_empty()) {
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

    /// Whether the client sees a call of this name.
    pub fn is_shown(&self, name: &str) -> bool {
        matches!(
            self.ownership(name),
            CallOwnership::Theirs | CallOwnership::Own(ToolRunMode::Manual)
        )
    }
}

/// The tool choice that a client forced was made: forcing it again would never end. The set of
/// allowed tools does not change.
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

/// OpenAI's `allowed_tools` contains its mode; Gemini has it beside the list of names.
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

/// Ids of the calls of a turn. Made unique, because results are matched by them, whatever ids the
/// model used.
#[derive(Debug, Clone, Default)]
pub struct TurnCallIds(HashSet<String>);

impl TurnCallIds {
    /// Ids in these messages are not used again.
    pub fn behind(messages: &[Arc<ChatMessage>]) -> Self {
        let calls =
            messages.iter().flat_map(|message| &message.parts).filter_map(MessagePart::as_call);
        Self(calls.map(|call| call.id.clone()).collect())
    }

    /// The same id if it is unused, otherwise a new one.
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
