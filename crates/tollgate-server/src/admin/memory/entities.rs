//! `/api/memory/entities`: people and things in the memory. Entities have versions for optimistic
//! concurrency: a change based on an outdated version is refused.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tollgate_core::memory::{AuthorTrust, Entity, EntityId, NewEntity};
use tollgate_store::memory::{EntityFilter, MemoryForgetTarget, Page};

use super::json_lines::attributes;
use super::query_params::next;
use super::{
    MemoryAdminRequest, api_response, check_same, gone_or, in_words, memory_json, missing,
    run_to_completion,
};
use crate::admin::config::if_match;
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::body;
use crate::fields::BodyFields;

/// Limit on the links shown for one entity.
const MAX_LINKS: usize = 1_000;
const USUAL_LINKS: usize = 100;
/// The newest facts about one entity that are shown with it.
const MAX_FACTS: usize = 100;

/// `GET /api/memory/entities`
pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &["name", "type", "limit", "skip"])?;
        let filter = EntityFilter {
            name: admin.query.text("name")?.map(str::to_owned),
            kind: admin.query.text("type")?.map(str::to_lowercase),
        };
        let page = admin.query.page()?;
        let entities = admin.memory.store().find_entities(&admin.scope(), &filter, page).await?;
        let next = next(page, entities.len());
        let entities: Vec<Value> = entities.iter().map(memory_json::entity).collect();
        Ok(Json(json!({ "entities": entities, "next": next })).into_response())
    };
    api_response(answered.await)
}

/// `POST /api/memory/entities`: creates an entity.
pub(crate) async fn add(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        admin.check_agent()?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, &["id", "type", "name", "attributes"])?;
        let kind = fields.needed_text("type")?;
        let name = fields.needed_text("name")?;
        let id = match fields.text("id")? {
            Some(id) => EntityId::parse(&id)?,
            None => EntityId::made_of(&kind, &name)?,
        };
        let entity = entity(&admin, id, &fields)?;
        keep(front, admin, entity, EntityPrecondition::Nothing).await
    };
    api_response(answered.await)
}

/// `PUT /api/memory/entities/{id}`: replaces the entity. With `if-match` only if that version is
/// current.
pub(crate) async fn put(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        admin.check_agent()?;
        let expected = match if_match(&sent.headers)? {
            Some(version) => EntityPrecondition::Version(version),
            None if sent.headers.contains_key(header::IF_MATCH) => EntityPrecondition::Something,
            None => EntityPrecondition::Anything,
        };
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, &["id", "type", "name", "attributes"])?;
        check_same(&id, fields.text("id")?.as_deref())?;
        let entity = entity(&admin, EntityId::parse(&id)?, &fields)?;
        keep(front, admin, entity, expected).await
    };
    api_response(answered.await)
}

fn entity(
    admin: &MemoryAdminRequest,
    id: EntityId,
    fields: &BodyFields<'_>,
) -> Result<NewEntity, ApiError> {
    let kind = fields.needed_text("type")?;
    let name = fields.needed_text("name")?;
    let entity = NewEntity::new(id, &kind, &name, admin.memory.now())?;
    Ok(entity.with(attributes(fields)?)?)
}

/// Precondition of a change.
enum EntityPrecondition {
    Anything,
    Nothing,
    Something,
    Version(String),
}

impl EntityPrecondition {
    fn check(&self, found: Option<&Entity>, id: &EntityId) -> Result<(), ApiError> {
        match (self, found) {
            (Self::Anything, _) | (Self::Nothing, None) | (Self::Something, Some(_)) => Ok(()),
            (Self::Nothing, Some(_)) => {
                let detail = format!("an entity `{id}` already exists; use PUT to change it");
                Err(ApiError::with_detail(StatusCode::CONFLICT, "entity_exists", detail))
            }
            (Self::Version(version), Some(found)) if *version == memory_json::version(found) => {
                Ok(())
            }
            (Self::Version(_) | Self::Something, _) => {
                let detail = format!("`{id}` was changed after you read it");
                Err(ApiError::with_detail(StatusCode::PRECONDITION_FAILED, "other_version", detail))
            }
        }
    }
}

