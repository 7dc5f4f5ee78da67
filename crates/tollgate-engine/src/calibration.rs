//! Calibration: measures tool latency with probe calls, on command, when a server comes up, and
//! while it is idle.
//!
//! Every probe is a call through the gate; tools that could have side effects are not probed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tollgate_core::id::ToolId;
use tollgate_core::tool::Tool;
use tollgate_mcp::tasks::{self, Task};

use crate::gate::Gate;

mod background;
mod prober;
mod run;
mod schedule;

pub(crate) use background::{BackgroundProbing, spawn_background};

/// Steps queued for a slow reader; then the run waits too.
const QUEUE: usize = 64;

/// Whether tools are probed automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CalibrationMode {
    /// When their server comes up, and while it is idle.
    #[default]
    ByItself,
    /// For a process that runs one command and exits.
    OnCommand,
}

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibrationScope<'a> {
    All,
    Server(&'a str),
    /// By its exposed name.
    Tool(&'a str),
}

/// A run, as a stream of steps; empty if nothing has the name. Dropping it stops the run.
#[derive(Debug)]
pub struct Calibration {
    steps: mpsc::Receiver<CalibrationStep>,
    _run: Task,
}

/// One tool was probed once, or skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationStep {
    pub tool: ToolId,
    /// The exposed name.
    pub exposed: String,
    pub outcome: Outcome,
    /// Of `total`. A tool that is given up counts with its remaining probes.
    pub done: usize,
    pub total: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Probed {
        took: Duration,
    },
    /// Nothing was sent.
    Skipped {
        why: String,
    },
    /// With generated arguments this is not a measurement.
    Failed {
        why: String,
    },
}

impl Calibration {
    /// `None` at the end of the run.
    pub async fn next(&mut self) -> Option<CalibrationStep> {
        self.steps.recv().await
    }
}

impl Gate {
    /// Probes each tool `times` times, as far as that is safe: servers in parallel, the tools of
    /// one server in turns.
    pub fn calibrate(self: &Arc<Self>, scope: CalibrationScope<'_>, times: u32) -> Calibration {
        let (sender, steps) = mpsc::channel(QUEUE);
        let run = run::run(Arc::clone(self), tools(self, scope), times, sender);
        Calibration { steps, _run: tasks::spawn("calibration", run) }
    }

    /// How many probes are needed to count as a measurement.
    pub fn probes_that_count(&self) -> u32 {
        self.meters.min_samples()
    }
}

fn tools(gate: &Gate, scope: CalibrationScope<'_>) -> Vec<Arc<Tool>> {
    let is_meant = |tool: &&Arc<Tool>| match scope {
        CalibrationScope::All => true,
        CalibrationScope::Server(server) => tool.id.server.as_str() == server,
        CalibrationScope::Tool(exposed) => tool.exposed.as_str() == exposed,
    };
    gate.catalog().tools.iter().filter(is_meant).cloned().collect()
}

#[cfg(test)]
mod tests;
