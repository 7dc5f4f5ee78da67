//! `GET /api/connect`: what other programs need to use this gateway, at the address by which it was
//! just asked.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{StatusCode, header};
use serde_json::{Value, json};
use tollgate_core::text::shortened;

use super::operated::onlooker;
use super::told;
use crate::auth::{Line, line};
use crate::fields::{check_query, parameter};
use crate::mcp::Front;
use crate::operator::{Connection, Door, Reach};
use crate::problem::{Problem, SAID_BACK};

pub(crate) async fn connect(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    told(shown(&front, &sent))
}

fn shown(front: &Front, sent: &Parts) -> Result<Response, Problem> {
    let operator = onlooker(front, sent)?;
    check_query(&sent.uri, &["agent"])?;
    let agent = parameter(&sent.uri, "agent").filter(|agent| !agent.is_empty());
    if let Some(name) = &agent {
        front.gate.agent(name).map_err(|_| {
            let detail = format!("there is no agent `{}`", shortened(name, SAID_BACK));
            Problem::told(StatusCode::NOT_FOUND, "unknown_agent", detail)
        })?;
    }
    let usual = front.gate.default_agent().map(|agent| agent.id.to_string());
    let model = agent.clone().or(usual.ok()).unwrap_or_else(|| "default".to_owned());
    let door = if front.keys.is_open() { Door::Open } else { Door::Locked };
    let reach = Reach { url: address(sent), agent, model, door };
    let clients: Vec<Value> = operator.connect(&reach).iter().map(entry).collect();
    let needs_key = door == Door::Locked;
    let body = json!({"clients": clients, "url": reach.url, "needs_key": needs_key});
    Ok(Json(body).into_response())
}

/// As whoever asks reaches it. The guard let the host pass.
fn address(sent: &Parts) -> String {
    let scheme = match line(sent) {
        Line::Tls => "https",
        Line::Plain => "http",
    };
    let host = sent.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or(sent.uri.authority().map(|it| it.as_str())).unwrap_or("127.0.0.1:8655");
    format!("{scheme}://{host}")
}

fn entry(it: &Connection) -> Value {
    json!({
        "id": it.id, "name": it.name, "file": it.file, "language": it.language,
        "text": it.text, "link": it.link, "note": it.note,
    })
}
