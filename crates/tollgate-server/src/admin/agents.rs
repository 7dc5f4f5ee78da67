//! `/api/agents`: the configured agents, and a preview of their prompts.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::agent::{Agent, AgentMemoryPolicy, Engine, RecallPolicy};
use tollgate_core::glob::Glob;
use tollgate_core::json::Object;
use tollgate_core::template::{self, PlaceholderValues};
use tollgate_core::text::truncate_chars;
use tollgate_core::turn::{Actor, Principal};
use tollgate_engine::gate::{Gate, TurnRequest};

use super::api_response;
use crate::api_error::{ApiError, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::body;
use crate::fields::{BodyFields, bad, check_query};
use crate::ops::for_admins;
use crate::variables::PromptVariables;
use crate::wire_schema::{
    AgentEngineWord, MixedResponseWord, RecordWord, TierWord, ToolSearchWord,
};

pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    api_response(check_access(&front, &sent).map(|()| {
        let agents = front.gate.agents();
        let usual = usual(&front.gate);
        let agents = agents.iter().map(|agent| AgentJson::new(agent, usual.as_deref())).collect();
        Json(AgentsJson { agents }).into_response()
    }))
}

pub(crate) async fn show(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    api_response(check_access(&front, &sent).and_then(|()| {
        let agent = find(&front.gate, &name)?;
        Ok(Json(AgentJson::new(&agent, usual(&front.gate).as_deref())).into_response())
    }))
}

pub(crate) async fn render(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let rendered = async {
        check_access(&front, &sent)?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, &["variables"])?;
        let given = match fields.raw("variables") {
            Some(raw) => Some(Object::parse(raw.get()).map_err(|error| {
                bad(format!("`variables` must be an object of strings: {error}"))
            })?),
            None => None,
        };
        let request = PromptVariables::read(&sent.headers, given.as_ref())?.into_map();
        let agent = find(&front.gate, &name)?;
        let call_id = format!("{:032x}", rand::random::<u128>());
        let values = PlaceholderValues { request: &request, agent: &agent, call_id: &call_id };
        let filled = |text: &Option<String>| text.as_ref().map(|it| template::render(it, &values));
        let prompt = filled(&agent.persona.prompt);
        let greeting = filled(&agent.persona.greeting);
        Ok(Json(RenderedPromptJson { agent: agent.id.as_str(), prompt, greeting }).into_response())
    };
    api_response(rendered.await)
}

fn check_access(front: &AppState, sent: &Parts) -> Result<(), ApiError> {
    for_admins(front, sent)?;
    check_query(&sent.uri, &[])
}

fn find(gate: &Gate, name: &str) -> Result<Agent, ApiError> {
    gate.agent(name).map_err(|_| {
        let detail = format!("there is no agent `{}`", truncate_chars(name, MAX_ECHOED_CHARS));
        ApiError::with_detail(StatusCode::NOT_FOUND, "unknown_agent", detail)
    })
}

/// The default agent, used by callers that name none.
fn usual(gate: &Gate) -> Option<String> {
    let turn = gate.turn(TurnRequest::by(Actor::endless(Principal::local()))).ok()?;
    Some(turn.view.agent.to_string())
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct AgentsJson {
    agents: Vec<AgentJson>,
}

#[derive(JsonSchema, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the wire has two")]
pub(crate) struct AgentJson {
    name: String,
    description: String,
    /// whether it is the default agent
    default: bool,
    prompt: Option<String>,
    greeting: Option<String>,
    failover_message: Option<String>,
    models: Vec<String>,
    #[schemars(with = "AgentEngineWord")]
    engine: &'static str,
    opener_model: Option<String>,
    /// names and globs
    tools: Vec<String>,
    auto_execute: Vec<String>,
    /// `null`: no budget.
    #[schemars(with = "Option<TierWord>")]
    budget_tier: Option<&'static str>,
    concurrent: Option<u32>,
    max_depth: u32,
    max_calls: u32,
    max_tools: u32,
    pinned_tools: Vec<String>,
    #[schemars(with = "ToolSearchWord")]
    tool_search: &'static str,
    #[schemars(with = "MixedResponseWord")]
    mixed_response: &'static str,
    code_mode: bool,
    memory: AgentMemoryJson,
    variables: BTreeMap<String, String>,
}

impl AgentJson {
    fn new(agent: &Agent, usual: Option<&str>) -> Self {
        let globs = |globs: &[Glob]| globs.iter().map(ToString::to_string).collect();
        let persona = agent.persona.clone();
        Self {
            name: agent.id.to_string(),
            description: agent.description.clone(),
            default: usual == Some(agent.id.as_str()),
            prompt: persona.prompt,
            greeting: persona.greeting,
            failover_message: persona.failover_message,
            models: persona.models,
            engine: persona.engine.as_str(),
            opener_model: match persona.engine {
                Engine::SentenceCascade { opener } => Some(opener),
                Engine::Cascaded | Engine::SpeechToSpeech => None,
            },
            tools: globs(&agent.tools),
            auto_execute: globs(&agent.auto_execute),
            budget_tier: agent.ceiling.map(|tier| tier.as_str()),
            concurrent: agent.concurrent,
            max_depth: persona.max_depth,
            max_calls: persona.max_calls,
            max_tools: persona.max_tools,
            pinned_tools: globs(&persona.pinned_tools),
            tool_search: persona.tool_search.as_str(),
            mixed_response: persona.mixed_response.as_str(),
            code_mode: persona.code_mode,
            memory: AgentMemoryJson::new(&agent.memory),
            variables: persona.variables,
        }
    }
}

#[derive(JsonSchema, Serialize)]
struct AgentMemoryJson {
    namespace: String,
    #[schemars(with = "RecordWord")]
    record: &'static str,
    recall: bool,
}

impl AgentMemoryJson {
    fn new(memory: &AgentMemoryPolicy) -> Self {
        let namespace = memory.namespace.to_string();
        let recall = memory.recall == RecallPolicy::On;
        Self { namespace, record: memory.record.as_str(), recall }
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct RenderedPromptJson<'a> {
    agent: &'a str,
    prompt: Option<String>,
    greeting: Option<String>,
}
