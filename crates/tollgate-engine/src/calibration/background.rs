//! Probes that nobody asked for: servers that come up, tools that could be back in their tier,
//! and, now and then, whatever is idle. One task; owned by whoever started the gate.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tollgate_core::budget::Tier;
use tollgate_core::id::{ServerId, ToolId};
use tollgate_core::probe::{self, Probe, WhyNot};
use tollgate_core::standing::{self, Basis, Held};
use tollgate_core::tool::Tool;
use tollgate_mcp::tasks::{self, Task};

use super::prober::{Came, Prober};
use super::schedule::{Ended, Errand, Facts, Standing, Times};
use crate::gate::Gate;
use crate::probing;
use crate::settings::{Budget, Calibrate, Server};

/// How often it is seen to what is due.
const TICK: Duration = Duration::from_secs(1);
/// Between the probes of a tool that is well again.
const GENTLY: Duration = Duration::from_millis(200);

/// What is probed without being asked for.
#[derive(Debug, Clone)]
pub(crate) struct Habit {
    /// How often an idle tool is probed. Zero: never.
    pub(crate) every: Duration,
    /// Servers with `calibrate: false`.
    pub(crate) left_alone: HashSet<ServerId>,
}

impl Habit {
    pub(crate) fn of(budget: &Budget, servers: &[Server]) -> Self {
        let left_alone = servers.iter().filter(|server| server.calibrate == Calibrate::OnCommand);
        Self {
            every: budget.calibrate_every,
            left_alone: left_alone.map(|server| server.id.clone()).collect(),
        }
    }
}

pub(crate) fn keep(gate: &Arc<Gate>, habit: Arc<ArcSwap<Habit>>) -> Task {
    tasks::spawn("calibration", Background::new(gate, habit).run())
}

pub(super) struct Background {
    /// It ends with the gate, and does not keep it.
    gate: Weak<Gate>,
    /// Changes with the config.
    habit: Arc<ArcSwap<Habit>>,
    entries: HashMap<ToolId, Entry>,
    /// Probes of new tools that are being made.
    making: FuturesUnordered<JoinHandle<Vec<Made>>>,
    /// Servers that are being probed.
    busy: HashSet<ServerId>,
    running: FuturesUnordered<BoxFuture<'static, Report>>,
}

/// One tool of the catalogue.
struct Entry {
    tool: Arc<Tool>,
    prospect: Prospect,
}

/// Whether a tool can be probed. For one and the same tool that is found out once.
enum Prospect {
    Unknown,
    Never,
    Due { probe: Arc<Probe>, times: Times },
}

type Made = (Arc<Tool>, Result<Probe, WhyNot>);

/// What was done at one server.
struct Report {
    server: ServerId,
    done: Vec<(ToolId, Errand, Ended)>,
}

/// What there is to see to.
enum Next {
    Catalog,
    Made(Vec<Made>),
    Report(Report),
    Tick,
}

/// One tool, and what is to be done with it.
struct Job {
    tool: Arc<Tool>,
    probe: Arc<Probe>,
    errand: Errand,
}

impl Background {
    pub(super) fn new(gate: &Arc<Gate>, habit: Arc<ArcSwap<Habit>>) -> Self {
        Self {
            gate: Arc::downgrade(gate),
            habit,
            entries: HashMap::new(),
            making: FuturesUnordered::new(),
            busy: HashSet::new(),
            running: FuturesUnordered::new(),
        }
    }

