//! `/api/memory/relations`: what entities have to do with each other.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};
use tollgate_core::memory::{EntityId, NewRelation, Trust};
use tollgate_store::memory::Forget;

use super::asked::next;
use super::lines::{attributes, provenance};
use super::{Desk, gone_or, shown, told, whole};
use crate::body;
use crate::fields::Fields;
use crate::mcp::Front;
use crate::problem::Problem;

const KEYS: &[&str] = &["source", "type", "target", "attributes", "session", "confidence"];

/// `GET /api/memory/relations`: of one entity, or all.
pub(crate) async fn list(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let desk = Desk::open(&front, &sent, &["of", "limit", "skip"])?;
        let of = desk.asked.text("of")?.map(EntityId::parse).transpose()?;
        let page = desk.asked.page()?;
        let relations = desk.mind.store().relations(&desk.scope(), of.as_ref(), page).await?;
        let next = next(page, relations.len());
        let relations: Vec<Value> = relations.iter().map(shown::relation).collect();
        Ok(Json(json!({ "relations": relations, "next": next })).into_response())
    };
    told(answered.await)
}

/// `POST /api/memory/relations`: in the place of one of the same type between the same two.
pub(crate) async fn add(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let desk = Desk::open(&front, &sent, &[])?;
        desk.check_agent()?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = Fields::read(&body, KEYS)?;
        let source = EntityId::parse(&fields.needed_text("source")?)?;
        let target = EntityId::parse(&fields.needed_text("target")?)?;
        let kind = fields.needed_text("type")?;
        let relation = NewRelation::new(source, &kind, target, desk.mind.now())?
            .with(attributes(&fields)?)?
            .known(provenance(&fields)?)?;
        let told = whole(async move {
            let told = json!({
                "source": relation.source.as_str(),
                "type": relation.kind,
                "target": relation.target.as_str(),
            });
            let name = called(&relation.source, &relation.kind, &relation.target);
            desk.mind.store().relate(&desk.place(Trust::Operator), vec![relation]).await?;
            desk.note("kept", &name, "a relation").await;
            Ok(told)
        });
        Ok((StatusCode::CREATED, Json(told.await?)).into_response())
    };
    told(answered.await)
}

/// `DELETE /api/memory/relations`: the one that the query names.
pub(crate) async fn forget(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let desk = Desk::open(&front, &sent, &["source", "type", "target"])?;
        let source = EntityId::parse(desk.asked.needed("source")?)?;
        let target = EntityId::parse(desk.asked.needed("target")?)?;
        let kind = desk.asked.needed("type")?.trim().to_lowercase();
        let gone = whole(async move {
            let name = called(&source, &kind, &target);
            let what = Forget::Relation { source, kind, target };
            let gone = desk.mind.store().forget(&desk.scope(), &what).await?;
            desk.note("forgotten", &name, "a relation").await;
            Ok(gone)
        });
        gone_or(NONE, &gone.await?)
    };
    told(answered.await)
}

const NONE: Problem =
    Problem::new(StatusCode::NOT_FOUND, "unknown_relation", "there is no such relation");

fn called(source: &EntityId, kind: &str, target: &EntityId) -> String {
    format!("{source} {kind} {target}")
}
