//! Has a conversation answered: reads it, opens a turn for its agent, and lets the loop run.

use std::sync::Arc;

use axum::response::Response;
use tollgate_core::agent::{Recall, Wish};
use tollgate_core::selector::{Form, Utterance};
use tollgate_core::template::{self, Values};
use tollgate_core::turn::Turn;
use tollgate_engine::gate::Spoke;
use tollgate_engine::memory::Heard;
use tollgate_llm::agent::{Acting, Order};
use tollgate_llm::conversation::{Delivery, Request};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::provider::carry;
use tollgate_mcp::large::aside;

use super::headers::Headers;
use super::refused::Refused;
use super::target::Target;
use super::transcript::Transcript;
use super::{Opened, account, deliver};
use crate::auth::Reach;
use crate::mcp::Front;
use crate::rest::queue_depth;
use crate::variables::Variables;
use crate::who::{Who, header};

/// Of what was said no more chooses the tier.
const LONGEST_UTTERANCE: usize = 64 << 10;

/// Why a turn sees tools of every tier.
const NO_BUDGET: &str = "the agent has no budget";

pub(super) async fn answer(
    front: Arc<Front>,
    opened: Opened,
    target: Target,
) -> Result<Response, Refused> {
    let size = opened.passed.body().len();
    let (opened, request) = aside(size, move || {
        let request = opened.request();
        (opened, request)
    })
    .await;
    let mut request = request?;
    let Target { mut who, agent, chain } = target;
    if who.reach == Reach::Agents {
        account::keep_out(&request)?;
    }
    let seen = request.without_history();
    carry(&mut request, opened.asked.dialect, &opened.sent.headers);
    let keeping = match opened.asked.dialect {
        Dialect::OpenAiResponses => {
            front.threads.resume((&who.principal, opened.began), &mut request)?
        }
        Dialect::OpenAiChat | Dialect::Anthropic | Dialect::Gemini => None,
    };
    // Who sends results of tools goes on with the turn in which they were called.
    if let Some(link) = &mut who.link {
        link.begins = request.begins_turn();
    }
    let mut headers = Headers::new(opened.began, &front);
    let mut transcript = None;
    let acting = match agent {
        None => None,
        Some(agent) => {
            let (turn, reason) = match (agent.ceiling, who.tier) {
                // An agent without a budget has none to choose from.
                (None, None) => (front.gate.turn(who.asked(Wish::Ceiling))?, NO_BUDGET.to_owned()),
                _ => turn(&front, &opened, &who, &request)?,
            };
            for name in request.answered_tools() {
                front.gate.note_answered(&turn, name);
            }
            headers.turn(&turn, &reason);
            let variables = Variables::read(&opened.sent.headers, None)?.into_map();
            let values = Values { request: &variables, agent: &agent, call_id: headers.call_id() };
            let prompt = agent.persona.prompt.as_ref();
            let prompt = prompt.map(|prompt| template::render(prompt, &values));
            let conversation = header(&opened.sent, "x-tollgate-conversation")?;
            let prompt = recalled(&front, (&turn, conversation), &request, prompt).await;
            transcript = Transcript::begin(&front, &turn, &request)
                .map(|it| it.named(conversation, variables.get("caller_name").map(String::as_str)));
            Some(Acting { agent, turn, prompt })
        }
    };
    let (delivery, trace) = (request.delivery, who.trace.clone());
    let lease = who.lease.terms().clone();
    let (chat, order) = (Arc::clone(&front.chat), Order { request, acting, chain, lease, trace });
    let prepared = aside(size, move || chat.prepare(order)).await?;
    headers.facts(prepared.facts());
    let order = deliver::Order { opened, seen, headers, keeping, transcript, prepared };
    match delivery {
        Delivery::Whole => deliver::whole(order).await,
        Delivery::Streamed => deliver::streamed(&front, order).await,
    }
}

/// The turn, and why it has its tier.
fn turn(
    front: &Front,
    opened: &Opened,
    who: &Who,
    request: &Request,
) -> Result<(Turn, String), Refused> {
    // Before it is counted: what is refused is no turn of the conversation.
    let named = match who.tier {
        Some(_) => Some(who.turn::<Refused>(&front.gate)?),
        None => None,
    };
    let said = request.utterance();
    let text = &said[..said.floor_char_boundary(LONGEST_UTTERANCE)];
    let queue_depth = queue_depth(&opened.sent)?;
    let spoke = Spoke {
        principal: &who.principal,
        agent: who.agent.as_deref(),
        conversation: header(&opened.sent, "x-tollgate-conversation")?,
        utterance: Utterance { text, form: Form::Final, queue_depth, forced: who.tier },
    };
    let choice = front.gate.choose(&spoke)?;
    let turn = match named {
        Some(turn) => turn,
        None => front.gate.turn(who.asked(Wish::Selected(choice.tier)))?,
    };
    Ok((turn, choice.reason.to_string()))
}

/// The prompt, and after it what comes to the agent's mind.
async fn recalled(
    front: &Front,
    (turn, conversation): (&Turn, Option<&str>),
    request: &Request,
    prompt: Option<String>,
) -> Option<String> {
    let recalls = turn.view.memory.recall == Recall::On;
    let Some(mind) = front.gate.mind().filter(|_| recalls) else { return prompt };
    let text = request.utterance();
    let recalled = mind.recall(turn, &Heard { conversation, text: &text }).await;
    match (recalled.and_then(|it| it.note()), prompt) {
        (None, prompt) => prompt,
        (note, None) => note,
        (Some(note), Some(prompt)) => Some(format!("{prompt}\n\n{note}")),
    }
}
