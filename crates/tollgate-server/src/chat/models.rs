//! `GET /v1/models`: agents and models, agents first, in a form that clients of OpenAI and of
//! Anthropic can both read, or in Google's.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use serde::Serialize;
use tollgate_core::text::truncate_chars;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::{LlmError, LlmErrorKind};
use tollgate_llm::provider::ModelHandle;

use super::error::ChatApiError;
use super::gemini_models;
use crate::api_error::MAX_ECHOED_CHARS;
use crate::app_state::AppState;
use crate::fields::check_query;

pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    if is_google(&request) {
        return gemini_models::list(State(front), request).await;
    }
    let (sent, _) = request.into_parts();
    let listed = checked_models(&front, &sent).map(|data| {
        let data: Vec<ModelJson> = data.into_iter().map(ModelJson::from).collect();
        let id = |entry: Option<&ModelJson>| entry.map(|entry| entry.id.clone());
        let first_id = id(data.first());
        let last_id = id(data.last());
        Json(ModelsJson { object: "list", first_id, last_id, has_more: false, data })
            .into_response()
    });
    listed.unwrap_or_else(|refused| refused.response(Dialect::OpenAiChat))
}

pub(crate) async fn one(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    if is_google(&request) {
        return gemini_models::one(State(front), Path(name), request).await;
    }
    let (sent, _) = request.into_parts();
    let found = checked_models(&front, &sent).and_then(|models| {
        let found = models.into_iter().find(|model| model.id == name);
        found.ok_or_else(|| {
            let message =
                format!("there is no model `{}`", truncate_chars(&name, MAX_ECHOED_CHARS));
            LlmError::new(LlmErrorKind::UnknownModel, message).into()
        })
    });
    let found = found.map(|model| Json(ModelJson::from(model)).into_response());
    found.unwrap_or_else(|refused| refused.response(Dialect::OpenAiChat))
}

/// Google's clients have the same path as OpenAI's and Anthropic's if they use version `v1`. Only
/// they send their key in this header.
fn is_google(request: &Request) -> bool {
    request.headers().contains_key("x-goog-api-key")
}

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

fn checked_models(front: &AppState, sent: &Parts) -> Result<Vec<ModelEntry>, ChatApiError> {
    check_query(&sent.uri, &["limit", "after_id", "before_id", "beta"])?;
    visible_models(front, sent)
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

#[derive(Serialize)]
struct ModelsJson {
    object: &'static str,
    data: Vec<ModelJson>,
    first_id: Option<String>,
    last_id: Option<String>,
    has_more: bool,
}

#[derive(Serialize)]
struct ModelJson {
    id: String,
    object: &'static str,
    r#type: &'static str,
    display_name: String,
    owned_by: String,
    /// The creation time of a model is unknown.
    created: u64,
    created_at: &'static str,
}

impl From<ModelEntry> for ModelJson {
    fn from(entry: ModelEntry) -> Self {
        let ModelEntry { id, display_name, kind } = entry;
        let owned_by = match kind {
            ModelKind::Agent => "tollgate-agent".to_owned(),
            ModelKind::Model(model) => {
                model.settings.provider.clone().unwrap_or_else(|| "tollgate".to_owned())
            }
        };
        Self {
            id,
            object: "model",
            r#type: "model",
            display_name,
            owned_by,
            created: 0,
            created_at: "1970-01-01T00:00:00Z",
        }
    }
}