async fn keep(
    front: Arc<AppState>,
    admin: MemoryAdminRequest,
    entity: NewEntity,
    expected: EntityPrecondition,
) -> Result<Response, ApiError> {
    run_to_completion(async move {
        let id = entity.id.clone();
        let _edit =
            front.edits.begin((admin.namespace.clone(), admin.agent.clone(), id.clone()))?;
        let before = own(&admin, &id).await?;
        expected.check(before.as_ref(), &id)?;
        admin
            .memory
            .store()
            .put_entities(&admin.place(AuthorTrust::Operator), vec![entity])
            .await?;
        let outcome = if before.is_some() { "changed" } else { "kept" };
        admin.note(outcome, id.as_str(), "an entity").await;
        let after = own(&admin, &id).await?;
        let after = after.ok_or_else(|| missing("unknown_entity", "entity", id.as_str()))?;
        let status = if before.is_some() { StatusCode::OK } else { StatusCode::CREATED };
        let body = json!({ "entity": memory_json::entity(&after) });
        Ok(with_etag((status, Json(body)).into_response(), &after))
    })
    .await
}

/// The entity that a change would replace: not one of the same name for another audience.
async fn own(admin: &MemoryAdminRequest, id: &EntityId) -> Result<Option<Entity>, ApiError> {
    let found = admin.memory.store().snapshot(&admin.scope(), id, 0).await?;
    let found = found.map(|snapshot| snapshot.entity);
    Ok(found.filter(|entity| entity.audience.owner() == admin.agent.as_ref()))
}

/// `GET /api/memory/entities/{id}`: the entity, its relations, and the newest facts about it.
pub(crate) async fn show(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &["limit"])?;
        let links = admin.query.limit(USUAL_LINKS, MAX_LINKS)?;
        let scope = admin.scope();
        let entity = EntityId::parse(&id)?;
        let found = admin.memory.store().snapshot(&scope, &entity, links).await?;
        let found = found.ok_or_else(|| missing("unknown_entity", "entity", &id))?;
        let page = Page { skip: 0, most: MAX_FACTS };
        let facts = admin.memory.store().facts_about(&scope, &found.entity.id, page).await?;
        let facts: Vec<Value> = facts.iter().map(memory_json::fact).collect();
        let relations: Vec<Value> = found.links.iter().map(memory_json::link).collect();
        let body = json!({
            "entity": memory_json::entity(&found.entity),
            "relations": relations,
            "left_out": found.left_out,
            "facts": facts,
        });
        Ok(with_etag(Json(body).into_response(), &found.entity))
    };
    api_response(answered.await)
}

/// `DELETE /api/memory/entities/{id}`, with its relations.
pub(crate) async fn forget(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        let version = if_match(&sent.headers)?;
        let entity = EntityId::parse(&id)?;
        let none = missing("unknown_entity", "entity", &id);
        let gone = run_to_completion(async move {
            let subject = (admin.namespace.clone(), admin.agent.clone(), entity.clone());
            let _edit = front.edits.begin(subject)?;
            if let Some(version) = version {
                let found = admin.memory.store().snapshot(&admin.scope(), &entity, 0).await?;
                let found = found.map(|snapshot| snapshot.entity);
                EntityPrecondition::Version(version).check(found.as_ref(), &entity)?;
            }
            let what = MemoryForgetTarget::Entity(entity);
            let gone = admin.memory.store().forget(&admin.scope(), &what).await?;
            admin.note("forgotten", &id, &in_words(&gone)).await;
            Ok(gone)
        });
        gone_or(none, &gone.await?)
    };
    api_response(answered.await)
}

fn with_etag(mut response: Response, entity: &Entity) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", memory_json::version(entity))) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
