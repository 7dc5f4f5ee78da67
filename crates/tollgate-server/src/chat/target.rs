//! Who answers: an agent, whose name stands where a model's would, or a model alone.

use std::sync::Arc;

use http::request::Parts;
use tollgate_core::agent::Agent;
use tollgate_core::nearest::nearest;
use tollgate_core::text::shortened;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::failure::{Failure, Kind};
use tollgate_llm::provider::{Model, Models};
use tollgate_llm::settings::ToolMode;

use super::refused::Refused;
use crate::auth::Reach;
use crate::mcp::Front;
use crate::problem::SAID_BACK;
use crate::who::{Who, Wishes};

pub(super) struct Target {
    pub(super) who: Who,
    /// `None`: no agent has a part in it.
    pub(super) agent: Option<Agent>,
    /// In order of preference; at least one.
    pub(super) chain: Vec<Arc<Model>>,
}

impl Target {
    pub(super) fn find(front: &Front, sent: &Parts, named: &str) -> Result<Self, Refused> {
        let (gate, models) = (&front.gate, front.chat.models());
        if let Ok(agent) = gate.agent(named) {
            let wishes = Wishes { agent: Some(named.to_owned()), tier: None };
            let who = Who::read(&front.keys, sent, wishes)?;
            let chain = chain(&agent, &models)?;
            return Ok(Self { who, agent: Some(agent), chain });
        }
        let who = Who::read(&front.keys, sent, Wishes::default())?;
        let unknown = || unknown(named, &gate.agents(), &models);
        let Some(agent) = who.agent.as_deref() else {
            let model = models.find(named).ok_or_else(unknown)?;
            return Ok(Self { who, agent: None, chain: vec![model] });
        };
        let agent = gate.agent(agent)?;
        // Whoever speaks with some agents only does not reach more models by them.
        let is_its_own = agent.persona.models.iter().any(|model| model == named);
        let model = match who.reach {
            Reach::Agents if !is_its_own => return Err(not_yours(named, &agent).into()),
            Reach::Agents | Reach::Everybody => models.find(named).ok_or_else(unknown)?,
        };
        Ok(Self { who, agent: Some(agent), chain: vec![model] })
    }

    /// The model that can be given the request as it is.
    pub(super) fn passes(&self, dialect: Dialect) -> Option<Arc<Model>> {
        let model = self.chain.first().filter(|_| self.agent.is_none())?;
        let speaks = model.dialect() == Some(dialect);
        let is_native = model.settings.tool_mode != ToolMode::Schema;
        (speaks && is_native).then(|| Arc::clone(model))
    }
}

fn chain(agent: &Agent, models: &Models) -> Result<Vec<Arc<Model>>, Failure> {
    let known: Vec<Arc<Model>> =
        agent.persona.models.iter().filter_map(|name| models.find(name)).collect();
    let missing = match known.is_empty() {
        true => format!("none of the models of `{}` is there any more", agent.id),
        false => format!("all models of `{}` are for live sessions (`GET /v1/realtime`)", agent.id),
    };
    let chain: Vec<Arc<Model>> = known.into_iter().filter(|model| !model.is_live()).collect();
    match chain.is_empty() {
        true => Err(Failure::new(Kind::UnknownModel, missing)),
        false => Ok(chain),
    }
}

fn unknown(named: &str, agents: &[Agent], models: &Models) -> Failure {
    let known = agents.iter().map(|agent| agent.id.as_str());
    let known = known.chain(models.list().iter().map(|model| &*model.settings.name));
    let near = nearest(named, known);
    let meant = match near.first() {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; `GET /v1/models` lists what there is".to_owned(),
    };
    let named = shortened(named, SAID_BACK);
    let message = format!("there is no model and no agent `{named}`{meant}");
    Failure { at: Some("model".to_owned()), ..Failure::new(Kind::UnknownModel, message) }
}

fn not_yours(named: &str, agent: &Agent) -> Failure {
    let named = shortened(named, SAID_BACK);
    let known = agent.persona.models.join("`, `");
    let message = format!(
        "this key speaks with agents; for `{}` `model` is `{known}` or its name, not `{named}`",
        agent.id
    );
    Failure { at: Some("model".to_owned()), ..Failure::new(Kind::Forbidden, message) }
}
