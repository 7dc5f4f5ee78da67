//! Facts about a tool beside the trust verdict: its description, its latency, and the agents that
//! see it.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tollgate_core::id::{ServerId, ToolId};
use tollgate_core::latency::{LatencyWindow, Sample, SampleEnding};
use tollgate_core::text::truncate_chars;
use tollgate_core::tool::{CallTerms, Tool, ToolEffect};
use tollgate_engine::gate::{Gate, ToolVisibility};
use tollgate_engine::upstream::UpstreamState;

use crate::tier_assignment::{TierAssignmentJson, ToolTierJson, milliseconds};

/// Characters of a description in a list row.
const DESCRIPTION: usize = 200;
/// Recent calls of a tool in a list row.
const RECENT: usize = 24;

/// Data shared by the rows of many tools, looked up once.
pub(super) struct ToolRowContext<'g> {
    gate: &'g Gate,
    online: HashSet<ServerId>,
    categories: HashMap<ServerId, String>,
}

impl<'g> ToolRowContext<'g> {
    pub(super) fn new(gate: &'g Gate) -> Self {
        let servers = gate.servers();
        let category = |id: &ServerId| Some((id.clone(), gate.category(id)?));
        let categories = servers.iter().filter_map(|it| category(&it.id)).collect();
        let serves =
            |state: UpstreamState| matches!(state, UpstreamState::Ready | UpstreamState::Degraded);
        let online = servers.into_iter().filter(|it| serves(it.status.state));
        Self { gate, online: online.map(|it| it.id).collect(), categories }
    }

    pub(super) fn observation(&self, tool: &ToolId) -> ToolObservationJson {
        let assigned = self.gate.reading(tool).map(|reading| reading.assigned);
        let standing = TierAssignmentJson::from(&*assigned.unwrap_or_default());
        ToolObservationJson {
            category: self.categories.get(&tool.server).cloned(),
            online: self.online.contains(&tool.server),
            standing: ToolTierJson::from(standing),
            recent: self.gate.recent(tool, RECENT).iter().map(sample_ms).collect(),
        }
    }
}

fn sample_ms(sample: &Sample) -> f64 {
    milliseconds(sample.span)
}

/// The tool as described by its server.
#[derive(JsonSchema, Serialize, Default)]
pub(super) struct ToolDescriptionJson<'a> {
    title: Option<&'a str>,
    /// its first 200 characters
    description: Option<String>,
    read_only: Option<bool>,
    destructive: Option<bool>,
}

impl<'a> ToolDescriptionJson<'a> {
    pub(super) fn of(tool: &'a Tool) -> Self {
        let effect = tool.terms.effect;
        Self {
            title: tool.definition.title.as_deref(),
            description: tool.description.as_deref().map(|text| truncate_chars(text, DESCRIPTION)),
            read_only: Some(effect == ToolEffect::ReadOnly),
            destructive: Some(effect == ToolEffect::Destructive),
        }
    }
}

/// Measurements of the tool.
#[derive(JsonSchema, Serialize)]
pub(super) struct ToolObservationJson {
    category: Option<String>,
    /// whether its server is online
    online: bool,
    #[serde(flatten)]
    standing: ToolTierJson,
    /// the last 24 calls in milliseconds, oldest first
    recent: Vec<f64>,
}

/// Fields shown for a single tool only.
#[derive(JsonSchema, Serialize)]
pub(super) struct ToolDetailsJson {
    ceilings: TierCeilingsJson,
    /// at most 100, oldest first
    samples: Vec<LatencySampleJson>,
    /// `null` while its server is offline
    declared: Option<DeclaredTermsJson>,
    /// visibility by agent and tier
    agents: Vec<AgentVisibilityJson>,
}

#[derive(JsonSchema, Serialize)]
struct TierCeilingsJson {
    fast_ms: u128,
    standard_ms: u128,
    deep_ms: u128,
}

#[derive(JsonSchema, Serialize)]
struct LatencySampleJson {
    took_ms: f64,
    ok: bool,
}

#[derive(JsonSchema, Serialize)]
struct DeclaredTermsJson {
    estimated_duration_ms: Option<u128>,
    max_duration_ms: Option<u128>,
    idempotent: bool,
    cacheable_seconds: u64,
}

#[derive(JsonSchema, Serialize)]
struct AgentVisibilityJson {
    agent: String,
    /// for each tier `true`, or the reason why it is hidden
    #[schemars(with = "TierVisibilitySchema")]
    tiers: Map<String, Value>,
}

/// Form of [`AgentVisibilityJson::tiers`].
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes a map")]
struct TierVisibilitySchema {
    fast: VisibilitySchema,
    standard: VisibilitySchema,
    deep: VisibilitySchema,
}

#[derive(JsonSchema)]
#[schemars(inline, untagged)]
#[expect(dead_code, reason = "describes a value of a map")]
enum VisibilitySchema {
    Visible(bool),
    Hidden(String),
}

impl ToolDetailsJson {
    pub(super) fn of(
        around: &ToolRowContext<'_>,
        tool: &ToolId,
        terms: Option<&CallTerms>,
    ) -> Self {
        let gate = around.gate;
        let ceilings = gate.ceilings();
        let sample = |it: &Sample| LatencySampleJson {
            took_ms: sample_ms(it),
            ok: it.ending == SampleEnding::Answered,
        };
        Self {
            ceilings: TierCeilingsJson {
                fast_ms: ceilings.fast.as_millis(),
                standard_ms: ceilings.standard.as_millis(),
                deep_ms: ceilings.deep.as_millis(),
            },
            samples: gate.recent(tool, LatencyWindow::SIZE).iter().map(sample).collect(),
            declared: terms.map(DeclaredTermsJson::from),
            agents: gate.tool_visibility(tool).into_iter().map(AgentVisibilityJson::from).collect(),
        }
    }
}

impl From<&CallTerms> for DeclaredTermsJson {
    fn from(terms: &CallTerms) -> Self {
        Self {
            estimated_duration_ms: terms.estimated.map(|estimate| estimate.span().as_millis()),
            max_duration_ms: terms.max.map(|span| span.as_millis()),
            idempotent: terms.idempotent,
            cacheable_seconds: terms.cacheable.as_secs(),
        }
    }
}

impl From<ToolVisibility> for AgentVisibilityJson {
    fn from(sight: ToolVisibility) -> Self {
        let tier = |(tier, kept_out): (tollgate_core::budget::Tier, Option<String>)| {
            (tier.as_str().to_owned(), kept_out.map_or(Value::Bool(true), Value::String))
        };
        Self {
            agent: sight.agent.to_string(),
            tiers: sight.hidden_by.into_iter().map(tier).collect(),
        }
    }
}
