//! `GET /v1/models`: agents and models, agents first, in a form that clients of OpenAI and of
//! Anthropic can both read.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use serde::Serialize;
use tollgate_core::text::truncate_chars;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::{LlmError, LlmErrorKind};

use super::error::ChatApiError;
use crate::api_error::MAX_ECHOED_CHARS;
use crate::app_state::AppState;
use crate::fields::check_query;

pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let listed = visible_models(&front, &sent).map(|data| {
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
    let (sent, _) = request.into_parts();
    let found = visible_models(&front, &sent).and_then(|models| {
        let found = models.into_iter().find(|model| model.id == name);
        found.ok_or_else(|| {
            let message =
                format!("there is no model `{}`", truncate_chars(&name, MAX_ECHOED_CHARS));
            LlmError::new(LlmErrorKind::UnknownModel, message).into()
        })
    });
    let found = found.map(|model| Json(model).into_response());
    found.unwrap_or_else(|refused| refused.response(Dialect::OpenAiChat))
}

/// A key restricted to some agents sees only these.
fn visible_models(front: &AppState, sent: &Parts) -> Result<Vec<ModelJson>, ChatApiError> {
    check_query(&sent.uri, &["limit", "after_id", "before_id", "beta"])?;
    let visitor = front.keys.visitor(sent)?;
    let is_theirs = |name: &str| {
        visitor.agents().is_none_or(|agents| agents.iter().any(|agent| agent.as_str() == name))
    };
    let agents = front.gate.agents();
    let agents = agents.iter().filter(|agent| is_theirs(agent.id.as_str())).map(|agent| {
        let name = match agent.description.as_str() {
            "" => agent.id.to_string(),
            description => description.to_owned(),
        };
        ModelJson::new(agent.id.to_string(), name, "tollgate-agent")
    });
    let mut known: Vec<ModelJson> = agents.collect();
    if visitor.agents().is_none() {
        let models = front.chat.models();
        for model in models.list() {
            let owner = model.settings.provider.clone().unwrap_or_else(|| "tollgate".to_owned());
            let name = model.settings.name.clone();
            known.push(ModelJson::new(name.clone(), name, &owner));
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

impl ModelJson {
    fn new(id: String, display_name: String, owner: &str) -> Self {
        Self {
            id,
            object: "model",
            r#type: "model",
            display_name,
            owned_by: owner.to_owned(),
            created: 0,
            created_at: "1970-01-01T00:00:00Z",
        }
    }
}
