//! `POST /v1/tier`: chooses the latency tier of a turn from the user's text, and lists the tools
//! that fit.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::agent::RequestedTier;
use tollgate_core::tier_selector::{TranscriptStage, Utterance};
use tollgate_engine::gate::TierRequest;
use tollgate_engine::memory::SpokenUtterance;

use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::body;
use crate::fields::{BodyFields, bad, check_query};
use crate::request_context::{RequestContext, RequestOverrides, header, queue_depth};
use crate::wire_schema::TierWord;

/// No turn has a longer spoken text. Pasted text does not influence the tier.
const MAX_TEXT_BYTES: usize = 64 << 10;
const KEYS: &[&str] = &["text", "agent", "conversation", "queue_depth", "override", "partial"];

pub(crate) async fn tier(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let chosen = async {
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        choose(&front, &sent, &body)
    };
    match chosen.await {
        Ok(chosen) => Json(chosen).into_response(),
        Err(problem) => problem.response(ApiErrorFormat::OpenAi),
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ChosenTierJson {
    #[schemars(with = "TierWord")]
    tier: &'static str,
    reason: String,
    agent: String,
    tools: Vec<String>,
}

fn choose(front: &AppState, sent: &Parts, body: &[u8]) -> Result<ChosenTierJson, ApiError> {
    let fields = BodyFields::read(body, KEYS)?;
    let text = fields.needed_text("text")?;
    if text.len() > MAX_TEXT_BYTES {
        return Err(bad(format!("`text` is longer than {MAX_TEXT_BYTES} bytes")));
    }
    let form = match fields.flag("partial")? {
        Some(true) => TranscriptStage::Partial,
        Some(false) | None => TranscriptStage::Final,
    };
    let conversation = match fields.text("conversation")? {
        None => header(sent, "x-tollgate-conversation")?.map(str::to_owned),
        conversation => conversation,
    };
    let queue_depth = match fields.count("queue_depth")? {
        None => queue_depth(sent)?,
        Some(depth) => depth,
    };
    let wishes = RequestOverrides { agent: fields.text("agent")?, tier: fields.tier("override")? };
    let who = RequestContext::read(&front.keys, sent, wishes)?;
    // Check the tier before the turn is counted: a refused request is not a turn.
    let named = match who.tier {
        Some(_) => Some(who.turn::<ApiError>(&front.gate)?),
        None => None,
    };
    let spoke = TierRequest {
        principal: &who.principal,
        agent: who.agent.as_deref(),
        conversation: conversation.as_deref(),
        utterance: Utterance { text: &text, form, queue_depth, forced: who.tier },
    };
    let choice = front.gate.choose(&spoke)?;
    let turn = match named {
        Some(turn) => turn,
        None => front.gate.turn(who.turn_request(RequestedTier::Selected(choice.tier)))?,
    };
    if let (Some(memory), TranscriptStage::Partial) = (front.gate.memory(), form) {
        memory.look_ahead(
            &turn,
            &SpokenUtterance { conversation: conversation.as_deref(), text: &text },
        );
    }
    let view = turn.view;
    Ok(ChosenTierJson {
        tier: view.tier.as_str(),
        reason: choice.reason.to_string(),
        agent: view.agent.to_string(),
        tools: view.tools().iter().map(|tool| tool.exposed.to_string()).collect(),
    })
}
