//! `/api/memory/sessions`: conversations, their transcripts and their summaries.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tollgate_core::memory::{
    AuthorTrust, EntryId, MAX_TEXT_BYTES, NewEntry, SessionId, normalize_text,
};
use tollgate_store::memory::{MAX_ROWS_PER_CALL, MemoryForgetTarget, TranscriptPage};

use super::json_lines::moment;
use super::query_params::next;
use super::{
    MemoryAdminRequest, api_response, check_same, gone_or, memory_json, missing, run_to_completion,
};
use crate::api_error::ApiError;
use crate::app_state::AppState;
use crate::body;
use crate::fields::{BodyFields, bad};

/// `GET /api/memory/sessions`: latest activity first. With `q`, a search in the transcripts.
pub(crate) async fn list(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &["q", "session", "limit", "skip"])?;
        match admin.query.text("q")? {
            Some(query) => search(&admin, query).await,
            None => page(&admin).await,
        }
    };
    api_response(answered.await)
}

async fn search(admin: &MemoryAdminRequest, query: &str) -> Result<Response, ApiError> {
    let session = admin.query.text("session")?.map(SessionId::parse).transpose()?;
    if admin.query.number("skip")?.is_some() {
        return Err(super::bad_query("`skip` applies to lists only, not to searches".to_owned()));
    }
    let most = admin.query.hits()?;
    let hits = admin.memory.search_entries(&admin.scope(), query, session.as_ref(), most).await?;
    let results: Vec<Value> =
        hits.iter().map(|hit| memory_json::hit(memory_json::entry(&hit.found), hit)).collect();
    Ok(Json(json!({ "results": results })).into_response())
}

async fn page(admin: &MemoryAdminRequest) -> Result<Response, ApiError> {
    if admin.query.text("session")?.is_some() {
        let detail = "`session` requires `q`; one session is at `/api/memory/sessions/ID`";
        return Err(super::bad_query(detail.to_owned()));
    }
    let page = admin.query.page()?;
    let sessions = admin.memory.store().sessions(&admin.scope(), page).await?;
    let listed: Vec<Value> = sessions.iter().map(memory_json::session).collect();
    let next = next(page, sessions.len());
    Ok(Json(json!({ "sessions": listed, "next": next })).into_response())
}

/// `POST /api/memory/sessions`: appends to a transcript.
pub(crate) async fn append(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        admin.check_agent()?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, &["session", "entries"])?;
        let session = SessionId::parse(&fields.needed_text("session")?)?;
        let entries = entries(&admin, &session, &fields)?;
        let written = run_to_completion(async move {
            let count = entries.len();
            let name = session.as_str().to_owned();
            let ids = admin
                .memory
                .store()
                .append(&admin.place(AuthorTrust::Conversation), entries)
                .await?;
            admin.memory.wake();
            admin.note("kept", &name, &format!("{count} entries of a session")).await;
            let ids: Vec<u64> = ids.into_iter().map(|id| id.0).collect();
            Ok(json!({ "session": name, "ids": ids }))
        });
        Ok((StatusCode::CREATED, Json(written.await?)).into_response())
    };
    api_response(answered.await)
}

fn entries(
    admin: &MemoryAdminRequest,
    session: &SessionId,
    fields: &BodyFields<'_>,
) -> Result<Vec<NewEntry>, ApiError> {
    let raw = fields.raw("entries").ok_or_else(|| bad("`entries` is missing".to_owned()))?;
    let raw: Vec<&RawValue> = serde_json::from_str(raw.get())
        .map_err(|_| bad("`entries` must be a list of objects".to_owned()))?;
    if raw.is_empty() || raw.len() > MAX_ROWS_PER_CALL {
        return Err(bad(format!("`entries` must have 1 to {MAX_ROWS_PER_CALL} items")));
    }
    let now = admin.memory.now();
    let entry = |raw: &RawValue| {
        let fields = BodyFields::read(raw.get().as_bytes(), &["speaker", "text", "at"])?;
        let speaker = fields.needed_text("speaker")?;
        let text = fields.needed_text("text")?;
        let at = moment(&fields, "at")?.unwrap_or(now);
        Ok(NewEntry::new(session.clone(), &speaker, &text, at)?)
    };
    let named = |(at, raw): (usize, &RawValue)| {
        entry(raw).map_err(|why: ApiError| bad(format!("entry {}: {}", at + 1, why.detail)))
    };
    raw.into_iter().enumerate().map(named).collect()
}

/// `GET /api/memory/sessions/{id}`: the transcript, from the beginning or after an entry.
pub(crate) async fn show(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &["after", "limit"])?;
        let session = SessionId::parse(&id)?;
        let store = admin.memory.store();
        let found = store.session(&admin.scope(), &session).await?;
        let found = found.ok_or_else(|| unknown(&id))?;
        let after = admin.query.number("after")?.map(EntryId);
        let page = TranscriptPage { after, most: admin.query.page()?.most };
        let entries = store.entries(&admin.scope(), &session, page).await?;
        let next = entries.last().filter(|_| entries.len() == page.most).map(|it| it.id.0);
        let listed: Vec<Value> = entries.iter().map(memory_json::entry).collect();
        let body =
            json!({ "session": memory_json::session(&found), "entries": listed, "next": next });
        Ok(Json(body).into_response())
    };
    api_response(answered.await)
}

/// `PUT /api/memory/sessions/{id}`: sets a summary written by a person.
pub(crate) async fn summarise(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, &["id", "summary"])?;
        check_same(&id, fields.text("id")?.as_deref())?;
        let session = SessionId::parse(&id)?;
        let summary = normalize_text("summary", &fields.needed_text("summary")?, MAX_TEXT_BYTES)?;
        let written = run_to_completion(async move {
            let store = admin.memory.store();
            let place = admin.place(AuthorTrust::Operator);
            if !store.summarise(&place, &session, &summary).await? {
                return Err(unknown(session.as_str()));
            }
            admin.note("summarised", session.as_str(), "a summary of a session").await;
            let found = store.session(&admin.scope(), &session).await?;
            found.map(|it| memory_json::session(&it)).ok_or_else(|| unknown(session.as_str()))
        });
        Ok(Json(written.await?).into_response())
    };
    api_response(answered.await)
}

/// `DELETE /api/memory/sessions/{id}`, with its transcript.
pub(crate) async fn forget(
    State(front): State<Arc<AppState>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        let session = SessionId::parse(&id)?;
        let none = unknown(&id);
        let gone = run_to_completion(async move {
            let what = MemoryForgetTarget::Session(session);
            let gone = admin.memory.store().forget(&admin.scope(), &what).await?;
            admin.note("forgotten", &id, &super::in_words(&gone)).await;
            Ok(gone)
        });
        gone_or(none, &gone.await?)
    };
    api_response(answered.await)
}

fn unknown(id: &str) -> ApiError {
    missing("unknown_session", "session", id)
}
