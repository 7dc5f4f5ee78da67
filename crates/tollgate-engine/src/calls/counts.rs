//! Call counters since the start, for metrics: calls by tool and outcome, durations, missed
//! budgets. Lock-free, except for the first call of a tool.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tollgate_core::budget::Tier;
use tollgate_core::call::{RequestKind, ResultSource, TaskVerb};
use tollgate_core::id::ToolId;

use super::call_progress::CallProgress;
use super::finished_call::FinishedCall;
use super::histogram::{Histogram, OPERATION_BUCKETS, TOOL_BUCKETS};
use super::steps::AttemptStatus;
use crate::record::{CallEnding, CallRecord};

/// Tools that are counted by name, in the order of their first calls; all others are counted
/// together.
pub const MAX_TOOLS: usize = 2_000;

const METHODS: [RequestKind; 7] = [
    RequestKind::CallTool,
    RequestKind::ReadResource,
    RequestKind::GetPrompt,
    RequestKind::Complete,
    RequestKind::Task(TaskVerb::Get),
    RequestKind::Task(TaskVerb::Update),
    RequestKind::Task(TaskVerb::Cancel),
];

pub struct CallCounts {
    tools: ArcSwap<HashMap<ToolId, Arc<ToolCounts>>>,
    /// Of tools beyond the limit.
    others: Arc<ToolCounts>,
    /// Locked while a tool is added.
    adding: Mutex<()>,
    methods: [MethodCounts; METHODS.len()],
    tiers: [TierCounts; Tier::ALL.len()],
}

/// Of one tool.
pub struct ToolCounts {
    ends: EndCounts,
    /// Durations of calls that reached the server: without time spent waiting for people, and
    /// without cached answers.
    pub spans: Histogram,
}

/// Of one MCP method, for all targets.
pub struct MethodCounts {
    ends: EndCounts,
    /// Durations of attempts at servers: successful ones, and failed ones. An attempt that was
    /// cancelled because another one answered is neither.
    pub answered: Histogram,
    pub failed: Histogram,
}

pub struct TierCounts {
    pub spans: Histogram,
    misses: AtomicU64,
}

/// Calls by ending.
struct EndCounts([AtomicU64; CallEnding::ALL.len()]);

impl Default for CallCounts {
    fn default() -> Self {
        let of_method = |_| MethodCounts {
            ends: EndCounts::default(),
            answered: Histogram::new(OPERATION_BUCKETS),
            failed: Histogram::new(OPERATION_BUCKETS),
        };
        let of_tier =
            |_| TierCounts { spans: Histogram::new(TOOL_BUCKETS), misses: AtomicU64::new(0) };
        Self {
            tools: ArcSwap::default(),
            others: Arc::default(),
            adding: Mutex::new(()),
            methods: std::array::from_fn(of_method),
            tiers: std::array::from_fn(of_tier),
        }
    }
}

impl Default for ToolCounts {
    fn default() -> Self {
        Self { ends: EndCounts::default(), spans: Histogram::new(TOOL_BUCKETS) }
    }
}

impl Default for EndCounts {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl CallCounts {
    pub(super) fn count(&self, over: &FinishedCall<'_>) {
        let FinishedCall { call_progress, record, worked, is_miss } = *over;
        self.count_method(call_progress, record);
        let tier = &self.tiers[record.tier as usize];
        if is_miss {
            tier.misses.fetch_add(1, Ordering::Relaxed);
        }
        // A cached answer says nothing about the tool's latency.
        let is_timed = call_progress.is_sent() && record.source == ResultSource::Fresh;
        if is_timed {
            tier.spans.observe(worked);
        }
        if record.method != RequestKind::CallTool.method() {
            return;
        }
        if let (Some(server), Some(tool)) = (&record.server, &record.tool) {
            let id = ToolId { server: server.clone(), tool: tool.clone() };
            let known = self.tools.load();
            let added;
            let of_tool = match known.get(&id) {
                Some(of_tool) => of_tool,
                None if known.len() >= MAX_TOOLS => &self.others,
                None => {
                    added = self.add_tool(&id);
                    &added
                }
            };
            of_tool.ends.count(record.end);
            if is_timed {
                of_tool.spans.observe(worked);
            }
        }
    }

    fn count_method(&self, call_progress: &CallProgress, record: &CallRecord) {
        let at = METHODS.iter().position(|kind| kind.method() == record.method);
        let Some(of_method) = at.map(|at| &self.methods[at]) else { return };
        of_method.ends.count(record.end);
        let spans = |went| match went {
            AttemptStatus::Well => &of_method.answered,
            AttemptStatus::Wrong => &of_method.failed,
        };
        call_progress.attempts(record).for_each(|(span, went)| spans(went).observe(span));
    }

    fn add_tool(&self, id: &ToolId) -> Arc<ToolCounts> {
        let _adding = self.adding.lock();
        let known = self.tools.load();
        if let Some(of_tool) = known.get(id) {
            return Arc::clone(of_tool);
        }
        if known.len() >= MAX_TOOLS {
            return Arc::clone(&self.others);
        }
        let mut next = HashMap::clone(&known);
        let of_tool = Arc::clone(next.entry(id.clone()).or_default());
        self.tools.store(Arc::new(next));
        of_tool
    }

    /// Tools that were called, by name; `None` (all others together) comes last, if there are any.
    pub fn tools(&self) -> Vec<(Option<ToolId>, Arc<ToolCounts>)> {
        let known = self.tools.load();
        let mut tools: Vec<(Option<ToolId>, Arc<ToolCounts>)> =
            known.iter().map(|(id, of)| (Some(id.clone()), Arc::clone(of))).collect();
        tools.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        if self.others.ends().next().is_some() {
            tools.push((None, Arc::clone(&self.others)));
        }
        tools
    }

    pub fn methods(&self) -> impl Iterator<Item = (&'static str, &MethodCounts)> {
        METHODS.iter().map(|kind| kind.method()).zip(&self.methods)
    }

    pub fn tiers(&self) -> impl Iterator<Item = (Tier, &TierCounts)> {
        Tier::ALL.into_iter().zip(&self.tiers)
    }
}

impl ToolCounts {
    /// Only endings that occurred.
    pub fn ends(&self) -> impl Iterator<Item = (CallEnding, u64)> + '_ {
        self.ends.all()
    }
}

impl MethodCounts {
    /// Only endings that occurred.
    pub fn ends(&self) -> impl Iterator<Item = (CallEnding, u64)> + '_ {
        self.ends.all()
    }
}

impl TierCounts {
    /// Calls that were not done at the end of their turn.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }
}

impl EndCounts {
    fn count(&self, end: CallEnding) {
        self.0[end.place()].fetch_add(1, Ordering::Relaxed);
    }

    fn all(&self) -> impl Iterator<Item = (CallEnding, u64)> + '_ {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        CallEnding::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0)
    }
}
