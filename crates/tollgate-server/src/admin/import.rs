//! `POST /api/import`: converts a pasted command line, URL or config file of another program into
//! config entries. Changes nothing. `POST /api/servers` adds the chosen ones.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use serde_json::{Map, Value, json};

use super::api_response;
use super::config_common::{map_config_error, operator};
use crate::app_state::AppState;
use crate::body;
use crate::config_service::{ImportCandidate, ImportPreview};
use crate::fields::{BodyFields, check_query};

pub(crate) async fn import(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let read = async {
        let operator = operator(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, &["text", "name"])?;
        let text = fields.needed_text("text")?;
        let name = fields.text("name")?;
        let name = name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let offered = operator.import(&text, name).await.map_err(|why| map_config_error(&why))?;
        let mut response = Json(preview_json(&offered)).into_response();
        let never = HeaderValue::from_static("no-store");
        response.headers_mut().insert(header::CACHE_CONTROL, never);
        Ok(response)
    };
    api_response(read.await)
}

fn preview_json(offered: &ImportPreview) -> Value {
    let servers: Vec<Value> = offered.servers.iter().map(|it| entry(it, "server")).collect();
    let others: Vec<Value> = offered
        .others
        .iter()
        .map(|(section, found)| {
            let mut other = entry(found, "keys");
            other["section"] = json!(section);
            other
        })
        .collect();
    let dropped: Vec<Value> =
        offered.dropped.iter().map(|(what, why)| json!({"what": what, "why": why})).collect();
    // Return secrets to the sender, so that a server can be tried before the variables are set.
    let given: Map<String, Value> =
        offered.given.iter().map(|(name, value)| (name.clone(), json!(value.reveal()))).collect();
    json!({
        "format": offered.format, "servers": servers, "others": others, "dropped": dropped,
        "given": given,
    })
}

fn entry(found: &ImportCandidate, keys: &str) -> Value {
    let mut entry = json!({"name": found.name, "clash": found.clash, "notes": found.notes});
    entry[keys] = Value::Object(found.keys.clone());
    entry
}
