//! `/api/config` and `/api/reload`: the config file over HTTP. Secrets are redacted in every
//! response. A new text is validated before anything changes.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::api_response;
use super::config_common::{asker, attempt_json, changed_json, map_config_error, operator};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::body;
use crate::config_service::{ApplyMode, ConfigChange, ConfigChangeRequest, ConfigService};
use crate::fields::{check_query, parameter};

/// `GET /api/config`: the text, or its values with `?format=json`.
pub(crate) async fn read(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let shown = async {
        let operator = operator(&front, &sent)?;
        check_query(&sent.uri, &["format"])?;
        let form = form(&sent)?;
        let shown = operator.config().await.map_err(|why| map_config_error(&why))?;
        let mut response = match form {
            ConfigResponseFormat::Yaml => {
                let media = HeaderValue::from_static("application/yaml; charset=utf-8");
                ([(header::CONTENT_TYPE, media)], shown.text).into_response()
            }
            ConfigResponseFormat::Json => {
                let version = &shown.version;
                let body = json!({"file": shown.file, "version": version,
                    "writable": shown.writable, "config": shown.values});
                Json(body).into_response()
            }
        };
        tag(&mut response, &shown.version);
        Ok(response)
    };
    api_response(shown.await)
}

/// `PUT /api/config`: replaces the whole text, if `if-match` names the current version.
pub(crate) async fn write(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let written = async {
        let operator = operator(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let version = if_match(&sent.headers)?.ok_or_else(no_version)?;
        let text = text(&front, &sent, body).await?;
        change(
            operator,
            asker(&front, &sent)?,
            ConfigChange::Text(text),
            Some(version),
            ApplyMode::Apply,
        )
        .await
    };
    api_response(written.await)
}

/// `POST /api/config/check`: validates a text and reports the effect it would have.
pub(crate) async fn check(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let checked = async {
        let operator = operator(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let version = if_match(&sent.headers)?;
        let text = text(&front, &sent, body).await?;
        change(operator, asker(&front, &sent)?, ConfigChange::Text(text), version, ApplyMode::Try)
            .await
    };
    api_response(checked.await)
}

/// `POST /api/reload`: reloads the file.
pub(crate) async fn reload(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let reloaded = async {
        let operator = operator(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let attempt = operator.reload(&asker(&front, &sent)?).await;
        Ok(Json(attempt_json(&attempt)).into_response())
    };
    api_response(reloaded.await)
}

/// `GET /api/reload`: result of the last reload.
pub(crate) async fn reload_status(
    State(front): State<Arc<AppState>>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let last = operator(&front, &sent).map(|operator| {
        let (last, tally) = operator.last();
        let last = last.as_ref().map_or(Value::Null, attempt_json);
        let applied = tally.applied;
        let refused = tally.refused;
        Json(json!({"last": last, "applied": applied, "refused": refused})).into_response()
    });
    api_response(last)
}

/// Applies or previews a change, and returns its summary.
pub(super) async fn change(
    operator: &dyn ConfigService,
    by: String,
    change: ConfigChange,
    version: Option<String>,
    mode: ApplyMode,
) -> Result<Response, ApiError> {
    let order = ConfigChangeRequest { by, version, change, mode };
    let changed = operator.change(order).await.map_err(|why| map_config_error(&why))?;
    let mut response = Json(changed_json(&changed, mode)).into_response();
    tag(&mut response, &changed.version);
    Ok(response)
}

/// The version in `if-match`. `None` for `*` or without the header: any version.
pub(super) fn if_match(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let typed = value.to_str().unwrap_or_default().trim();
    if typed == "*" {
        return Ok(None);
    }
    let bare = typed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let bare = bare.filter(|bare| !bare.is_empty() && !bare.contains('"'));
    bare.map(|bare| Some(bare.to_owned())).ok_or_else(|| {
        let detail = "`if-match` must be one quoted tag from `etag`";
        ApiError::new(StatusCode::BAD_REQUEST, "bad_header", detail)
    })
}

fn no_version() -> ApiError {
    let detail = "send the `etag` of `GET /api/config` as `if-match`";
    ApiError::new(StatusCode::PRECONDITION_REQUIRED, "no_version", detail)
}

#[derive(Clone, Copy)]
enum ConfigResponseFormat {
    Yaml,
    Json,
}

fn form(sent: &Parts) -> Result<ConfigResponseFormat, ApiError> {
    match parameter(&sent.uri, "format").as_deref() {
        None | Some("yaml") => Ok(ConfigResponseFormat::Yaml),
        Some("json") => Ok(ConfigResponseFormat::Json),
        Some(_) => {
            let detail = "`format` is yaml or json";
            Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_query", detail))
        }
    }
}

async fn text(front: &AppState, sent: &Parts, body: Body) -> Result<String, ApiError> {
    let bytes = body::yaml(sent, body, &front.limits).await?;
    String::from_utf8(bytes.to_vec())
        .map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "bad_body", "the body is not UTF-8"))
}

fn tag(response: &mut Response, version: &str) {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    let never = HeaderValue::from_static("no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, never);
}
