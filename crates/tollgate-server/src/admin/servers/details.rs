//! `/api/servers/{id}`: one server with its history and its config entry, and replacing its config
//! keys.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tollgate_core::date;
use tollgate_engine::upstream::StateEpisode;

use super::super::api_response;
use super::super::config::{change, if_match};
use super::super::config_common::{asker, operator};
use super::{mode, read, unknown};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::auth::Right;
use crate::body;
use crate::config_service::{ConfigChange, ServerConfigEntry};
use crate::fields::{bad, check_query};
use crate::ops::{ServerJson, for_observers};
use crate::wire_schema::{ServerStateWord, Time};

/// `GET /api/servers/{id}`: status and history, and for admins the config entry.
pub(crate) async fn show(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let shown = async {
        for_observers(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let gate = &front.gate;
        let row = gate.servers().into_iter().find(|it| it.id.as_str() == name);
        let row = row.ok_or_else(unknown)?;
        let history = gate.history(&name).unwrap_or_default();
        let entry = match front.keys.visitor(&sent)?.need(Right::Admin) {
            Ok(()) => entry(&front, &name).await,
            Err(_) => None,
        };
        Ok(Json(ServerDetailsJson::new(ServerJson::new(gate, row), &history, entry))
            .into_response())
    };
    api_response(shown.await)
}

/// If the file cannot be read now, the rest of the response is still useful.
async fn entry(front: &AppState, name: &str) -> Option<ServerConfigEntry> {
    front.operator.get()?.server(name).await.ok().flatten()
}

/// `PUT /api/servers/{id}`: replaces its config keys.
pub(crate) async fn replace(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let replaced = async {
        let operator = operator(&front, &sent)?;
        let mode = mode(&sent.uri)?;
        let body = body::json(&sent, body, &front.limits).await?;
        let (text, server) = read(&body)?;
        if text.is_some_and(|text| text != name) {
            return Err(cannot_rename());
        }
        let wish = ConfigChange::Replace { name, server };
        let version = if_match(&sent.headers)?;
        change(operator, asker(&front, &sent)?, wish, version, mode).await
    };
    api_response(replaced.await)
}

fn cannot_rename() -> ApiError {
    bad("a server cannot be renamed; add it under another name and remove this one".to_owned())
}

/// A server, its history and its config.
#[derive(JsonSchema, Serialize)]
pub(crate) struct ServerDetailsJson {
    #[serde(flatten)]
    row: ServerJson,
    /// its config as in the file, with secrets masked; `null` for built-in servers and for callers
    /// without the right to see it
    config: Option<Map<String, Value>>,
    /// as text
    yaml: Option<String>,
    /// version of the file, for `if-match`
    version: Option<String>,
    writable: Option<bool>,
    /// the last 50 states, newest first
    history: Vec<EpisodeJson>,
}

impl ServerDetailsJson {
    fn new(row: ServerJson, history: &[StateEpisode], entry: Option<ServerConfigEntry>) -> Self {
        let history = history.iter().map(EpisodeJson::from).collect();
        let (config, yaml, version, writable) = match entry {
            Some(ServerConfigEntry { keys, yaml, version, writable }) => {
                (Some(keys), Some(yaml), Some(version), Some(writable))
            }
            None => (None, None, None, None),
        };
        Self { row, config, yaml, version, writable, history }
    }
}

#[derive(JsonSchema, Serialize)]
struct EpisodeJson {
    #[schemars(with = "Time")]
    at: String,
    #[schemars(with = "ServerStateWord")]
    state: &'static str,
    reason: String,
}

impl From<&StateEpisode> for EpisodeJson {
    fn from(episode: &StateEpisode) -> Self {
        Self {
            at: date::format_rfc3339(episode.at),
            state: episode.state.as_str(),
            reason: episode.reason.clone(),
        }
    }
}
