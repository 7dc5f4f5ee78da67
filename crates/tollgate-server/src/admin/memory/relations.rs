//! `/api/memory/relations`: relations between entities.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};
use tollgate_core::memory::{AuthorTrust, EntityId, NewRelation};
use tollgate_store::memory::MemoryForgetTarget;

use super::json_lines::{attributes, provenance};
use super::query_params::next;
use super::{MemoryAdminRequest, api_response, gone_or, memory_json, run_to_completion};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::body;
use crate::fields::BodyFields;

const KEYS: &[&str] = &["source", "type", "target", "attributes", "session", "confidence"];

/// `GET /api/memory/relations`: relations of one entity, or all.
pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &["of", "limit", "skip"])?;
        let of = admin.query.text("of")?.map(EntityId::parse).transpose()?;
        let page = admin.query.page()?;
        let relations = admin.memory.store().relations(&admin.scope(), of.as_ref(), page).await?;
        let next = next(page, relations.len());
        let relations: Vec<Value> = relations.iter().map(memory_json::relation).collect();
        Ok(Json(json!({ "relations": relations, "next": next })).into_response())
    };
    api_response(answered.await)
}

/// `POST /api/memory/relations`: replaces a relation of the same type between the same two
/// entities.
pub(crate) async fn add(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        admin.check_agent()?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, KEYS)?;
        let source = EntityId::parse(&fields.needed_text("source")?)?;
        let target = EntityId::parse(&fields.needed_text("target")?)?;
        let kind = fields.needed_text("type")?;
        let relation = NewRelation::new(source, &kind, target, admin.memory.now())?
            .with(attributes(&fields)?)?
            .with_provenance(provenance(&fields)?)?;
        let answer = run_to_completion(async move {
            let answer = json!({
                "source": relation.source.as_str(),
                "type": relation.kind,
                "target": relation.target.as_str(),
            });
            let name = relation_name(&relation.source, &relation.kind, &relation.target);
            admin
                .memory
                .store()
                .relate(&admin.place(AuthorTrust::Operator), vec![relation])
                .await?;
            admin.note("kept", &name, "a relation").await;
            Ok(answer)
        });
        Ok((StatusCode::CREATED, Json(answer.await?)).into_response())
    };
    api_response(answered.await)
}

/// `DELETE /api/memory/relations`: deletes the relation that the query names.
pub(crate) async fn forget(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &["source", "type", "target"])?;
        let source = EntityId::parse(admin.query.require("source")?)?;
        let target = EntityId::parse(admin.query.require("target")?)?;
        let kind = admin.query.require("type")?.trim().to_lowercase();
        let gone = run_to_completion(async move {
            let name = relation_name(&source, &kind, &target);
            let what = MemoryForgetTarget::Relation { source, kind, target };
            let gone = admin.memory.store().forget(&admin.scope(), &what).await?;
            admin.note("forgotten", &name, "a relation").await;
            Ok(gone)
        });
        gone_or(NONE, &gone.await?)
    };
    api_response(answered.await)
}

const NONE: ApiError =
    ApiError::new(StatusCode::NOT_FOUND, "unknown_relation", "there is no such relation");

fn relation_name(source: &EntityId, kind: &str, target: &EntityId) -> String {
    format!("{source} {kind} {target}")
}
