//! A calibration run on command: probes every tool several times and reports each step.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::{Mutex, mpsc};
use tollgate_core::id::ServerId;
use tollgate_core::probe::{self, NotProbedError, ProbeArguments};
use tollgate_core::tool::Tool;

use super::prober::{ProbeOutcome, Prober};
use super::{CalibrationStep, Outcome};
use crate::gate::Gate;

pub(super) async fn run(
    gate: Arc<Gate>,
    tools: Vec<Arc<Tool>>,
    times: u32,
    steps: mpsc::Sender<CalibrationStep>,
) {
    let times = usize::try_from(times).unwrap_or(usize::MAX);
    // The schemas are untrusted: not on a thread that serves calls.
    let Ok(sorted) = tokio::task::spawn_blocking(move || ToolsByServer::of(tools)).await else {
        return;
    };
    let probed: usize = sorted.servers.values().map(Vec::len).sum();
    let total = probed.saturating_mul(times).saturating_add(sorted.left_alone.len());
    let teller = StepReporter { steps, total, done: Mutex::new(0) };
    for (tool, why) in &sorted.left_alone {
        let outcome = Outcome::Skipped { why: why.to_string() };
        if teller.tell(tool, outcome, 1).await.is_err() {
            return;
        }
    }
    let meters = Arc::clone(&gate.meters);
    let enough = usize::try_from(gate.probes_that_count()).unwrap_or(usize::MAX);
    let run = CalibrationRun { prober: Prober::new(gate), teller, enough };
    let servers = sorted.servers.into_values();
    join_all(servers.map(|tools| in_turns(&run, tools, times))).await;
    // The caller expects the tiers to be up to date at the end.
    meters.judge();
}

/// All tools of one server once, then all again: an interrupted run has covered every tool.
async fn in_turns(run: &CalibrationRun, tools: Vec<(Arc<Tool>, ProbeArguments)>, times: usize) {
    let mut tools: Vec<_> = tools.into_iter().map(|it| (it, 0)).collect();
    for turn in 0..times {
        let mut next = Vec::with_capacity(tools.len());
        for ((tool, probe), mut late) in tools {
            let left = times - turn;
            let (outcome, done) = match run.prober.probe(&tool, &probe).await {
                ProbeOutcome::Answered { took } => (Outcome::Probed { took }, 1),
                ProbeOutcome::Failed { why } => (Outcome::Failed { why }, 1),
                ProbeOutcome::InVain { why } => (Outcome::Failed { why }, left),
                ProbeOutcome::Late { why } => {
                    late += 1;
                    let is_known = late >= run.enough;
                    (Outcome::Failed { why }, if is_known { left } else { 1 })
                }
            };
            if run.teller.tell(&tool, outcome, done).await.is_err() {
                return;
            }
            if done < left {
                next.push(((tool, probe), late));
            }
        }
        tools = next;
    }
}

struct CalibrationRun {
    prober: Prober,
    teller: StepReporter,
    /// A tool that was late this often is known to be slow and is not probed again.
    enough: usize,
}

struct ToolsByServer {
    servers: BTreeMap<ServerId, Vec<(Arc<Tool>, ProbeArguments)>>,
    left_alone: Vec<(Arc<Tool>, NotProbedError)>,
}

impl ToolsByServer {
    fn of(tools: Vec<Arc<Tool>>) -> Self {
        let mut sorted = Self { servers: BTreeMap::new(), left_alone: Vec::new() };
        for tool in tools {
            match probe::of(&tool) {
                Ok(probe) => {
                    let server = sorted.servers.entry(tool.id.server.clone()).or_default();
                    server.push((tool, probe));
                }
                Err(why) => sorted.left_alone.push((tool, why)),
            }
        }
        sorted
    }
}

struct StepReporter {
    steps: mpsc::Sender<CalibrationStep>,
    total: usize,
    /// Locked while a step is reported, to keep the steps in order.
    done: Mutex<usize>,
}

struct ListenerGoneError;

impl StepReporter {
    async fn tell(
        &self,
        tool: &Tool,
        outcome: Outcome,
        more: usize,
    ) -> Result<(), ListenerGoneError> {
        let mut done = self.done.lock().await;
        *done += more;
        let id = tool.id.clone();
        let exposed = tool.exposed.to_string();
        let step = CalibrationStep { tool: id, exposed, outcome, done: *done, total: self.total };
        self.steps.send(step).await.map_err(|_| ListenerGoneError)
    }
}
