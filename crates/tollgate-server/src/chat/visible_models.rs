//! The agents and models that a client may name as its model.

use std::sync::Arc;

use http::request::Parts;
use tollgate_llm::provider::ModelHandle;

use super::error::ChatApiError;
use crate::app_state::AppState;

/// An agent or a model that a client may name as its model.
pub(super) struct ModelEntry {
    pub(super) id: String,
    pub(super) display_name: String,
    pub(super) kind: ModelKind,
}

pub(super) enum ModelKind {
    Agent,
    Model(Arc<ModelHandle>),
}

/// A key restricted to some agents sees only these.
pub(super) fn visible_models(
    front: &AppState,
    sent: &Parts,
) -> Result<Vec<ModelEntry>, ChatApiError> {
    let visitor = front.keys.visitor(sent)?;
    let is_theirs = |name: &str| {
        visitor.agents().is_none_or(|agents| agents.iter().any(|agent| agent.as_str() == name))
    };
    let agents = front.gate.agents();
    let agents = agents.iter().filter(|agent| is_theirs(agent.id.as_str())).map(|agent| {
        let display_name = match agent.description.as_str() {
            "" => agent.id.to_string(),
            description => description.to_owned(),
        };
        ModelEntry { id: agent.id.to_string(), display_name, kind: ModelKind::Agent }
    });
    let mut known: Vec<ModelEntry> = agents.collect();
    if visitor.agents().is_none() {
        let models = front.chat.models();
        for model in models.list() {
            let id = model.settings.name.clone();
            let display_name = id.clone();
            known.push(ModelEntry { id, display_name, kind: ModelKind::Model(Arc::clone(model)) });
        }
    }
    Ok(known)
}
