//! Background probing: of servers that come up, of tools that may have recovered, and periodically
//! of idle tools. One task, owned by the creator of the gate.

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
use tollgate_core::probe::{self, NotProbedError, ProbeArguments};
use tollgate_core::tier_assignment::{self, TierBasis, TierHold};
use tollgate_core::tool::Tool;
use tollgate_mcp::tasks::{self, Task};

use super::prober::{ProbeOutcome, Prober};
use super::schedule::{ProbeFacts, ProbeSchedule, ProbeTask, ProbeTaskEnd, TierCondition};
use crate::gate::Gate;
use crate::probe_limiter;
use crate::settings::{Server, ServerCalibration, TierSettings};

/// Interval of checks for due probes.
const TICK: Duration = Duration::from_secs(1);
/// Between the probes of a tool that has recovered.
const REVIVAL_PROBE_PAUSE: Duration = Duration::from_millis(200);

/// Configuration of background probing.
#[derive(Debug, Clone)]
pub(crate) struct BackgroundProbing {
    /// Probe interval of an idle tool. Zero: never.
    pub(crate) every: Duration,
    /// Servers with `calibrate: false`.
    pub(crate) left_alone: HashSet<ServerId>,
}

impl BackgroundProbing {
    pub(crate) fn of(budget: &TierSettings, servers: &[Server]) -> Self {
        let left_alone =
            servers.iter().filter(|server| server.calibrate == ServerCalibration::OnCommand);
        Self {
            every: budget.calibrate_every,
            left_alone: left_alone.map(|server| server.id.clone()).collect(),
        }
    }
}

pub(crate) fn spawn_background(gate: &Arc<Gate>, probing: Arc<ArcSwap<BackgroundProbing>>) -> Task {
    tasks::spawn("calibration", BackgroundProber::new(gate, probing).run())
}

pub(super) struct BackgroundProber {
    /// Weak: the task ends with the gate and does not keep it alive.
    gate: Weak<Gate>,
    /// Replaced on a config reload.
    probing: Arc<ArcSwap<BackgroundProbing>>,
    entries: HashMap<ToolId, ProbeCandidate>,
    /// Probe arguments being generated for new tools.
    making: FuturesUnordered<JoinHandle<Vec<PreparedProbe>>>,
    /// Servers that are being probed.
    busy: HashSet<ServerId>,
    running: FuturesUnordered<BoxFuture<'static, ProbeReport>>,
}

/// One tool of the catalogue.
struct ProbeCandidate {
    tool: Arc<Tool>,
    prospect: ProbePlan,
}

/// Whether a tool can be probed. Determined once per tool definition.
enum ProbePlan {
    Unknown,
    Never,
    Due { probe: Arc<ProbeArguments>, times: ProbeSchedule },
}

type PreparedProbe = (Arc<Tool>, Result<ProbeArguments, NotProbedError>);

/// The results of one server's probes.
struct ProbeReport {
    server: ServerId,
    done: Vec<(ToolId, ProbeTask, ProbeTaskEnd)>,
}

/// Events of the task's loop.
enum ProberEvent {
    Catalog,
    Made(Vec<PreparedProbe>),
    Report(ProbeReport),
    Tick,
}

/// One tool and its task.
struct ProbeJob {
    tool: Arc<Tool>,
    probe: Arc<ProbeArguments>,
    task: ProbeTask,
}

