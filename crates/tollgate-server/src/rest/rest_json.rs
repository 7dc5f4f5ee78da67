//! JSON representation of tools and outcomes in the REST API.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tollgate_core::call::{Outcome, ResultExtent, ResultSource, Retryability};
use tollgate_core::catalog::CatalogProblem;
use tollgate_core::json::{self, Object};
use tollgate_core::shaping::MessageWording;
use tollgate_core::tool::{Tool, ToolEffect};
use tollgate_core::turn::Turn;
use tollgate_engine::gate::{Gate, PictureDelivery, PictureLink, SpokenOutcome};

use crate::auth::{Right, Rights};
use crate::tier_assignment::TierAssignmentJson;
use crate::wire_schema::{EffectWord, TierWord};

#[derive(JsonSchema, Serialize)]
pub(crate) struct ViewJson<'a> {
    agent: &'a str,
    /// `null`: no budget
    #[schemars(with = "Option<TierWord>")]
    tier: Option<&'static str>,
    catalog_version: u64,
    tools: Vec<ViewToolJson<'a>>,
    problems: Vec<CatalogProblemJson<'a>>,
}

impl<'a> ViewJson<'a> {
    pub(super) fn new(gate: &'a Gate, turn: &'a Turn, problems: &'a [CatalogProblem]) -> Self {
        let view = &turn.view;
        Self {
            agent: view.agent.as_str(),
            tier: turn.deadline.map(|_| view.tier.as_str()),
            catalog_version: view.version,
            tools: view.tools().iter().map(|tool| ViewToolJson::new(gate, tool)).collect(),
            problems: problems.iter().map(CatalogProblemJson::from).collect(),
        }
    }
}

/// For admins only: problems name tools of every server, also those that the caller cannot see.
pub(super) fn problems(rights: Rights, all: &[CatalogProblem]) -> &[CatalogProblem] {
    if rights.has(Right::Admin) { all } else { &[] }
}

#[derive(JsonSchema, Serialize)]
struct ViewToolJson<'a> {
    name: &'a str,
    server: &'a str,
    tool: &'a str,
    #[serde(flatten)]
    standing: TierAssignmentJson,
    category: Option<String>,
    title: Option<&'a str>,
    description: Option<&'a str>,
    estimated_duration_ms: Option<u128>,
    max_duration_ms: Option<u128>,
    hash: String,
    #[schemars(with = "EffectWord")]
    effect: &'static str,
    input_schema: &'a Value,
}

impl<'a> ViewToolJson<'a> {
    fn new(gate: &'a Gate, tool: &'a Tool) -> Self {
        let assigned = gate.reading(&tool.id).map(|reading| reading.assigned);
        Self {
            name: tool.exposed.as_str(),
            server: tool.id.server.as_str(),
            tool: tool.id.tool.as_str(),
            standing: TierAssignmentJson::from(&*assigned.unwrap_or_default()),
            category: gate.category(&tool.id.server),
            title: tool.definition.title.as_deref(),
            description: tool.description.as_deref(),
            estimated_duration_ms: tool.terms.estimated.map(|estimate| estimate.span().as_millis()),
            max_duration_ms: tool.terms.max.map(|span| span.as_millis()),
            hash: tool.hash.to_string(),
            effect: match tool.terms.effect {
                ToolEffect::ReadOnly => "read_only",
                ToolEffect::Mutating => "mutating",
                ToolEffect::Destructive => "destructive",
            },
            input_schema: &tool.definition.input_schema,
        }
    }
}

#[derive(JsonSchema, Serialize)]
struct CatalogProblemJson<'a> {
    server: &'a str,
    tool: &'a str,
    /// whether the tool is excluded because of the problem
    left_out: bool,
    problem: String,
}

impl<'a> From<&'a CatalogProblem> for CatalogProblemJson<'a> {
    fn from(problem: &'a CatalogProblem) -> Self {
        Self {
            server: problem.tool.server.as_str(),
            tool: problem.tool.tool.as_str(),
            left_out: problem.leaves_out(),
            problem: problem.to_string(),
        }
    }
}

