//! `/api/memory/facts`: what is known, by its words and its meaning, and more of it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};
use tollgate_core::memory::{FactId, Trust};
use tollgate_store::memory::{Forget, Known};

use super::asked::next;
use super::lines::{fact, moment};
use super::{Desk, gone_or, missing, shown, told, whole};
use crate::body;
use crate::fields::Fields;
use crate::mcp::Front;
use crate::problem::Problem;

/// `GET /api/memory/facts`: the newest first; with `q`, the best fit first.
pub(crate) async fn list(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let desk = Desk::open(&front, &sent, &["q", "limit", "skip"])?;
        match desk.asked.text("q")? {
            Some(query) => search(&desk, query).await,
            None => {
                let page = desk.asked.page()?;
                let facts = desk.mind.store().facts(&desk.scope(), page).await?;
                let next = next(page, facts.len());
                let facts: Vec<Value> = facts.iter().map(shown::fact).collect();
                Ok(Json(json!({ "facts": facts, "next": next })).into_response())
            }
        }
    };
    told(answered.await)
}

async fn search(desk: &Desk, query: &str) -> Result<Response, Problem> {
    let hits = desk.mind.search_facts(&desk.scope(), query, desk.asked.hits()?).await?;
    let results: Vec<Value> = hits
        .iter()
        .map(|hit| match &hit.found {
            Known::Fact(fact) => {
                let mut shown = shown::fact(fact);
                shown["kind"] = json!("fact");
                shown::hit(shown, hit)
            }
            Known::Said(entry) => {
                let mut shown = shown::entry(entry);
                shown["kind"] = json!("entry");
                shown::hit(shown, hit)
            }
        })
        .collect();
    Ok(Json(json!({ "results": results })).into_response())
}

/// `POST /api/memory/facts`
pub(crate) async fn add(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let desk = Desk::open(&front, &sent, &[])?;
        desk.check_agent()?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = Fields::read(&body, &["text", "about", "topic", "session", "at"])?;
        let at = moment(&fields, "at")?.unwrap_or_else(|| desk.mind.now());
        let fact = fact(&fields, at)?;
        let told = whole(async move {
            let store = desk.mind.store();
            if let Some(about) = &fact.entity
                && store.snapshot(&desk.scope(), about, 0).await?.is_none()
            {
                return Err(missing("unknown_entity", "entity", about.as_str()));
            }
            let ids = store.remember(&desk.place(Trust::Operator), vec![fact]).await?;
            desk.mind.stir();
            let id = ids.first().map(|id| id.0);
            let name = id.map_or_else(String::new, |id| id.to_string());
            desk.note("kept", &name, "a fact").await;
            Ok(json!({ "id": id }))
        });
        Ok((StatusCode::CREATED, Json(told.await?)).into_response())
    };
    told(answered.await)
}

/// `DELETE /api/memory/facts/{id}`
pub(crate) async fn forget(
    State(front): State<Arc<Front>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let desk = Desk::open(&front, &sent, &[])?;
        let none = missing("unknown_fact", "fact", &id);
        let number: u64 = id.parse().map_err(|_| none.clone())?;
        let gone = whole(async move {
            let what = Forget::Fact(FactId(number));
            let gone = desk.mind.store().forget(&desk.scope(), &what).await?;
            desk.note("forgotten", &id, "a fact").await;
            Ok(gone)
        });
        gone_or(none, &gone.await?)
    };
    told(answered.await)
}