impl BackgroundProber {
    pub(super) fn new(gate: &Arc<Gate>, probing: Arc<ArcSwap<BackgroundProbing>>) -> Self {
        Self {
            gate: Arc::downgrade(gate),
            probing,
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
                    Ok(()) => ProberEvent::Catalog,
                    Err(_) => return,
                },
                Some(made) = self.making.next(), if !self.making.is_empty() => {
                    // The panic hook has already reported a panic.
                    ProberEvent::Made(made.unwrap_or_default())
                }
                Some(report) = self.running.next(), if !self.running.is_empty() => {
                    ProberEvent::Report(report)
                }
                _ = tick.tick() => ProberEvent::Tick,
            };
            let Some(gate) = self.gate.upgrade() else { return };
            match next {
                ProberEvent::Catalog => self.take_catalog(&gate),
                ProberEvent::Made(made) => self.take_prepared(made, gate.clock.now()),
                ProberEvent::Report(report) => self.record_report(report, gate.clock.now()),
                ProberEvent::Tick => {}
            }
            self.start_due_probes(&gate);
        }
    }

    /// Takes over the tools of a new catalogue. An unchanged tool keeps its schedule.
    pub(super) fn take_catalog(&mut self, gate: &Gate) {
        let catalog = gate.catalog();
        let probing = self.probing.load();
        let ours = |tool: &&Arc<Tool>| !probing.left_alone.contains(&tool.id.server);
        let mut new = Vec::new();
        let mut entries = HashMap::new();
        for tool in catalog.tools.iter().filter(ours) {
            match self.entries.remove(&tool.id) {
                Some(entry) if Arc::ptr_eq(&entry.tool, tool) => {
                    entries.insert(tool.id.clone(), entry);
                }
                _ => {
                    let entry =
                        ProbeCandidate { tool: Arc::clone(tool), prospect: ProbePlan::Unknown };
                    entries.insert(tool.id.clone(), entry);
                    new.push(Arc::clone(tool));
                }
            }
        }
        self.entries = entries;
        if new.is_empty() {
            return;
        }
        // The schemas are untrusted: generate arguments off the threads that serve calls, and
        // without delaying probes that are running.
        let probed = |tool: Arc<Tool>| (Arc::clone(&tool), probe::of(&tool));
        let make = move || new.into_iter().map(probed).collect();
        self.making.push(tokio::task::spawn_blocking(make));
    }

    /// Takes the generated probe arguments, of tools that still exist.
    pub(super) fn take_prepared(&mut self, made: Vec<PreparedProbe>, now: Instant) {
        for (tool, probe) in made {
            let entry = self.entries.get_mut(&tool.id);
            let Some(entry) = entry.filter(|it| Arc::ptr_eq(&it.tool, &tool)) else { continue };
            entry.prospect = match probe {
                Ok(probe) => {
                    let times = ProbeSchedule::new(probe.origin, now);
                    ProbePlan::Due { probe: Arc::new(probe), times }
                }
                Err(why) => {
                    tracing::debug!(tool = %tool.id, %why, "tool not probed");
                    ProbePlan::Never
                }
            };
        }
    }

    /// Waits for the generated probe arguments. Returns the number of tools.
    #[cfg(test)]
    pub(super) async fn wait_for_prepared(&mut self, now: Instant) -> usize {
        let mut tools = 0;
        while let Some(made) = self.making.next().await {
            let made = made.unwrap();
            tools += made.len();
            self.take_prepared(made, now);
        }
        tools
    }

    /// Starts a probe run at every server that has a due probe and no run.
    fn start_due_probes(&mut self, gate: &Arc<Gate>) {
        let every = self.probing.load().every;
        let mut due: HashMap<ServerId, Vec<ProbeJob>> = HashMap::new();
        for entry in self.entries.values_mut() {
            let server = &entry.tool.id.server;
            if self.busy.contains(server) || !gate.servers.is_up(server) {
                continue;
            }
            let ProbePlan::Due { probe, times } = &mut entry.prospect else { continue };
            let facts = facts(gate, &entry.tool.id);
            if let Some(task) = times.due(&facts, every) {
                let tool = Arc::clone(&entry.tool);
                let probe = Arc::clone(probe);
                due.entry(server.clone()).or_default().push(ProbeJob { tool, probe, task });
            }
        }
        for (server, mut jobs) in due {
            if self.running.len() >= probe_limiter::MAX_PROBES {
                return;
            }
            jobs.sort_by(|a, b| a.tool.exposed.cmp(&b.tool.exposed));
            self.busy.insert(server.clone());
            let prober = Prober::new(Arc::clone(gate));
            self.running.push(ServerProbeRun { prober, server }.run(jobs).boxed());
        }
    }

    fn record_report(&mut self, report: ProbeReport, now: Instant) {
        self.busy.remove(&report.server);
        for (tool, task, ended) in report.done {
            tracing::debug!(%tool, ?task, ?ended, "probed");
            let prospect = self.entries.get_mut(&tool).map(|it| &mut it.prospect);
            if let Some(ProbePlan::Due { times, .. }) = prospect {
                times.record_end(task, ended, now);
            }
        }
    }
}

fn facts(gate: &Gate, tool: &ToolId) -> ProbeFacts {
    let assigned = gate.meters.assigned_tier(tool);
    let timed = assigned.map_or(0, |assigned| assigned.figures.timed_calls());
    let enough = usize::try_from(gate.probes_that_count()).unwrap_or(usize::MAX);
    ProbeFacts {
        now: gate.clock.now(),
        idle_since: gate.meters.idle_since(&tool.server),
        missing: enough.saturating_sub(timed),
        standing: standing_of(gate, tool),
    }
}