/// A picture that a result has, as a link.
#[derive(Serialize)]
struct PictureJson {
    url: String,
    mime_type: &'static str,
    bytes: usize,
    url_seconds: u64,
}

impl From<PictureLink> for PictureJson {
    fn from(link: PictureLink) -> Self {
        let PictureLink { path, media_type, bytes, seconds } = link;
        Self { url: path, mime_type: media_type, bytes, url_seconds: seconds }
    }
}

/// Whether an outcome in this wording has the content of the result.
pub(super) fn picture_delivery(wording: MessageWording) -> PictureDelivery {
    match wording {
        MessageWording::AsWritten => PictureDelivery::Shown,
        MessageWording::Spoken { .. } => PictureDelivery::LeftOut,
    }
}

/// Common JSON shape of every outcome.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the wire has two")]
pub(super) struct OutcomeJson<'a> {
    status: &'static str,
    message: &'a str,
    data: &'a Value,
    /// The MCP content, if it has more than text.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Box<RawValue>>,
    /// Pictures that are not in `content`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pictures: Vec<PictureJson>,
    /// Violations of the tool's output schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
    duration_ms: u128,
    cached: bool,
    /// Source of the text. Absent for texts of the gateway itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<Box<RawValue>>,
}

impl<'a> OutcomeJson<'a> {
    pub(super) fn new(
        outcome: &'a Outcome,
        spoken: &'a SpokenOutcome,
        wording: MessageWording,
    ) -> Self {
        let result = Object::parse(outcome.result.get()).unwrap_or_default();
        Self {
            status: outcome.status.as_str(),
            message: &spoken.message,
            data: &spoken.data,
            content: match wording {
                MessageWording::AsWritten => beyond_text(&result),
                // Not useful for speech output.
                MessageWording::Spoken { .. } => None,
            },
            pictures: Vec::new(),
            warning: warning(&result),
            retryable: outcome.retry != Retryability::Pointless,
            retry_hint: match &outcome.retry {
                Retryability::Sensible { hint, .. } => hint.as_deref(),
                Retryability::Pointless => None,
            },
            truncated: (outcome.extent == ResultExtent::Cut).then_some(true),
            handle: outcome.handle.map(|handle| handle.to_string()),
            duration_ms: outcome.duration.as_millis(),
            cached: outcome.source == ResultSource::Cached,
            origin: outcome.origin.as_ref().map(|origin| json::raw(origin.to_text())),
        }
    }

    /// With links to the pictures that its consumer does not get.
    pub(super) fn with_pictures(self, pictures: Vec<PictureLink>) -> Self {
        Self { pictures: pictures.into_iter().map(PictureJson::from).collect(), ..self }
    }

    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialize")
    }
}

fn beyond_text(result: &Object<'_>) -> Option<Box<RawValue>> {
    let content = result.get("content")?;
    let items: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    let is_text = |item: &&RawValue| {
        Object::parse(item.get()).is_ok_and(|item| item.string("type").as_deref() == Some("text"))
    };
    (!items.iter().all(is_text)).then(|| content.to_owned())
}

fn warning(result: &Object<'_>) -> Option<String> {
    let meta = result.object("_meta")?;
    let warning = meta.object("dev.tollgate/output")?.string("warning")?.into_owned();
    Some(warning)
}

#[cfg(test)]
mod tests {
    use tollgate_core::catalog::{CatalogProblem, CatalogProblemKind};
    use tollgate_core::id::{ServerId, ToolId, ToolName};

    use super::problems;
    use crate::auth::{Right, Rights};

    #[test]
    fn what_is_wrong_with_tools_of_all_servers_is_for_admins() {
        let tool = ToolId { server: ServerId::parse("a").unwrap(), tool: ToolName::new("b") };
        let all = [CatalogProblem { tool, kind: CatalogProblemKind::NoSuchTool }];
        for (rights, expected) in [
            (Rights::ALL, 1),
            ([Right::Admin].into_iter().collect(), 1),
            ([Right::Execute, Right::OverrideTier].into_iter().collect(), 0),
        ] {
            assert_eq!(problems(rights, &all).len(), expected, "{rights:?}");
        }
    }
}