    async fn run(mut self) {
        let Some(mut changes) = self.gate.upgrade().map(|gate| gate.changes()) else { return };
        changes.mark_changed();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let next = tokio::select! {
                changed = changes.changed() => match changed {
                    Ok(()) => Next::Catalog,
                    Err(_) => return,
                },
                Some(made) = self.making.next(), if !self.making.is_empty() => {
                    // A panic in there is told by the panic itself.
                    Next::Made(made.unwrap_or_default())
                }
                Some(report) = self.running.next(), if !self.running.is_empty() => {
                    Next::Report(report)
                }
                _ = tick.tick() => Next::Tick,
            };
            let Some(gate) = self.gate.upgrade() else { return };
            match next {
                Next::Catalog => self.know(&gate),
                Next::Made(made) => self.learn(made, gate.clock.now()),
                Next::Report(report) => self.note(report, gate.clock.now()),
                Next::Tick => {}
            }
            self.set_out(&gate);
        }
    }

    /// Takes the tools of a new catalogue. One that is not new keeps its place in the schedule.
    pub(super) fn know(&mut self, gate: &Gate) {
        let catalog = gate.catalog();
        let habit = self.habit.load();
        let ours = |tool: &&Arc<Tool>| !habit.left_alone.contains(&tool.id.server);
        let mut new = Vec::new();
        let mut entries = HashMap::new();
        for tool in catalog.tools.iter().filter(ours) {
            match self.entries.remove(&tool.id) {
                Some(entry) if Arc::ptr_eq(&entry.tool, tool) => {
                    entries.insert(tool.id.clone(), entry);
                }
                _ => {
                    let entry = Entry { tool: Arc::clone(tool), prospect: Prospect::Unknown };
                    entries.insert(tool.id.clone(), entry);
                    new.push(Arc::clone(tool));
                }
            }
        }
        self.entries = entries;
        if new.is_empty() {
            return;
        }
        // Strangers wrote the schemas: not on a thread that serves calls, and no probe that is
        // under way waits for it.
        let probed = |tool: Arc<Tool>| (Arc::clone(&tool), probe::of(&tool));
        let make = move || new.into_iter().map(probed).collect();
        self.making.push(tokio::task::spawn_blocking(make));
    }

    /// Takes the probes that were made, of tools that are still there.
    pub(super) fn learn(&mut self, made: Vec<Made>, now: Instant) {
        for (tool, probe) in made {
            let entry = self.entries.get_mut(&tool.id);
            let Some(entry) = entry.filter(|it| Arc::ptr_eq(&it.tool, &tool)) else { continue };
            entry.prospect = match probe {
                Ok(probe) => {
                    let times = Times::new(probe.origin, now);
                    Prospect::Due { probe: Arc::new(probe), times }
                }
                Err(why) => {
                    tracing::debug!(tool = %tool.id, %why, "a tool is left alone");
                    Prospect::Never
                }
            };
        }
    }

    /// Waits for the probes that are being made. How many tools they are for.
    #[cfg(test)]
    pub(super) async fn made(&mut self, now: Instant) -> usize {
        let mut tools = 0;
        while let Some(made) = self.making.next().await {
            let made = made.unwrap();
            tools += made.len();
            self.learn(made, now);
        }
        tools
    }

    /// Sends somebody to every server where something is due and nobody is.
    fn set_out(&mut self, gate: &Arc<Gate>) {
        let every = self.habit.load().every;
        let mut due: HashMap<ServerId, Vec<Job>> = HashMap::new();
        for entry in self.entries.values_mut() {
            let server = &entry.tool.id.server;
            if self.busy.contains(server) || !gate.servers.is_up(server) {
                continue;
            }
            let Prospect::Due { probe, times } = &mut entry.prospect else { continue };
            let facts = facts(gate, &entry.tool.id);
            if let Some(errand) = times.due(&facts, every) {
                let (tool, probe) = (Arc::clone(&entry.tool), Arc::clone(probe));
                due.entry(server.clone()).or_default().push(Job { tool, probe, errand });
            }
        }
        for (server, mut jobs) in due {
            if self.running.len() >= probing::MOST {
                return;
            }
            jobs.sort_by(|a, b| a.tool.exposed.cmp(&b.tool.exposed));
            self.busy.insert(server.clone());
            let prober = Prober::new(Arc::clone(gate));
            self.running.push(Visit { prober, server }.run(jobs).boxed());
        }
    }

    fn note(&mut self, report: Report, now: Instant) {
        self.busy.remove(&report.server);
        for (tool, errand, ended) in report.done {
            tracing::debug!(%tool, ?errand, ?ended, "probed");
            let prospect = self.entries.get_mut(&tool).map(|it| &mut it.prospect);
            if let Some(Prospect::Due { times, .. }) = prospect {
                times.done(errand, ended, now);
            }
        }
    }
}

