//! Stored answers of the Responses API: `GET` and `DELETE /v1/responses/{id}`, and the items of its
//! input. Each belongs to the principal that asked; for all others it does not exist.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use serde_json::{Value, json};
use tollgate_core::text::truncate_chars;
use tollgate_core::turn::Principal;
use tollgate_llm::format::openai_responses::input_items;

use crate::api_error::{ApiError, ApiErrorFormat, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::auth::Right;
use crate::fields::{check_query, parameter};
use crate::request_context::{RequestContext, RequestOverrides};

const DEFAULT_ITEMS: usize = 20;
const MAX_ITEMS: usize = 100;

pub(crate) async fn show(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    finish(read(&front, &sent, &id))
}

pub(crate) async fn delete(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    finish(remove(&front, &sent, &id))
}

pub(crate) async fn items(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    finish(list_items(&front, &sent, &id))
}

fn finish(body: Result<String, ApiError>) -> Response {
    match body {
        Ok(body) => ([(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(problem) => problem.response(ApiErrorFormat::OpenAi),
    }
}

fn principal(front: &AppState, sent: &Parts) -> Result<Principal, ApiError> {
    let who = RequestContext::read(&front.keys, sent, RequestOverrides::default())?;
    who.rights.need(Right::Execute)?;
    Ok(who.principal)
}

fn read(front: &AppState, sent: &Parts, id: &str) -> Result<String, ApiError> {
    check_query(&sent.uri, &["include", "include[]", "include_obfuscation", "stream"])?;
    let principal = principal(front, sent)?;
    if parameter(&sent.uri, "stream").as_deref() == Some("true") {
        return Err(bad_query("`stream` must be false: a stored response is complete".to_owned()));
    }
    let found = front.threads.find_response(&principal, id, front.clock.now());
    found.map(|stored| stored.answer.to_string()).ok_or_else(|| unknown(id))
}

fn remove(front: &AppState, sent: &Parts, id: &str) -> Result<String, ApiError> {
    check_query(&sent.uri, &[])?;
    let principal = principal(front, sent)?;
    if front.threads.remove(&principal, id, front.clock.now()) {
        Ok(json!({"id": id, "object": "response", "deleted": true}).to_string())
    } else {
        Err(unknown(id))
    }
}

/// Newest first, unless the client wants another order.
fn list_items(front: &AppState, sent: &Parts, id: &str) -> Result<String, ApiError> {
    check_query(&sent.uri, &["after", "include", "include[]", "limit", "order"])?;
    let principal = principal(front, sent)?;
    let stored = front.threads.find_response(&principal, id, front.clock.now());
    let stored = stored.ok_or_else(|| unknown(id))?;
    let mut items = input_items(&stored.input, id);
    match parameter(&sent.uri, "order").as_deref() {
        None | Some("desc") => items.reverse(),
        Some("asc") => {}
        Some(_) => return Err(bad_query("`order` must be `asc` or `desc`".to_owned())),
    }
    let limit = match parameter(&sent.uri, "limit") {
        None => DEFAULT_ITEMS,
        Some(text) => {
            text.parse().ok().filter(|it| (1..=MAX_ITEMS).contains(it)).ok_or_else(|| {
                bad_query(format!("`limit` must be a whole number from 1 to {MAX_ITEMS}"))
            })?
        }
    };
    let start = match parameter(&sent.uri, "after") {
        None => 0,
        Some(after) => {
            let at = items.iter().position(|item| item["id"] == *after);
            at.ok_or_else(|| bad_query("`after` must be the id of an item".to_owned()))? + 1
        }
    };
    let has_more = items.len() > start + limit;
    let data: Vec<Value> = items.into_iter().skip(start).take(limit).collect();
    let id_of = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    let first_id = id_of(data.first());
    let last_id = id_of(data.last());
    let page = json!({"object": "list", "data": data, "first_id": first_id, "last_id": last_id,
                      "has_more": has_more});
    Ok(page.to_string())
}

fn bad_query(detail: String) -> ApiError {
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_query", detail)
}

/// The same for expired, deleted and foreign ids.
fn unknown(id: &str) -> ApiError {
    let id = truncate_chars(id, MAX_ECHOED_CHARS);
    let detail = format!(
        "the gateway has no response `{id}`; it keeps responses for an hour, each for the key that \
         asked"
    );
    ApiError::with_detail(StatusCode::NOT_FOUND, "unknown_response", detail)
}
