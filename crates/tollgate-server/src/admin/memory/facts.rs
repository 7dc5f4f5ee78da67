//! `/api/memory/facts`: facts in the memory, searched by text and by meaning, and new ones.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};
use tollgate_core::memory::{AuthorTrust, FactId};
use tollgate_store::memory::{MemoryForgetTarget, MemoryItem};

use super::json_lines::{fact, moment};
use super::query_params::next;
use super::{MemoryAdminRequest, api_response, gone_or, memory_json, missing, run_to_completion};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::body;
use crate::fields::BodyFields;

/// `GET /api/memory/facts`: newest first. With `q`, best match first.
pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &["q", "limit", "skip"])?;
        match admin.query.text("q")? {
            Some(query) => search(&admin, query).await,
            None => {
                let page = admin.query.page()?;
                let facts = admin.memory.store().facts(&admin.scope(), page).await?;
                let next = next(page, facts.len());
                let facts: Vec<Value> = facts.iter().map(memory_json::fact).collect();
                Ok(Json(json!({ "facts": facts, "next": next })).into_response())
            }
        }
    };
    api_response(answered.await)
}

async fn search(admin: &MemoryAdminRequest, query: &str) -> Result<Response, ApiError> {
    let hits = admin.memory.search_facts(&admin.scope(), query, admin.query.hits()?).await?;
    let results: Vec<Value> = hits
        .iter()
        .map(|hit| match &hit.found {
            MemoryItem::Fact(fact) => {
                let mut shown = memory_json::fact(fact);
                shown["kind"] = json!("fact");
                memory_json::hit(shown, hit)
            }
            MemoryItem::Utterance(entry) => {
                let mut shown = memory_json::entry(entry);
                shown["kind"] = json!("entry");
                memory_json::hit(shown, hit)
            }
        })
        .collect();
    Ok(Json(json!({ "results": results })).into_response())
}

/// `POST /api/memory/facts`
pub(crate) async fn add(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        admin.check_agent()?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, &["text", "about", "topic", "session", "at"])?;
        let at = moment(&fields, "at")?.unwrap_or_else(|| admin.memory.now());
        let fact = fact(&fields, at)?;
        let written = run_to_completion(async move {
            let store = admin.memory.store();
            if let Some(about) = &fact.entity
                && store.snapshot(&admin.scope(), about, 0).await?.is_none()
            {
                return Err(missing("unknown_entity", "entity", about.as_str()));
            }
            let ids = store.remember(&admin.place(AuthorTrust::Operator), vec![fact]).await?;
            admin.memory.wake();
            let id = ids.first().map(|id| id.0);
            let name = id.map_or_else(String::new, |id| id.to_string());
            admin.note("kept", &name, "a fact").await;
            Ok(json!({ "id": id }))
        });
        Ok((StatusCode::CREATED, Json(written.await?)).into_response())
    };
    api_response(answered.await)
}

/// `DELETE /api/memory/facts/{id}`
pub(crate) async fn forget(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        let none = missing("unknown_fact", "fact", &id);
        let number: u64 = id.parse().map_err(|_| none.clone())?;
        let gone = run_to_completion(async move {
            let what = MemoryForgetTarget::Fact(FactId(number));
            let gone = admin.memory.store().forget(&admin.scope(), &what).await?;
            admin.note("forgotten", &id, "a fact").await;
            Ok(gone)
        });
        gone_or(none, &gone.await?)
    };
    api_response(answered.await)
}