fn facts(gate: &Gate, tool: &ToolId) -> Facts {
    let assigned = gate.meters.assigned(tool);
    let timed = assigned.map_or(0, |assigned| assigned.figures.timed());
    let enough = usize::try_from(gate.probes_that_count()).unwrap_or(usize::MAX);
    Facts {
        now: gate.clock.now(),
        idle_since: gate.meters.idle_since(&tool.server),
        missing: enough.saturating_sub(timed),
        standing: standing_of(gate, tool),
    }
}

/// One that only waits for its time to change needs no more probes.
fn standing_of(gate: &Gate, tool: &ToolId) -> Standing {
    let held = gate.meters.assigned(tool).and_then(|assigned| assigned.cause.held);
    match gate.meters.wants_probe(tool) && !matches!(held, Some(Held::Dwell { .. })) {
        true => Standing::CouldBeBetter,
        false => Standing::Fine,
    }
}

/// One after the other at one server.
struct Visit {
    prober: Prober,
    server: ServerId,
}

impl Visit {
    async fn run(self, jobs: Vec<Job>) -> Report {
        let mut done = Vec::with_capacity(jobs.len());
        let mut slow = Vec::new();
        for job in jobs {
            let ended = match job.errand {
                Errand::Fill { probes } => match self.fill(&job, probes).await {
                    Filled::Ended(ended) => ended,
                    Filled::TooSlow { left } => {
                        slow.push((job, left));
                        continue;
                    }
                },
                Errand::Revive => self.revive(&job).await,
                Errand::Refresh => self.refresh(&job).await,
            };
            done.push((job.tool.id.clone(), job.errand, ended));
        }
        // Last, so that the others need not wait for them.
        for (job, mut left) in slow {
            while let Filled::TooSlow { left: still } = self.fill(&job, left).await {
                left = still;
            }
            done.push((job.tool.id.clone(), job.errand, Ended::Well));
        }
        Report { server: self.server, done }
    }

    /// Until it was late once, or has been probed often enough.
    async fn fill(&self, job: &Job, probes: usize) -> Filled {
        for left in (0..probes).rev() {
            match self.prober.probe(&job.tool, &job.probe).await {
                Came::Answered { .. } | Came::Failed { .. } => {}
                Came::Late { .. } => return Filled::TooSlow { left },
                Came::InVain { .. } => return Filled::Ended(Ended::Badly),
            }
        }
        Filled::Ended(Ended::Well)
    }

    /// If the first probe finds it well again, the rest of a run follows at once: then it is back
    /// within seconds, not after as many calls as it failed before.
    async fn revive(&self, job: &Job) -> Ended {
        let (gate, tool) = (self.prober.gate(), &job.tool.id);
        for at in 0..standing::RUN {
            if at > 0 {
                tokio::time::sleep(GENTLY).await;
                if standing_of(gate, tool) == Standing::Fine {
                    break;
                }
            }
            let good = good(gate, tool);
            match self.prober.probe(&job.tool, &job.probe).await {
                Came::Answered { took } if took <= good => {}
                _ => return Ended::Badly,
            }
        }
        Ended::Well
    }

    async fn refresh(&self, job: &Job) -> Ended {
        if self.prober.gate().meters.idle_since(&self.server).is_none() {
            return Ended::Interrupted;
        }
        match self.prober.probe(&job.tool, &job.probe).await {
            Came::Answered { .. } => Ended::Well,
            Came::Failed { .. } | Came::Late { .. } | Came::InVain { .. } => Ended::Badly,
        }
    }
}

/// What came of measuring a tool.
enum Filled {
    Ended(Ended),
    TooSlow { left: usize },
}

/// What an answer may take to help the tool down a tier, or to stay where it is on trial.
fn good(gate: &Gate, tool: &ToolId) -> Duration {
    let Some(assigned) = gate.meters.assigned(tool) else { return Duration::MAX };
    let lower = match assigned.tier {
        Tier::Fast | Tier::Standard => Tier::Fast,
        Tier::Deep => Tier::Standard,
    };
    match assigned.cause.basis {
        Basis::Trial { .. } => gate.registry.current().charter.ceilings.of(assigned.tier),
        _ => standing::comfortable(gate.registry.current().charter.ceilings.of(lower)),
    }
}
