//! Token counts of requests that are not sent: Anthropic's `count_tokens` and Gemini's
//! `:countTokens`.
//!
//! A provider of the same API counts for a plain model. For others, and for agents, the gateway
//! counts with its own vocabulary, and says so in a header.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{Value, json};
use tollgate_core::agent::Agent;
use tollgate_core::template::{self, PlaceholderValues};
use tollgate_engine::model_usage::ModelCaller;
use tollgate_llm::agent::{AgentTurn, CompletionRequest};
use tollgate_llm::conversation::ChatRequest;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::LlmError;
use tollgate_llm::provider::SideEndpoint;
use tollgate_llm::token_count;
use tollgate_mcp::offload::offload_if_large;

use super::error::ChatApiError;
use super::headers::TurnResponseHeaders;
use super::side::{SideJsonRequest, SideRequest, json_response};
use super::target::ChatRequestTarget;
use crate::app_state::AppState;
use crate::variables::PromptVariables;

/// `POST /v1/messages/count_tokens`.
pub(crate) async fn anthropic(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let counted = count(&front, request, TokenCountForm::Anthropic).await;
    counted.unwrap_or_else(|refused| refused.response(Dialect::Anthropic))
}

pub(super) async fn gemini(front: &AppState, request: Request, model: &str) -> Response {
    let counted = count(front, request, TokenCountForm::Gemini { model }).await;
    counted.unwrap_or_else(|refused| refused.response(Dialect::Gemini))
}

/// The API of a count, with the model where its URL names it.
#[derive(Clone, Copy)]
enum TokenCountForm<'a> {
    Anthropic,
    Gemini { model: &'a str },
}

impl TokenCountForm<'_> {
    fn endpoint(self) -> SideEndpoint {
        match self {
            Self::Anthropic => SideEndpoint::CountTokens,
            Self::Gemini { .. } => SideEndpoint::GeminiCountTokens,
        }
    }

    fn read(self, body: Value) -> Result<ChatRequest, LlmError> {
        match self {
            Self::Anthropic => token_count::read_anthropic(body),
            Self::Gemini { model } => token_count::read_gemini(body, model),
        }
    }

    fn write(self, tokens: u64) -> Value {
        match self {
            Self::Anthropic => json!({ "input_tokens": tokens }),
            Self::Gemini { .. } => json!({ "totalTokens": tokens }),
        }
    }
}

async fn count(
    front: &AppState,
    request: Request,
    form: TokenCountForm<'_>,
) -> Result<Response, ChatApiError> {
    let in_url = match form {
        TokenCountForm::Anthropic => None,
        TokenCountForm::Gemini { model } => Some(model),
    };
    let (sent, body) = request.into_parts();
    let request = SideJsonRequest::read(front, sent, body, in_url).await?;
    let plain = request.side.target.chain.first().filter(|_| request.side.target.agent.is_none());
    if let Some(model) = plain.filter(|model| model.has_endpoint(form.endpoint())) {
        let model = Arc::clone(model);
        return request.forward(front, &model, form.endpoint()).await;
    }
    let parsed = form.read(request.parse(front).await?)?;
    let size = request.passed.body().len();
    let SideRequest { sent, target, began, .. } = request.side;
    let mut headers = TurnResponseHeaders::new(began, front);
    let ChatRequestTarget { who, agent, chain } = target;
    let acting = match agent {
        None => None,
        Some(agent) => {
            let turn = who.turn::<ChatApiError>(&front.gate)?;
            let variables = PromptVariables::read(&sent.headers, None)?.into_map();
            let prompt = prompt(&agent, &variables, headers.call_id());
            Some(AgentTurn { agent, turn, prompt })
        }
    };
    let trace = who.trace.clone();
    let lease = who.lease.terms().clone();
    let caller = ModelCaller {
        principal: who.principal.clone(),
        grant: who.grant.clone(),
        agent: acting.as_ref().map(|acting| acting.agent.id.clone()),
    };
    let order = CompletionRequest { request: parsed, acting, chain, lease, trace, caller };
    let chat = Arc::clone(&front.chat);
    let counted = offload_if_large(size, move || {
        let prepared = chat.prepare(order)?;
        let tokens = prepared.input_tokens()?;
        Ok::<_, LlmError>((tokens, prepared.facts().clone()))
    });
    let (tokens, facts) = counted.await?;
    headers.facts(&facts);
    headers.set_estimated_count();
    headers.overhead(std::time::Duration::ZERO);
    Ok(json_response(form.write(tokens).to_string(), headers))
}

fn prompt(
    agent: &Agent,
    variables: &std::collections::BTreeMap<String, String>,
    call_id: &str,
) -> Option<String> {
    let values = PlaceholderValues { request: variables, agent, call_id };
    agent.persona.prompt.as_ref().map(|prompt| template::render(prompt, &values))
}
