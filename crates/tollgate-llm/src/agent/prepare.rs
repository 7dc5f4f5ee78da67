//! Decides, before anything is sent, what is offered and to which model.

use std::sync::Arc;

use tollgate_core::lease::Lease;
use tollgate_core::text::shortened;
use tollgate_core::trace::Trace;
use tollgate_engine::revocations::until_revoked;

use super::offer::{Offer, Round};
use super::run::Run;
use super::{Acting, Answer, Chat, Order, Voice};
use crate::conversation::{Message, Request, Role, ToolChoice};
use crate::failure::{Failure, Kind, SHOWN};
use crate::provider::Model;
use crate::turn::{Bounds, Offered};

/// Calls that one turn may make, whatever the model wants.
const MOST_CALLS: u32 = 32;
const NO_MODEL: &str = "there is no model to ask";

/// An answer that can be made.
pub struct Prepared {
    pub(super) chat: Arc<Chat>,
    pub(super) acting: Option<Acting>,
    pub(super) chain: Vec<Arc<Model>>,
    pub(super) offer: Offer,
    pub(super) request: Request,
    pub(super) bounds: Bounds,
    pub(super) trace: Option<Arc<Trace>>,
    lease: Lease,
    facts: Facts,
}

/// What was decided.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The model that is asked first.
    pub model: String,
    /// The gateway's tools that it is shown.
    pub visible: usize,
    /// Those that there was no room for.
    pub pruned: Vec<String>,
}

impl Prepared {
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Makes the answer. Whoever has a voice hears it as it comes. Dropping the future cancels
    /// everything that it is made of.
    pub async fn run(self, voice: Option<Voice>) -> Result<Answer, Failure> {
        let lease = self.lease.clone();
        let ran = until_revoked(&lease, Box::pin(Run::new(self, voice).finished())).await;
        ran.unwrap_or_else(|why| {
            Err(Failure::new(Kind::Unauthenticated, format!("stopped, revoked: {why}")))
        })
    }
}

pub(super) fn prepare(chat: Arc<Chat>, order: Order) -> Result<Prepared, Failure> {
    let Order { mut request, acting, chain, lease, trace } = order;
    let now = chat.clock.now();
    let offer = match &acting {
        None => Offer::theirs(),
        Some(acting) => {
            only_one_answer(&request)?;
            if let Some(prompt) = &acting.prompt {
                request.messages.insert(0, Message::text(Role::System, prompt));
            }
            Offer::of_view(&acting.agent, &acting.turn.view)
        }
    };
    // Those that are too small for the beginning are too small for the rest.
    let chain = offer.with_room(&request, chain)?;
    let first = chain.first().ok_or_else(|| Failure::new(Kind::UnknownModel, NO_MODEL))?;
    let Round { offered, pruned, .. } = offer.round(&request, first)?;
    let model = first.settings.name.clone();
    chosen_tool_is_there(&request, &offered)?;
    let bounds = Bounds {
        depth: acting.as_ref().map_or(0, |acting| acting.agent.persona.max_depth),
        calls: MOST_CALLS,
        tool_time: acting.as_ref().and_then(|it| it.turn.deadline).map(|wall| wall.left(now)),
    };
    // The turn's own has nothing in it that its agent must not pass on.
    let trace = acting.as_ref().map_or(trace, |acting| acting.turn.trace.clone());
    let lease = acting.as_ref().map_or(lease, |acting| acting.turn.lease.clone());
    let facts = Facts { model, visible: offered.own.len(), pruned };
    Ok(Prepared { chat, acting, chain, offer, request, bounds, trace, lease, facts })
}

/// A loop goes one way.
fn only_one_answer(request: &Request) -> Result<(), Failure> {
    match request.options.candidates {
        None | Some(1) => Ok(()),
        Some(_) => Err(Failure::invalid("n", "an agent gives one answer: leave `n` out")),
    }
}

/// Says the same of a tool that is hidden and of one that does not exist.
fn chosen_tool_is_there(request: &Request, offered: &Offered) -> Result<(), Failure> {
    let ToolChoice::Named(name) = &request.tool_choice else { return Ok(()) };
    if offered.theirs.contains(name) || offered.own.contains_key(name) {
        return Ok(());
    }
    let name = shortened(name, SHOWN);
    let message = format!("`tool_choice` names `{name}`, which is not among the tools");
    Err(Failure::invalid("tool_choice", message))
}
