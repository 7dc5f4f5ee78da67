//! `GET /v1/tools?explain=true`: every tool, whether the agent would see it, and the reason if not.
//! For admins only: it names tools that nobody else can see.

use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::filter::ToolExplanation;
use tollgate_core::turn::Turn;

use crate::wire_schema::TierWord;

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Explained")]
pub(crate) struct ExplanationJson<'a> {
    agent: &'a str,
    /// `null`: no budget
    #[schemars(with = "Option<TierWord>")]
    tier: Option<&'static str>,
    catalog_version: u64,
    tools: Vec<ExplainedToolJson<'a>>,
}

#[derive(JsonSchema, Serialize)]
struct ExplainedToolJson<'a> {
    name: &'a str,
    server: &'a str,
    tool: &'a str,
    visible: bool,
    /// `code` if only programs can call it, not clients by name
    #[serde(skip_serializing_if = "Option::is_none")]
    reach: Option<&'static str>,
    /// the filter level that excludes it
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> ExplanationJson<'a> {
    pub(super) fn new(turn: &'a Turn, all: &'a [ToolExplanation]) -> Self {
        let view = &turn.view;
        Self {
            agent: view.agent.as_str(),
            tier: turn.deadline.map(|_| view.tier.as_str()),
            catalog_version: view.version,
            tools: all.iter().map(ExplainedToolJson::from).collect(),
        }
    }
}

impl<'a> From<&'a ToolExplanation> for ExplainedToolJson<'a> {
    fn from(explained: &'a ToolExplanation) -> Self {
        let ToolExplanation { tool, exposed, stopped, in_code } = explained;
        Self {
            name: exposed.as_str(),
            server: tool.server.as_str(),
            tool: tool.tool.as_str(),
            visible: stopped.is_none(),
            reach: (*in_code && stopped.is_none()).then_some("code"),
            level: stopped.as_ref().map(|(level, _)| level.as_str()),
            reason: stopped.as_ref().map(|(_, reason)| reason.as_str()),
        }
    }
}
