//! Answers a conversation: parses it, opens a turn for its agent, and runs the agent loop.

use std::sync::Arc;

use axum::response::Response;
use tollgate_core::agent::{RecallPolicy, RequestedTier};
use tollgate_core::template::{self, PlaceholderValues};
use tollgate_core::tier_selector::{TranscriptStage, Utterance};
use tollgate_core::turn::Turn;
use tollgate_engine::gate::{TierRequest, TurnStart};
use tollgate_engine::memory::SpokenUtterance;
use tollgate_llm::agent::{AgentTurn, CompletionRequest};
use tollgate_llm::conversation::{ChatRequest, ResponseDelivery};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::provider::carry;
use tollgate_mcp::offload::offload_if_large;

use super::error::ChatApiError;
use super::headers::TurnResponseHeaders;
use super::target::ChatRequestTarget;
use super::transcript::ChatTranscript;
use super::{InboundChatRequest, account, deliver};
use crate::app_state::AppState;
use crate::auth::CallerReach;
use crate::request_context::{RequestContext, header, queue_depth};
use crate::variables::PromptVariables;

/// Length of the user's text that is used to choose the tier.
const MAX_UTTERANCE_BYTES: usize = 64 << 10;

/// Reason shown when a turn sees tools of every tier.
const NO_BUDGET: &str = "the agent has no budget";

pub(super) async fn answer(
    front: Arc<AppState>,
    opened: InboundChatRequest,
    target: ChatRequestTarget,
) -> Result<Response, ChatApiError> {
    let size = opened.passed.body().len();
    let (opened, request) = offload_if_large(size, move || {
        let request = opened.request();
        (opened, request)
    })
    .await;
    let mut request = request?;
    let caller = target.caller();
    let ChatRequestTarget { mut who, agent, chain } = target;
    if who.reach == CallerReach::Agents {
        account::keep_out(&request)?;
    }
    let seen = request.without_history();
    carry(&mut request, opened.route.dialect, &opened.sent.headers);
    let keeping = match opened.route.dialect {
        Dialect::OpenAiResponses => {
            let keeping = front.threads.resume(&who.principal, opened.began, &mut request)?;
            keeping.map(|keeping| keeping.with_input(|| opened.input()))
        }
        Dialect::OpenAiChat | Dialect::Anthropic | Dialect::Gemini => None,
    };
    // A request with tool results continues the turn in which the tools were called.
    if request.begins_turn() {
        who.link.start = TurnStart::Begin;
    }
    who.link.is_announced = true;
    let mut headers = TurnResponseHeaders::new(opened.began, &front);
    let mut transcript = None;
    let acting = match agent {
        None => None,
        Some(agent) => {
            let (turn, reason) = match (agent.ceiling, who.tier) {
                // An agent without a budget has no tier to choose.
                (None, None) => (
                    front.gate.turn(who.turn_request(RequestedTier::Ceiling))?,
                    NO_BUDGET.to_owned(),
                ),
                _ => turn(&front, &opened, &who, &request)?,
            };
            for name in request.answered_tools() {
                front.gate.note_answered(&turn, name);
            }
            headers.turn(&turn, &reason);
            let variables = PromptVariables::read(&opened.sent.headers, None)?.into_map();
            let values = PlaceholderValues {
                request: &variables,
                agent: &agent,
                call_id: headers.call_id(),
            };
            let prompt = agent.persona.prompt.as_ref();
            let prompt = prompt.map(|prompt| template::render(prompt, &values));
            let conversation = header(&opened.sent, "x-tollgate-conversation")?;
            let prompt = append_memories(&front, &turn, conversation, &request, prompt).await;
            transcript = ChatTranscript::begin(&front, &turn, &request).map(|it| {
                it.with_names(conversation, variables.get("caller_name").map(String::as_str))
            });
            Some(AgentTurn { agent, turn, prompt })
        }
    };
    let delivery = request.delivery;
    let trace = who.trace.clone();
    let lease = who.lease.terms().clone();
    let chat = Arc::clone(&front.chat);
    let order = CompletionRequest { request, acting, chain, lease, trace, caller };
    let prepared = offload_if_large(size, move || chat.prepare(order)).await?;
    headers.facts(prepared.facts());
    let order = deliver::ChatDelivery { opened, seen, headers, keeping, transcript, prepared };
    match delivery {
        ResponseDelivery::Whole => deliver::send_whole(order).await,
        ResponseDelivery::Streamed => deliver::stream_answer(&front, order).await,
    }
}

/// The turn, and the reason for its tier.
fn turn(
    front: &AppState,
    opened: &InboundChatRequest,
    who: &RequestContext,
    request: &ChatRequest,
) -> Result<(Turn, String), ChatApiError> {
    // Check the tier before the turn is counted: a refused request is not a turn.
    let named = match who.tier {
        Some(_) => Some(who.turn::<ChatApiError>(&front.gate)?),
        None => None,
    };
    let utterance = request.utterance();
    let text = &utterance[..utterance.floor_char_boundary(MAX_UTTERANCE_BYTES)];
    let queue_depth = queue_depth(&opened.sent)?;
    let spoke = TierRequest {
        principal: &who.principal,
        agent: who.agent.as_deref(),
        conversation: header(&opened.sent, "x-tollgate-conversation")?,
        utterance: Utterance { text, form: TranscriptStage::Final, queue_depth, forced: who.tier },
    };
    let choice = front.gate.choose(&spoke)?;
    let turn = match named {
        Some(turn) => turn,
        None => front.gate.turn(who.turn_request(RequestedTier::Selected(choice.tier)))?,
    };
    Ok((turn, choice.reason.to_string()))
}

/// Appends recalled memories to the prompt.
async fn append_memories(
    front: &AppState,
    turn: &Turn,
    conversation: Option<&str>,
    request: &ChatRequest,
    prompt: Option<String>,
) -> Option<String> {
    let recalls = turn.view.memory.recall == RecallPolicy::On;
    let Some(memory) = front.gate.memory().filter(|_| recalls) else { return prompt };
    let text = request.utterance();
    let recalled = memory.recall(turn, &SpokenUtterance { conversation, text: &text }).await;
    match (recalled.and_then(|it| it.note()), prompt) {
        (None, prompt) => prompt,
        (note, None) => note,
        (Some(note), Some(prompt)) => Some(format!("{prompt}\n\n{note}")),
    }
}
