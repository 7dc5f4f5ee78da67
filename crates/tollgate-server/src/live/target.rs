//! With whom somebody wants to talk: an agent always, and a model that holds live sessions in the
//! protocol of the path.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use tollgate_core::agent::Agent;
use tollgate_core::nearest::nearest;
use tollgate_core::text::shortened;
use tollgate_llm::failure::Failure;
use tollgate_llm::provider::{Model, Models};
use tollgate_llm::realtime::Live;

use crate::auth::{Reach, Right};
use crate::fields::{self, parameter};
use crate::mcp::Front;
use crate::problem::{Problem, SAID_BACK};
use crate::who::{Who, Wishes};

/// Who comes, and with what wishes; what a browser cannot say in headers it says in the URL.
pub(super) fn who(front: &Front, sent: &Parts) -> Result<Who, Problem> {
    let tier = parameter(&sent.uri, "tier").map(|text| fields::tier("tier", &text)).transpose()?;
    let model = parameter(&sent.uri, "model");
    let agent = parameter(&sent.uri, "agent")
        .or_else(|| model.filter(|name| front.gate.agent(name).is_ok()));
    let who = Who::read(&front.keys, sent, Wishes { agent, tier })?;
    who.rights.need(Right::Execute)?;
    if who.tier.is_some() {
        // A tier that they may not have is refused now, not in the middle of a talk.
        who.turn::<Problem>(&front.gate)?;
    }
    Ok(who)
}

pub(super) fn agent(front: &Front, who: &Who) -> Result<Agent, Problem> {
    let agent = match &who.agent {
        Some(name) => front.gate.agent(name),
        None => front.gate.default_agent(),
    };
    Ok(agent?)
}

/// The model that was named, or the agent's own where none was, or none that is one here.
pub(super) fn model(
    front: &Front,
    (who, agent): (&Who, &Agent),
    (live, named): (Live, Option<&str>),
) -> Result<Arc<Model>, Problem> {
    let models = front.chat.models();
    let own = || {
        let known = agent.persona.models.iter().filter_map(|name| models.find(name));
        known.into_iter().find(|model| model.is_live() && speaks(model, live))
    };
    // Deepgram's clients name the model behind the voice, which is none of ours.
    let named = named.filter(|name| {
        *name != agent.id.as_str() && (live != Live::Deepgram || models.find(name).is_some())
    });
    let found = match named {
        Some(name) => models.find(name).ok_or_else(|| unknown(name, live, &models))?,
        None => own().or_else(|| only(&models, live)).ok_or_else(|| none(agent, live))?,
    };
    let is_its_own = agent.persona.models.iter().any(|name| *name == found.settings.name);
    if who.reach == Reach::Agents && !is_its_own {
        let detail = format!(
            "this key speaks with agents; the models of `{}` are `{}`",
            agent.id,
            agent.persona.models.join("`, `")
        );
        return Err(Problem::told(StatusCode::FORBIDDEN, "forbidden", detail));
    }
    if !speaks(&found, live) {
        let detail = format!(
            "model `{}` holds no {live} sessions: its provider is of another kind",
            found.settings.name
        );
        return Err(Problem::told(StatusCode::BAD_REQUEST, "wrong_model", detail));
    }
    Ok(found)
}

pub(super) fn problem(failure: Failure) -> Problem {
    let status = StatusCode::from_u16(failure.kind.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    let problem = Problem::told(status, failure.kind.code(), failure.message);
    match failure.retry_after {
        Some(wait) => problem.later(wait),
        None => problem,
    }
}

fn speaks(model: &Model, live: Live) -> bool {
    model.provider_kind() == Some(live.provider())
}

/// The only one that there is.
fn only(models: &Models, live: Live) -> Option<Arc<Model>> {
    let mut known = models.list().iter().filter(|model| model.is_live() && speaks(model, live));
    match (known.next(), known.next()) {
        (Some(model), None) => Some(Arc::clone(model)),
        _ => None,
    }
}

fn unknown(named: &str, live: Live, models: &Models) -> Problem {
    let known = models.list().iter().filter(|model| speaks(model, live));
    let near = nearest(named, known.map(|model| &*model.settings.name));
    let meant = match near.first() {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; list it under `models:` with `api: realtime`".to_owned(),
    };
    let detail = format!("there is no model `{}`{meant}", shortened(named, SAID_BACK));
    Problem::told(StatusCode::NOT_FOUND, "model_not_found", detail)
}

fn none(agent: &Agent, live: Live) -> Problem {
    let detail = format!(
        "`{}` has no model for {live} sessions: name one, or give the agent one with \
         `api: realtime`",
        agent.id
    );
    Problem::told(StatusCode::NOT_FOUND, "model_not_found", detail)
}
