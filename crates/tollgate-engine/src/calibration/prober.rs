//! One probe: a call through the door by nobody in particular, who sees every tool.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tollgate_core::agent::Agent;
use tollgate_core::budget::Tier;
use tollgate_core::call::{self, Decider, Kind, Request, Status};
use tollgate_core::filter::{House, Sieve};
use tollgate_core::id::AgentId;
use tollgate_core::json::{Object, raw_value};
use tollgate_core::probe::{Origin, Probe};
use tollgate_core::text::shortened;
use tollgate_core::tool::Tool;
use tollgate_core::turn::{Actor, Principal, Turn, TurnId};
use tollgate_core::view::View;
use tollgate_mcp::meta::ClientFacts;

use crate::caller::{CallError, Caller, Freshness, Purpose, Reply, Rest};
use crate::gate::Gate;

/// Whose calls probes are, in records.
const NAME: &str = "calibration";
/// Characters of a tool's complaint that are passed on.
const SAID: usize = 200;

pub(super) struct Prober {
    gate: Arc<Gate>,
    turn: Turn,
    nobody: ClientFacts,
}

/// What came of a probe.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    Answered {
        took: Duration,
    },
    /// The tool failed on arguments that should do.
    Failed {
        why: String,
    },
    /// It did not answer in time. That is a measurement too.
    Late {
        why: String,
    },
    /// Asking again would be no better: it was not there, or does not like made-up arguments.
    InVain {
        why: String,
    },
}

impl Prober {
    /// Sees the tools that there are now.
    pub(super) fn new(gate: Arc<Gate>) -> Self {
        let id = AgentId::parse(NAME).expect("a valid name");
        let everyone = Agent { id, ..Agent::implicit() };
        let house = House::default();
        let sieve = Sieve::of(&house, &everyone, Tier::Deep);
        // Also what only programs call.
        let view = Arc::clone(View::build(&gate.catalog(), &sieve).in_code());
        let principal = Principal::named(NAME);
        let id = TurnId::new(gate.clock.wall(), rand::random());
        let turn = Turn::open(id, gate.clock.now(), Actor::endless(principal), view);
        Self { gate, turn, nobody: ClientFacts::default() }
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(super) async fn probe(&self, tool: &Tool, probe: &Probe) -> Came {
        let _leave = self.gate.probing.leave(&tool.id.server).await;
        let mut params = Object::new();
        params.set_string("name", tool.exposed.as_str());
        params.set("arguments", raw_value(&probe.arguments));
        let request = Request { kind: Kind::CallTool, params };
        let purpose = match probe.origin {
            Origin::Operator => Purpose::Probe,
            Origin::MadeUp => Purpose::BlindProbe,
        };
        let (freshness, rest) = (Freshness::Fresh, Rest::Lost);
        // Nobody's limits count for a measurement, and nobody is asked: `probe::of` has decided.
        let decided_by = Decider::Gateway;
        let caller =
            Caller { purpose, freshness, rest, decided_by, ..Caller::silent(&self.nobody) };
        came(self.gate.call(&self.turn, request, caller).await, probe.origin)
    }
}

fn came(reply: Result<Reply, CallError>, origin: Origin) -> Came {
    let failed = |why| match origin {
        Origin::Operator => Came::Failed { why },
        Origin::MadeUp => Came::InVain { why: format!("with made-up arguments: {why}") },
    };
    match reply {
        Ok(Reply::Tool(outcome)) => match outcome.status {
            Status::Ok | Status::NoResults => Came::Answered { took: outcome.duration },
            Status::Error => failed(said(&outcome)),
            Status::Timeout => Came::Late { why: said(&outcome) },
            Status::Pending
            | Status::Denied
            | Status::InvalidArguments
            | Status::RateLimited
            | Status::Offline => {
                Came::InVain { why: format!("{}: {}", outcome.status, said(&outcome)) }
            }
        },
        Ok(Reply::InputRequired(_) | Reply::Task(_) | Reply::Result(_)) => {
            Came::InVain { why: "it wants more than arguments".to_owned() }
        }
        Err(error @ CallError::Upstream(_)) => failed(clean(&error.to_string())),
        Err(error) => Came::InVain { why: clean(&error.to_string()) },
    }
}

/// What a tool that failed says about it.
fn said(outcome: &call::Outcome) -> String {
    let result: Value = serde_json::from_str(outcome.result.get()).unwrap_or_default();
    match result["content"][0]["text"].as_str() {
        Some(text) => clean(text),
        None => "it gave no reason".to_owned(),
    }
}

/// For a line on a screen.
fn clean(text: &str) -> String {
    let text: String = text
        .chars()
        .take(4 * SAID)
        .map(|it| match it.is_control() {
            true => ' ',
            false => it,
        })
        .collect();
    shortened(text.trim(), SAID)
}
