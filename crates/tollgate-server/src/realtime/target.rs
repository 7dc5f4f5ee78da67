//! Resolves the target of a realtime session: always an agent, and a model that supports the
//! protocol of the path.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use tollgate_core::agent::Agent;
use tollgate_core::nearest::nearest;
use tollgate_core::text::truncate_chars;
use tollgate_llm::error::LlmError;
use tollgate_llm::provider::{ModelHandle, ModelRegistry};
use tollgate_llm::realtime::{RealtimeProtocol, translation};

use super::secret_scope;
use crate::api_error::{ApiError, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::auth::{CallerReach, Right};
use crate::fields::{self, parameter};
use crate::request_context::{RequestContext, RequestOverrides};

/// Context of the client. Settings that a browser cannot send as headers come from the URL.
/// `model`: the name that the client gives, which may be an agent's.
pub(super) fn who(
    front: &AppState,
    sent: &Parts,
    model: Option<&str>,
) -> Result<RequestContext, ApiError> {
    let tier = parameter(&sent.uri, "tier").map(|text| fields::tier("tier", &text)).transpose()?;
    let named = model.filter(|name| front.gate.agent(name).is_ok());
    let agent = parameter(&sent.uri, "agent").or_else(|| named.map(str::to_owned));
    let mut who = RequestContext::read(&front.keys, sent, RequestOverrides { agent, tier })?;
    if let Some(secret) = secret_scope::presented_secret(sent) {
        who = secret_scope::limit(&secret, sent, who)?;
    }
    who.rights.need(Right::Execute)?;
    if who.tier.is_some() {
        // Refuse a tier without permission now, not during the session.
        who.turn::<ApiError>(&front.gate)?;
    }
    Ok(who)
}

pub(super) fn agent(front: &AppState, who: &RequestContext) -> Result<Agent, ApiError> {
    let agent = match &who.agent {
        Some(name) => front.gate.agent(name),
        None => front.gate.default_agent(),
    };
    Ok(agent?)
}

/// The named model. If none is named, or (Deepgram) none that is known here, the agent's own.
pub(super) fn model(
    front: &AppState,
    who: &RequestContext,
    agent: &Agent,
    live: RealtimeProtocol,
    named: Option<&str>,
) -> Result<Arc<ModelHandle>, ApiError> {
    let models = front.chat.models();
    let own = || {
        let known = agent.persona.models.iter().filter_map(|name| models.find(name));
        let known: Vec<_> = known.filter(|model| model.is_live()).collect();
        let same = known.iter().find(|model| speaks(model, live));
        same.or_else(|| known.iter().find(|model| is_translated(model, live))).cloned()
    };
    // Deepgram's clients name the model behind the voice, which is unknown here.
    let named = named.filter(|name| {
        *name != agent.id.as_str()
            && (live != RealtimeProtocol::Deepgram || models.find(name).is_some())
    });
    let found = match named {
        Some(name) => {
            let found = models.find(name).ok_or_else(|| unknown(name, live, &models))?;
            let is_listed =
                models.is_listed(name) || agent.persona.models.iter().any(|it| it == name);
            if !is_listed && !who.rights.has(Right::AnyModel) {
                let why = format!("the config does not list a model `{name}`");
                return Err(Right::AnyModel.lacking(&why));
            }
            found
        }
        None => own().or_else(|| only(&models, live)).ok_or_else(|| none(agent, live))?,
    };
    let is_its_own = agent.persona.models.iter().any(|name| *name == found.settings.name);
    if who.reach == CallerReach::Agents && !is_its_own {
        let detail = format!(
            "this key is for agents; the models of `{}` are `{}`",
            agent.id,
            agent.persona.models.join("`, `")
        );
        return Err(ApiError::with_detail(StatusCode::FORBIDDEN, "forbidden", detail));
    }
    if !speaks(&found, live) && !is_translated(&found, live) {
        let detail = format!(
            "model `{}` does not support {live} sessions: its provider is of another kind, and \
             only OpenAI Realtime and Gemini Live are translated into each other",
            found.settings.name
        );
        return Err(ApiError::with_detail(StatusCode::BAD_REQUEST, "wrong_model", detail));
    }
    Ok(found)
}

/// The agent's models that take over when this one fails, in order from it on. None for a model
/// that is not the agent's: its client wants that one.
pub(super) fn others(
    front: &AppState,
    agent: &Agent,
    live: RealtimeProtocol,
    model: &ModelHandle,
) -> Vec<Arc<ModelHandle>> {
    let models = front.chat.models();
    let own = agent.persona.models.iter().filter_map(|name| models.find(name));
    let is_alike =
        |other: &Arc<ModelHandle>| speaks(other, live) && is_gpt_live(other) == is_gpt_live(model);
    let serves = |it: &Arc<ModelHandle>| it.is_live() && (is_alike(it) || is_translated(it, live));
    let mut own: Vec<_> = own.filter(serves).collect();
    let is_it = |known: &Arc<ModelHandle>| known.settings.name == model.settings.name;
    let Some(at) = own.iter().position(is_it) else { return Vec::new() };
    own.rotate_left(at);
    own.remove(0);
    own
}

pub(crate) fn problem(failure: LlmError) -> ApiError {
    let status = StatusCode::from_u16(failure.kind.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    let problem = ApiError::with_detail(status, failure.kind.code(), failure.message);
    match failure.retry_after {
        Some(wait) => problem.later(wait),
        None => problem,
    }
}

fn speaks(model: &ModelHandle, live: RealtimeProtocol) -> bool {
    model.provider_kind() == Some(live.provider())
}

/// OpenAI's full-duplex models have a protocol of their own, at the same provider.
fn is_gpt_live(model: &ModelHandle) -> bool {
    model.settings.id.starts_with("gpt-live")
}

/// Whether a client of this protocol can use the model through a translation.
fn is_translated(model: &ModelHandle, live: RealtimeProtocol) -> bool {
    model.is_live()
        && !is_gpt_live(model)
        && translation::can_translate(live, translation::provider_protocol(live, model))
}

/// The only model for this protocol; without any, the only one that is translated.
fn only(models: &ModelRegistry, live: RealtimeProtocol) -> Option<Arc<ModelHandle>> {
    let only_of = |is_usable: fn(&ModelHandle, RealtimeProtocol) -> bool| {
        let mut known = models.list().iter().filter(|it| it.is_live() && is_usable(it, live));
        match (known.next(), known.next()) {
            (Some(model), None) => Some(Arc::clone(model)),
            _ => None,
        }
    };
    let has_same = models.list().iter().any(|model| model.is_live() && speaks(model, live));
    if has_same { only_of(speaks) } else { only_of(is_translated) }
}

fn unknown(named: &str, live: RealtimeProtocol, models: &ModelRegistry) -> ApiError {
    let known = models.list().iter().filter(|model| speaks(model, live));
    let near = nearest(named, known.map(|model| &*model.settings.name));
    let meant = match near.first() {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; list it under `models:` with `api: realtime`".to_owned(),
    };
    let detail = format!("there is no model `{}`{meant}", truncate_chars(named, MAX_ECHOED_CHARS));
    ApiError::with_detail(StatusCode::NOT_FOUND, "model_not_found", detail)
}

fn none(agent: &Agent, live: RealtimeProtocol) -> ApiError {
    let detail = format!(
        "`{}` has no model for {live} sessions: name one, or add one with `api: realtime` to the \
         agent",
        agent.id
    );
    ApiError::with_detail(StatusCode::NOT_FOUND, "model_not_found", detail)
}
