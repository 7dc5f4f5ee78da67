//! Prepares a completion before anything is sent: selects the offered tools and the model.

use std::sync::Arc;

use tollgate_core::lease::RevocableLease;
use tollgate_core::text::truncate_chars;
use tollgate_core::trace::Trace;

use super::offer::{RoundRequest, ToolOffer};
use super::{AgentTurn, ChatService, CompletionRequest};
use crate::conversation::{ChatMessage, ChatRequest, ChatRole, ToolChoice};
use crate::dialect::Dialect;
use crate::error::{LlmError, LlmErrorKind, MAX_QUOTED_CHARS};
use crate::provider::ModelHandle;
use crate::token_count;
use crate::turn::{OfferedTools, TurnBounds};
use crate::usage::ModelUsageContext;

const NO_MODEL: &str = "there is no model to ask";

/// A completion that is ready to run.
pub struct PreparedCompletion {
    pub(super) chat: Arc<ChatService>,
    pub(super) acting: Option<AgentTurn>,
    pub(super) chain: Vec<Arc<ModelHandle>>,
    pub(super) offer: ToolOffer,
    pub(super) request: ChatRequest,
    pub(super) bounds: TurnBounds,
    pub(super) trace: Option<Arc<Trace>>,
    pub(super) usage: ModelUsageContext,
    pub(super) lease: RevocableLease,
    facts: CompletionFacts,
}

/// The decisions made in preparation.
#[derive(Debug, Clone, Default)]
pub struct CompletionFacts {
    /// The model that is queried first.
    pub model: String,
    /// Number of gateway tools that it is offered.
    pub visible: usize,
    /// Tools for which there was no room.
    pub pruned: Vec<String>,
}

impl PreparedCompletion {
    pub fn facts(&self) -> &CompletionFacts {
        &self.facts
    }

    /// Tokens of the first round's request, by the gateway's own vocabulary.
    pub fn input_tokens(&self) -> Result<u64, LlmError> {
        let first = self.chain.first();
        let first = first.ok_or_else(|| LlmError::new(LlmErrorKind::UnknownModel, NO_MODEL))?;
        let RoundRequest { request, .. } = self.offer.round(&self.request, first)?;
        Ok(token_count::count(&request, first.dialect().unwrap_or(Dialect::OpenAiChat)))
    }
}

pub(super) fn prepare(
    chat: Arc<ChatService>,
    order: CompletionRequest,
) -> Result<PreparedCompletion, LlmError> {
    let CompletionRequest { mut request, acting, chain, lease, trace, caller } = order;
    let now = chat.clock.now();
    let offer = match &acting {
        None => ToolOffer::theirs(),
        Some(acting) => {
            only_one_answer(&request)?;
            if let Some(prompt) = &acting.prompt {
                request.messages.insert(0, ChatMessage::text(ChatRole::System, prompt));
            }
            ToolOffer::of_view(&acting.agent, &acting.turn.view)
        }
    };
    // A model that is too small for the start is too small for the rest.
    let chain = offer.with_room(&request, chain)?;
    let first = chain.first().ok_or_else(|| LlmError::new(LlmErrorKind::UnknownModel, NO_MODEL))?;
    let RoundRequest { offered, pruned, .. } = offer.round(&request, first)?;
    let model = first.settings.name.clone();
    chosen_tool_is_there(&request, &offered)?;
    let persona = acting.as_ref().map(|acting| &acting.agent.persona);
    let bounds = TurnBounds {
        depth: persona.map_or(0, |persona| persona.max_depth),
        calls: persona.map_or(0, |persona| persona.max_calls),
        tool_time: acting.as_ref().and_then(|it| it.turn.deadline).map(|wall| wall.remaining(now)),
    };
    // The turn's own trace contains nothing that its agent must not pass on.
    let trace = acting.as_ref().map_or(trace, |acting| acting.turn.trace.clone());
    let lease = acting.as_ref().map_or(lease, |acting| acting.turn.lease.clone());
    let facts = CompletionFacts { model, visible: offered.own.len(), pruned };
    let usage = ModelUsageContext { meter: Arc::clone(chat.gate.model_usage()), caller };
    Ok(PreparedCompletion {
        chat,
        acting,
        chain,
        offer,
        request,
        bounds,
        trace,
        usage,
        lease,
        facts,
    })
}

/// The agent loop produces a single answer.
fn only_one_answer(request: &ChatRequest) -> Result<(), LlmError> {
    match request.options.candidates {
        None | Some(1) => Ok(()),
        Some(_) => Err(LlmError::invalid("n", "an agent gives one answer: remove `n`")),
    }
}

/// Reports the same error for a hidden tool as for one that does not exist.
fn chosen_tool_is_there(request: &ChatRequest, offered: &OfferedTools) -> Result<(), LlmError> {
    let ToolChoice::Named(name) = &request.tool_choice else { return Ok(()) };
    if offered.theirs.contains(name) || offered.own.contains_key(name) {
        return Ok(());
    }
    let name = truncate_chars(name, MAX_QUOTED_CHARS);
    let message = format!("`tool_choice` names `{name}`, which is not one of the tools");
    Err(LlmError::invalid("tool_choice", message))
}
