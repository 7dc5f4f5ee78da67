//! One probe: a call through the gate by the `calibration` principal, which sees every tool.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tollgate_core::agent::Agent;
use tollgate_core::budget::Tier;
use tollgate_core::call::{self, CallStatus, Decider, GateRequest, RequestKind};
use tollgate_core::filter::{GlobalRules, ToolFilter};
use tollgate_core::id::AgentId;
use tollgate_core::json::{Object, raw_value};
use tollgate_core::probe::{ProbeArguments, ProbeOrigin};
use tollgate_core::text::truncate_chars;
use tollgate_core::tool::Tool;
use tollgate_core::turn::{Actor, Principal, Turn, TurnId};
use tollgate_core::view::View;
use tollgate_mcp::meta::ClientFacts;

use crate::caller::{CacheFreshness, CallError, CallPurpose, Caller, OverflowPolicy, Reply};
use crate::gate::Gate;

/// Principal of probes in records.
const CALIBRATION_PRINCIPAL: &str = "calibration";
/// Length of a tool's error message that is passed on.
const MAX_REASON_CHARS: usize = 200;

pub(super) struct Prober {
    gate: Arc<Gate>,
    turn: Turn,
    nobody: ClientFacts,
}

/// The outcome of a probe.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProbeOutcome {
    Answered {
        took: Duration,
    },
    /// The tool failed on arguments that should be valid.
    Failed {
        why: String,
    },
    /// The deadline passed. That is a measurement too.
    Late {
        why: String,
    },
    /// A retry would not help: the tool was not available, or rejects generated arguments.
    InVain {
        why: String,
    },
}

impl Prober {
    /// Sees the tools of the current catalogue.
    pub(super) fn new(gate: Arc<Gate>) -> Self {
        let id = AgentId::parse(CALIBRATION_PRINCIPAL).expect("a valid name");
        let everyone = Agent { id, ..Agent::implicit() };
        let global = GlobalRules::default();
        let sieve = ToolFilter::of(&global, &everyone, Tier::Deep);
        // Includes tools that only programs may call.
        let view = Arc::clone(View::build(&gate.catalog(), &sieve).in_code());
        let principal = Principal::from_name(CALIBRATION_PRINCIPAL);
        let id = TurnId::new(gate.clock.wall(), gate.random.bits());
        let policy = Arc::clone(&gate.registry.current().calls);
        let turn = Turn::open(id, gate.clock.now(), Actor::endless(principal), view, policy);
        Self { gate, turn, nobody: ClientFacts::default() }
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(super) async fn probe(&self, tool: &Tool, probe: &ProbeArguments) -> ProbeOutcome {
        let _leave = self.gate.probing.acquire(&tool.id.server).await;
        let mut params = Object::new();
        params.set_string("name", tool.exposed.as_str());
        params.set("arguments", raw_value(&probe.arguments));
        let request = GateRequest { kind: RequestKind::CallTool, params };
        let purpose = match probe.origin {
            ProbeOrigin::Operator => CallPurpose::Probe,
            ProbeOrigin::MadeUp => CallPurpose::BlindProbe,
        };
        let freshness = CacheFreshness::Fresh;
        let rest = OverflowPolicy::Lost;
        // No rate limits and no approvals for a measurement: `probe::of` has checked that it is
        // safe.
        let decided_by = Decider::Gateway;
        let caller =
            Caller { purpose, freshness, rest, decided_by, ..Caller::silent(&self.nobody) };
        classify_reply(self.gate.call(&self.turn, request, caller).await, probe.origin)
    }
}

fn classify_reply(reply: Result<Reply, CallError>, origin: ProbeOrigin) -> ProbeOutcome {
    let failed = |why| match origin {
        ProbeOrigin::Operator => ProbeOutcome::Failed { why },
        ProbeOrigin::MadeUp => {
            ProbeOutcome::InVain { why: format!("with generated arguments: {why}") }
        }
    };
    match reply {
        Ok(Reply::Tool(outcome)) => match outcome.status {
            CallStatus::Ok | CallStatus::NoResults => {
                ProbeOutcome::Answered { took: outcome.duration }
            }
            CallStatus::Error => failed(failure_reason(&outcome)),
            CallStatus::Timeout => ProbeOutcome::Late { why: failure_reason(&outcome) },
            CallStatus::Pending
            | CallStatus::Denied
            | CallStatus::InvalidArguments
            | CallStatus::RateLimited
            | CallStatus::Offline => ProbeOutcome::InVain {
                why: format!("{}: {}", outcome.status, failure_reason(&outcome)),
            },
        },
        Ok(Reply::InputRequired(_) | Reply::Task(_) | Reply::Result(_)) => {
            ProbeOutcome::InVain { why: "it requires user input".to_owned() }
        }
        Err(error @ CallError::Upstream(_)) => failed(clean(&error.to_string())),
        Err(error) => ProbeOutcome::InVain { why: clean(&error.to_string()) },
    }
}

/// The error text of a failed tool.
fn failure_reason(outcome: &call::Outcome) -> String {
    let result: Value = serde_json::from_str(outcome.result.get()).unwrap_or_default();
    match result["content"][0]["text"].as_str() {
        Some(text) => clean(text),
        None => "it gave no reason".to_owned(),
    }
}

/// For one line of terminal output.
fn clean(text: &str) -> String {
    let text: String = text
        .chars()
        .take(4 * MAX_REASON_CHARS)
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect();
    truncate_chars(text.trim(), MAX_REASON_CHARS)
}
