//! Resolves the model name of a chat request: to an agent or to a plain model.

use std::sync::Arc;

use http::request::Parts;
use tollgate_core::agent::Agent;
use tollgate_core::nearest::nearest;
use tollgate_core::text::truncate_chars;
use tollgate_engine::model_usage::ModelCaller;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::{LlmError, LlmErrorKind};
use tollgate_llm::provider::{ModelHandle, ModelRegistry};
use tollgate_llm::settings::ToolMode;

use super::error::ChatApiError;
use crate::api_error::MAX_ECHOED_CHARS;
use crate::app_state::AppState;
use crate::auth::{CallerReach, Right};
use crate::request_context::{RequestContext, RequestOverrides};

pub(super) struct ChatRequestTarget {
    pub(super) who: RequestContext,
    /// `None`: a plain model.
    pub(super) agent: Option<Agent>,
    /// Models in order of preference, at least one.
    pub(super) chain: Vec<Arc<ModelHandle>>,
}

impl ChatRequestTarget {
    pub(super) fn find(front: &AppState, sent: &Parts, named: &str) -> Result<Self, ChatApiError> {
        let gate = &front.gate;
        let models = front.chat.models();
        if let Ok(agent) = gate.agent(named) {
            let wishes = RequestOverrides { agent: Some(named.to_owned()), tier: None };
            let who = RequestContext::read(&front.keys, sent, wishes)?;
            let chain = chain(&agent, &models)?;
            return Ok(Self { who, agent: Some(agent), chain });
        }
        let who = RequestContext::read(&front.keys, sent, RequestOverrides::default())?;
        let unknown = || unknown(named, &gate.agents(), &models);
        let Some(agent) = who.agent.as_deref() else {
            let model = models.find(named).ok_or_else(unknown)?;
            need_listed(&who, &models, named)?;
            return Ok(Self { who, agent: None, chain: vec![model] });
        };
        let agent = gate.agent(agent)?;
        // A key restricted to some agents reaches no further models through them.
        let is_its_own = agent.persona.models.iter().any(|model| model == named);
        let model = match who.reach {
            CallerReach::Agents if !is_its_own => return Err(not_yours(named, &agent).into()),
            CallerReach::Agents | CallerReach::Everybody => {
                models.find(named).ok_or_else(unknown)?
            }
        };
        if !is_its_own {
            need_listed(&who, &models, named)?;
        }
        Ok(Self { who, agent: Some(agent), chain: vec![model] })
    }

    /// Whose use of models the answer is.
    pub(super) fn caller(&self) -> ModelCaller {
        ModelCaller {
            principal: self.who.principal.clone(),
            grant: self.who.grant.clone(),
            agent: self.agent.as_ref().map(|agent| agent.id.clone()),
        }
    }

    /// The model to which the request can be passed through unchanged.
    pub(super) fn passes(&self, dialect: Dialect) -> Option<Arc<ModelHandle>> {
        let model = self.chain.first().filter(|_| self.agent.is_none())?;
        let speaks = model.may_pass(dialect);
        let is_native = model.settings.tool_mode != ToolMode::Schema;
        (speaks && is_native).then(|| Arc::clone(model))
    }
}

/// A model that the config does not list is for those who may ask for any.
fn need_listed(who: &RequestContext, models: &ModelRegistry, named: &str) -> Result<(), LlmError> {
    if models.is_listed(named) || who.rights.has(Right::AnyModel) {
        return Ok(());
    }
    let named = truncate_chars(named, MAX_ECHOED_CHARS);
    let message = format!(
        "the config does not list a model `{named}`; to ask for it by provider and id, the key needs \
         the right `any_model`. `GET /v1/models` lists the models"
    );
    Err(LlmError {
        at: Some("model".to_owned()),
        ..LlmError::new(LlmErrorKind::Forbidden, message)
    })
}

fn chain(agent: &Agent, models: &ModelRegistry) -> Result<Vec<Arc<ModelHandle>>, LlmError> {
    let known: Vec<Arc<ModelHandle>> =
        agent.persona.models.iter().filter_map(|name| models.find(name)).collect();
    let missing = if known.is_empty() {
        format!("none of the models of `{}` exists any more", agent.id)
    } else {
        format!("all models of `{}` are for live sessions (`GET /v1/realtime`)", agent.id)
    };
    let chain: Vec<Arc<ModelHandle>> = known.into_iter().filter(|model| !model.is_live()).collect();
    if chain.is_empty() {
        Err(LlmError::new(LlmErrorKind::UnknownModel, missing))
    } else {
        Ok(chain)
    }
}

fn unknown(named: &str, agents: &[Agent], models: &ModelRegistry) -> LlmError {
    let known = agents.iter().map(|agent| agent.id.as_str());
    let known = known.chain(models.list().iter().map(|model| &*model.settings.name));
    let near = nearest(named, known);
    let meant = match near.first() {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; `GET /v1/models` lists the models".to_owned(),
    };
    let named = truncate_chars(named, MAX_ECHOED_CHARS);
    let message = format!("there is neither a model nor an agent `{named}`{meant}");
    LlmError { at: Some("model".to_owned()), ..LlmError::new(LlmErrorKind::UnknownModel, message) }
}

fn not_yours(named: &str, agent: &Agent) -> LlmError {
    let named = truncate_chars(named, MAX_ECHOED_CHARS);
    let known = agent.persona.models.join("`, `");
    let message = format!(
        "this key is for agents; for `{}`, `model` must be `{known}` or its name, not `{named}`",
        agent.id
    );
    LlmError { at: Some("model".to_owned()), ..LlmError::new(LlmErrorKind::Forbidden, message) }
}
