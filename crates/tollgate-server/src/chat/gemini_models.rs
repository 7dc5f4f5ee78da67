//! Gemini's list of models, `GET /v1beta/models` and `/v1beta/models/{model}`: the agents and
//! models of `GET /v1/models`, in Google's form.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde::Serialize;
use tollgate_core::text::truncate_chars;
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::{LlmError, LlmErrorKind};
use tollgate_llm::provider::SideEndpoint;

use super::error::ChatApiError;
use super::visible_models::{ModelEntry, ModelKind, visible_models};
use crate::api_error::{ApiError, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::fields::{check_query, parameter};

const DEFAULT_PAGE: usize = 50;
/// A larger `pageSize` is lowered to it, as Google does.
const MAX_PAGE: usize = 1_000;

pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let listed = page(&front, &sent).map(|page| Json(page).into_response());
    listed.unwrap_or_else(|refused| refused.response(Dialect::Gemini))
}

pub(crate) async fn show(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let found = find(&front, &sent, &name).map(|model| Json(model).into_response());
    found.unwrap_or_else(|refused| refused.response(Dialect::Gemini))
}

fn find(front: &AppState, sent: &Parts, name: &str) -> Result<GeminiModelJson, ChatApiError> {
    check_query(&sent.uri, &["alt"])?;
    let found = visible_models(front, sent)?.into_iter().find(|model| model.id == name);
    found.map(GeminiModelJson::from).ok_or_else(|| {
        let message = format!("there is no model `{}`", truncate_chars(name, MAX_ECHOED_CHARS));
        LlmError::new(LlmErrorKind::UnknownModel, message).into()
    })
}

fn page(front: &AppState, sent: &Parts) -> Result<GeminiModelPageJson, ChatApiError> {
    check_query(&sent.uri, &["alt", "pageSize", "pageToken", "queryBase"])?;
    let bad = |name: &str, expected: &str| {
        let detail = format!("`{name}` must be {expected}");
        ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_query", detail)
    };
    let size = match parameter(&sent.uri, "pageSize") {
        None => DEFAULT_PAGE,
        Some(text) => text.parse().map_err(|_| bad("pageSize", "a whole number, 0 or more"))?,
    };
    let size = if size == 0 { DEFAULT_PAGE } else { size.min(MAX_PAGE) };
    let models = visible_models(front, sent)?;
    let start = match parameter(&sent.uri, "pageToken").filter(|token| !token.is_empty()) {
        None => 0,
        // The name of the last model of the page before, so that a reload does not shift pages.
        Some(last) => {
            let at = models.iter().position(|model| model.id == last);
            at.ok_or_else(|| bad("pageToken", "the `nextPageToken` of an answer"))? + 1
        }
    };
    let rest = models.len() - start;
    let listed: Vec<ModelEntry> = models.into_iter().skip(start).take(size).collect();
    let next_page_token = listed.last().filter(|_| rest > size).map(|last| last.id.clone());
    let models = listed.into_iter().map(GeminiModelJson::from).collect();
    Ok(GeminiModelPageJson { models, next_page_token })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModelPageJson {
    models: Vec<GeminiModelJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModelJson {
    name: String,
    version: &'static str,
    display_name: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_token_limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_token_limit: Option<u32>,
    supported_generation_methods: Vec<&'static str>,
}

impl From<ModelEntry> for GeminiModelJson {
    fn from(entry: ModelEntry) -> Self {
        let ModelEntry { id, display_name, kind } = entry;
        let mut methods = vec!["generateContent", "countTokens"];
        let (description, limits) = match kind {
            ModelKind::Agent => (display_name.clone(), None),
            ModelKind::Model(model) => {
                let embeds = [SideEndpoint::Embeddings, SideEndpoint::GeminiBatchEmbed]
                    .into_iter()
                    .any(|endpoint| model.has_endpoint(endpoint));
                if embeds {
                    methods.push("embedContent");
                }
                if model.is_live() {
                    methods = vec!["bidiGenerateContent"];
                }
                let owner = model.settings.provider.as_deref().unwrap_or("tollgate");
                let limits = (model.settings.context_window, model.settings.max_output);
                (format!("a model of `{owner}`"), Some(limits))
            }
        };
        Self {
            name: format!("models/{id}"),
            version: "1",
            display_name: if display_name.is_empty() { id } else { display_name },
            description,
            input_token_limit: limits.map(|(input, _)| input),
            output_token_limit: limits.map(|(_, output)| output),
            supported_generation_methods: methods,
        }
    }
}
