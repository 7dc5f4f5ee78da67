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

use super::error::ChatApiError;
use super::gemini_models;
use super::visible_models::{ModelEntry, ModelKind, visible_models};
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

pub(crate) async fn show(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    if is_google(&request) {
        return gemini_models::show(State(front), Path(name), request).await;
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

fn checked_models(front: &AppState, sent: &Parts) -> Result<Vec<ModelEntry>, ChatApiError> {
    check_query(&sent.uri, &["limit", "after_id", "before_id", "beta"])?;
    visible_models(front, sent)
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