/// A tool that only waits for its dwell time needs no more probes.
fn standing_of(gate: &Gate, tool: &ToolId) -> TierCondition {
    let held = gate.meters.assigned_tier(tool).and_then(|assigned| assigned.cause.held);
    if gate.meters.wants_probe(tool) && !matches!(held, Some(TierHold::Dwell { .. })) {
        TierCondition::CouldBeBetter
    } else {
        TierCondition::Fine
    }
}

/// Sequential probes at one server.
struct ServerProbeRun {
    prober: Prober,
    server: ServerId,
}

impl ServerProbeRun {
    async fn run(self, jobs: Vec<ProbeJob>) -> ProbeReport {
        let mut done = Vec::with_capacity(jobs.len());
        let mut slow = Vec::new();
        for job in jobs {
            let ended = match job.task {
                ProbeTask::Fill { probes } => match self.fill(&job, probes).await {
                    FillOutcome::Ended(ended) => ended,
                    FillOutcome::TooSlow { left } => {
                        slow.push((job, left));
                        continue;
                    }
                },
                ProbeTask::Revive => self.revive(&job).await,
                ProbeTask::Refresh => self.refresh(&job).await,
            };
            done.push((job.tool.id.clone(), job.task, ended));
        }
        // Slow tools last, so that the others need not wait for them.
        for (job, mut left) in slow {
            while let FillOutcome::TooSlow { left: still } = self.fill(&job, left).await {
                left = still;
            }
            done.push((job.tool.id.clone(), job.task, ProbeTaskEnd::Well));
        }
        ProbeReport { server: self.server, done }
    }

    /// Until one probe is late, or there are enough.
    async fn fill(&self, job: &ProbeJob, probes: usize) -> FillOutcome {
        for left in (0..probes).rev() {
            match self.prober.probe(&job.tool, &job.probe).await {
                ProbeOutcome::Answered { .. } | ProbeOutcome::Failed { .. } => {}
                ProbeOutcome::Late { .. } => return FillOutcome::TooSlow { left },
                ProbeOutcome::InVain { .. } => return FillOutcome::Ended(ProbeTaskEnd::Badly),
            }
        }
        FillOutcome::Ended(ProbeTaskEnd::Well)
    }

    /// If the first probe succeeds, the rest of the run follows at once: the tool recovers within
    /// seconds, not after as many calls as it failed before.
    async fn revive(&self, job: &ProbeJob) -> ProbeTaskEnd {
        let gate = self.prober.gate();
        let tool = &job.tool.id;
        for at in 0..tier_assignment::RUN {
            if at > 0 {
                tokio::time::sleep(REVIVAL_PROBE_PAUSE).await;
                if standing_of(gate, tool) == TierCondition::Fine {
                    break;
                }
            }
            let good = target_duration(gate, tool);
            match self.prober.probe(&job.tool, &job.probe).await {
                ProbeOutcome::Answered { took } if took <= good => {}
                _ => return ProbeTaskEnd::Badly,
            }
        }
        ProbeTaskEnd::Well
    }

    async fn refresh(&self, job: &ProbeJob) -> ProbeTaskEnd {
        if self.prober.gate().meters.idle_since(&self.server).is_none() {
            return ProbeTaskEnd::Interrupted;
        }
        match self.prober.probe(&job.tool, &job.probe).await {
            ProbeOutcome::Answered { .. } => ProbeTaskEnd::Well,
            ProbeOutcome::Failed { .. }
            | ProbeOutcome::Late { .. }
            | ProbeOutcome::InVain { .. } => ProbeTaskEnd::Badly,
        }
    }
}

/// The outcome of measuring a tool.
enum FillOutcome {
    Ended(ProbeTaskEnd),
    TooSlow { left: usize },
}

/// Longest answer that still counts towards a lower tier, or for staying in the tier on trial.
fn target_duration(gate: &Gate, tool: &ToolId) -> Duration {
    let Some(assigned) = gate.meters.assigned_tier(tool) else { return Duration::MAX };
    let lower = match assigned.tier {
        Tier::Fast | Tier::Standard => Tier::Fast,
        Tier::Deep => Tier::Standard,
    };
    match assigned.cause.basis {
        TierBasis::Trial { .. } => gate.registry.current().policy.ceilings.of(assigned.tier),
        _ => tier_assignment::comfortable(gate.registry.current().policy.ceilings.of(lower)),
    }
}
