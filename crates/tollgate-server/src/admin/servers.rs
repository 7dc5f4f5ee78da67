//! `/api/servers`: the configured servers, their status, and changes to them. A change edits the
//! config file, so it survives a restart. There is no other list of servers.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, Uri, header};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_mcp::tasks;

pub(crate) mod details;
pub(crate) mod trial;

pub(crate) use details::{replace, show};
pub(crate) use trial::trial;

use super::api_response;
use super::config::{change, if_match};
use super::config_common::{asker, map_config_error, operator};
use crate::api_error::{ApiError, FAULT};
use crate::app_state::AppState;
use crate::body;
use crate::config_service::{ApplyMode, ConfigChange, ServerSwitch};
use crate::fields::{bad, check_query, parameter};
use crate::ops::{self, for_admins, for_observers};

#[derive(JsonSchema, Serialize)]
pub(crate) struct RestartJson {
    restarted: bool,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct LoginLinkJson {
    url: String,
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct ServerLogJson {
    server: String,
    lines: Vec<String>,
}

/// `GET /api/servers`: all servers with their status.
pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    api_response(for_observers(&front, &sent).map(|()| ops::servers(&front)))
}

/// `POST /api/servers`: adds a server, given its config keys and its `name`.
pub(crate) async fn add(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let added = async {
        let operator = operator(&front, &sent)?;
        let mode = mode_of(&sent.uri, &["dry_run", "agents"])?;
        let agents = parameter(&sent.uri, "agents").unwrap_or_default();
        let agents = agents.split(',').map(str::trim).filter(|agent| !agent.is_empty());
        let agents = agents.map(str::to_owned).collect();
        let body = body::json(&sent, body, &front.limits).await?;
        let (name, server) = read_named(&body)?;
        let wish = ConfigChange::Add { name, server, agents };
        let version = if_match(&sent.headers)?;
        let mut response = change(operator, asker(&front, &sent)?, wish, version, mode).await?;
        if mode == ApplyMode::Apply {
            *response.status_mut() = StatusCode::CREATED;
        }
        Ok(response)
    };
    api_response(added.await)
}

/// `DELETE /api/servers/{id}`: removes its lines from the config.
pub(crate) async fn remove(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    api_response(apply_change(&front, &sent, ConfigChange::Remove { name }).await)
}

/// `POST /api/servers/{id}/enable`
pub(crate) async fn enable(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    api_response(
        apply_change(&front, &sent, ConfigChange::Switch { name, to: ServerSwitch::On }).await,
    )
}

/// `POST /api/servers/{id}/disable`
pub(crate) async fn disable(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    api_response(
        apply_change(&front, &sent, ConfigChange::Switch { name, to: ServerSwitch::Off }).await,
    )
}

/// `POST /api/servers/{id}/restart`: stops and starts it, even if it is busy.
pub(crate) async fn restart(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let restarted = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let upstream = front.gate.upstream(&name).ok_or_else(unknown)?;
        let by = front.keys.visitor(&sent)?.principal;
        let gate = Arc::clone(&front.gate);
        let restarted = tasks::run_to_completion("restart by command", async move {
            let restarted = upstream.restart().await;
            if restarted {
                let row = Decision::new(AuditAction::Server, &by, "restarted").about(&name);
                if let Err(error) = gate.ledger().note(row).await {
                    tracing::warn!(%error, server = name, "cannot write a restart to the audit \
                                                           trail yet");
                }
            }
            restarted
        });
        let restarted = restarted.await.ok_or(FAULT)?;
        Ok(Json(RestartJson { restarted }).into_response())
    };
    api_response(restarted.await)
}

/// `POST /api/servers/{id}/login`: the OAuth consent link.
pub(crate) async fn login(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let begun = async {
        let operator = operator(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let url = operator.login(&name, &asker(&front, &sent)?).await;
        let url = url.map_err(|why| map_config_error(&why))?;
        let mut response = Json(LoginLinkJson { url }).into_response();
        let never = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, never);
        Ok(response)
    };
    api_response(begun.await)
}

/// `GET /api/servers/{id}/logs`: the last lines that it wrote to its standard error.
pub(crate) async fn logs(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let lines = for_admins(&front, &sent)
        .and_then(|()| check_query(&sent.uri, &[]))
        .and_then(|()| front.gate.upstream(&name).ok_or_else(unknown))
        .map(|upstream| upstream.logs());
    api_response(lines.map(|lines| Json(ServerLogJson { server: name, lines }).into_response()))
}

async fn apply_change(
    front: &AppState,
    sent: &Parts,
    wish: ConfigChange,
) -> Result<Response, ApiError> {
    let operator = operator(front, sent)?;
    let version = if_match(&sent.headers)?;
    let mode = mode(&sent.uri)?;
    change(operator, asker(front, sent)?, wish, version, mode).await
}

fn mode(uri: &Uri) -> Result<ApplyMode, ApiError> {
    mode_of(uri, &["dry_run"])
}

fn mode_of(uri: &Uri, known: &[&str]) -> Result<ApplyMode, ApiError> {
    check_query(uri, known)?;
    match parameter(uri, "dry_run").as_deref() {
        None | Some("false") => Ok(ApplyMode::Apply),
        Some("" | "true") => Ok(ApplyMode::Try),
        Some(_) => {
            let detail = "`dry_run` is true or false";
            Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_query", detail))
        }
    }
}

fn read_named(body: &[u8]) -> Result<(String, Map<String, Value>), ApiError> {
    let (name, server) = read(body)?;
    Ok((name.ok_or_else(|| bad("`name` is missing".to_owned()))?, server))
}

/// The config keys of a server, and its name if given. `null` counts as absent.
fn read(body: &[u8]) -> Result<(Option<String>, Map<String, Value>), ApiError> {
    let object = tollgate_core::json::Object::parse_bytes(body);
    let object = object.map_err(|error| bad(format!("not a server: {error}")))?;
    let mut server: Map<String, Value> = serde_json::from_str(object.to_raw().get())
        .map_err(|error| bad(format!("not a server: {error}")))?;
    server.retain(|_, value| !value.is_null());
    match server.shift_remove("name") {
        Some(Value::String(name)) => Ok((Some(name), server)),
        Some(_) => Err(bad("`name` must be a string".to_owned())),
        None => Ok((None, server)),
    }
}

fn unknown() -> ApiError {
    let detail = "there is no such server in the configuration";
    ApiError::new(StatusCode::NOT_FOUND, "unknown_server", detail)
}
