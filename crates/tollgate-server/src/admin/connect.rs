//! `GET /api/connect`: setup of client programs for this gateway, at the address of this request.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{StatusCode, header};
use serde_json::{Value, json};
use tollgate_core::text::truncate_chars;

use super::api_response;
use super::config_common::onlooker;
use crate::api_error::{ApiError, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::auth::{TransportSecurity, line};
use crate::config_service::{ClientSetup, GatewayAuthMode, GatewayEndpoint};
use crate::fields::{check_query, parameter};

pub(crate) async fn connect(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    api_response(list_client_setups(&front, &sent))
}

fn list_client_setups(front: &AppState, sent: &Parts) -> Result<Response, ApiError> {
    let operator = onlooker(front, sent)?;
    check_query(&sent.uri, &["agent"])?;
    let agent = parameter(&sent.uri, "agent").filter(|agent| !agent.is_empty());
    if let Some(name) = &agent {
        front.gate.agent(name).map_err(|_| {
            let detail = format!("there is no agent `{}`", truncate_chars(name, MAX_ECHOED_CHARS));
            ApiError::with_detail(StatusCode::NOT_FOUND, "unknown_agent", detail)
        })?;
    }
    let usual = front.gate.default_agent().map(|agent| agent.id.to_string());
    let model = agent.clone().or(usual.ok()).unwrap_or_else(|| "default".to_owned());
    let door = if front.keys.is_open() { GatewayAuthMode::Open } else { GatewayAuthMode::Locked };
    let reach = GatewayEndpoint { url: address(sent), agent, model, door };
    let clients: Vec<Value> = operator.connect(&reach).iter().map(entry).collect();
    let needs_key = door == GatewayAuthMode::Locked;
    let body = json!({"clients": clients, "url": reach.url, "needs_key": needs_key});
    Ok(Json(body).into_response())
}

/// The address by which the caller reaches the gateway. The host guard has checked the host.
fn address(sent: &Parts) -> String {
    let scheme = match line(sent) {
        TransportSecurity::Tls => "https",
        TransportSecurity::Plain => "http",
    };
    let host = sent.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or(sent.uri.authority().map(|it| it.as_str())).unwrap_or("127.0.0.1:8655");
    format!("{scheme}://{host}")
}

fn entry(it: &ClientSetup) -> Value {
    json!({
        "id": it.id, "name": it.name, "file": it.file, "language": it.language,
        "text": it.text, "link": it.link, "note": it.note,
    })
}
