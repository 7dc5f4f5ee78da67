//! What is shown of a tool beside the verdict on it: what it is, how quick it is, and who sees it.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value};
use tollgate_core::id::{ServerId, ToolId};
use tollgate_core::latency::{Ending, Sample, Window};
use tollgate_core::text::shortened;
use tollgate_core::tool::{Effect, Terms, Tool};
use tollgate_engine::gate::{Gate, Sight};
use tollgate_engine::upstream::State;

use crate::standing::{StandingJson, TieredJson, milliseconds};

/// Characters of a description in a row.
const DESCRIPTION: usize = 200;
/// Calls of a tool in a row.
const RECENT: usize = 24;

/// What rows of many tools have in common, looked up once.
pub(super) struct Around<'g> {
    gate: &'g Gate,
    online: HashSet<ServerId>,
    categories: HashMap<ServerId, String>,
}

impl<'g> Around<'g> {
    pub(super) fn new(gate: &'g Gate) -> Self {
        let servers = gate.servers();
        let category = |id: &ServerId| Some((id.clone(), gate.category(id)?));
        let categories = servers.iter().filter_map(|it| category(&it.id)).collect();
        let serves = |state: State| matches!(state, State::Ready | State::Degraded);
        let online = servers.into_iter().filter(|it| serves(it.status.state));
        Self { gate, online: online.map(|it| it.id).collect(), categories }
    }

    pub(super) fn seen(&self, tool: &ToolId) -> SeenJson {
        let assigned = self.gate.reading(tool).map(|reading| reading.assigned);
        let standing = StandingJson::from(&*assigned.unwrap_or_default());
        SeenJson {
            category: self.categories.get(&tool.server).cloned(),
            online: self.online.contains(&tool.server),
            standing: TieredJson::from(standing),
            recent: self.gate.recent(tool, RECENT).iter().map(took).collect(),
        }
    }
}

fn took(sample: &Sample) -> f64 {
    milliseconds(sample.span)
}

/// What the tool is, as its server says it.
#[derive(Serialize, Default)]
pub(super) struct DescribedJson<'a> {
    title: Option<&'a str>,
    /// The beginning of it.
    description: Option<String>,
    read_only: Option<bool>,
    destructive: Option<bool>,
}

impl<'a> DescribedJson<'a> {
    pub(super) fn of(tool: &'a Tool) -> Self {
        let effect = tool.terms.effect;
        Self {
            title: tool.definition.title.as_deref(),
            description: tool.description.as_deref().map(|text| shortened(text, DESCRIPTION)),
            read_only: Some(effect == Effect::ReadOnly),
            destructive: Some(effect == Effect::Destructive),
        }
    }
}

/// What the gateway saw of it.
#[derive(Serialize)]
pub(super) struct SeenJson {
    category: Option<String>,
    online: bool,
    #[serde(flatten)]
    standing: TieredJson,
    /// Milliseconds, the oldest first.
    recent: Vec<f64>,
}

/// What only the page of one tool shows.
#[derive(Serialize)]
pub(super) struct DetailsJson {
    ceilings: CeilingsJson,
    samples: Vec<SampleJson>,
    /// `null` while its server is away.
    declared: Option<DeclaredJson>,
    agents: Vec<SightJson>,
}

#[derive(Serialize)]
struct CeilingsJson {
    fast_ms: u128,
    standard_ms: u128,
    deep_ms: u128,
}

#[derive(Serialize)]
struct SampleJson {
    took_ms: f64,
    ok: bool,
}

#[derive(Serialize)]
struct DeclaredJson {
    estimated_duration_ms: Option<u128>,
    max_duration_ms: Option<u128>,
    idempotent: bool,
    cacheable_seconds: u64,
}

#[derive(Serialize)]
struct SightJson {
    agent: String,
    /// For each tier `true`, or what keeps the tool out.
    tiers: Map<String, Value>,
}

impl DetailsJson {
    pub(super) fn of(around: &Around<'_>, tool: &ToolId, terms: Option<&Terms>) -> Self {
        let gate = around.gate;
        let ceilings = gate.ceilings();
        let sample =
            |it: &Sample| SampleJson { took_ms: took(it), ok: it.ending == Ending::Answered };
        Self {
            ceilings: CeilingsJson {
                fast_ms: ceilings.fast.as_millis(),
                standard_ms: ceilings.standard.as_millis(),
                deep_ms: ceilings.deep.as_millis(),
            },
            samples: gate.recent(tool, Window::SIZE).iter().map(sample).collect(),
            declared: terms.map(DeclaredJson::from),
            agents: gate.sights(tool).into_iter().map(SightJson::from).collect(),
        }
    }
}

impl From<&Terms> for DeclaredJson {
    fn from(terms: &Terms) -> Self {
        Self {
            estimated_duration_ms: terms.estimated.map(|said| said.span().as_millis()),
            max_duration_ms: terms.max.map(|span| span.as_millis()),
            idempotent: terms.idempotent,
            cacheable_seconds: terms.cacheable.as_secs(),
        }
    }
}

impl From<Sight> for SightJson {
    fn from(sight: Sight) -> Self {
        let tier = |(tier, kept_out): (tollgate_core::budget::Tier, Option<String>)| {
            (tier.as_str().to_owned(), kept_out.map_or(Value::Bool(true), Value::String))
        };
        Self {
            agent: sight.agent.to_string(),
            tiers: sight.kept_out.into_iter().map(tier).collect(),
        }
    }
}
