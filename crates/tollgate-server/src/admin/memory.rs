//! `/api/memory`: the memory of agents, for operators: read, correct, export, import and delete.
//! Agents write through their tools.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use serde_json::{Value, json};
use tollgate_core::id::AgentId;
use tollgate_core::memory::{
    Audience, AuthorTrust, MemoryAuthor, MemoryInputError, MemoryName, MemoryScope, MemoryTarget,
    Namespace,
};
use tollgate_core::text::truncate_chars;
use tollgate_core::turn::Principal;
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_engine::gate::Gate;
use tollgate_engine::memory::MemoryService;
use tollgate_mcp::tasks;
use tollgate_store::memory::{MemoryCounts, MemoryError, MemoryForgetTarget};

use super::api_response;
use crate::api_error::{ApiError, FAULT, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::fields::bad;
use crate::ops::for_admins;

pub(crate) mod entities;
mod export;
pub(crate) mod facts;
mod import;
mod json_lines;
mod memory_json;
mod query_params;
pub(crate) mod relations;
pub(crate) mod sessions;

pub(crate) use export::export;
pub(crate) use import::import;
use query_params::{MemoryQueryParams, bad_query};

const NO_MEMORY: ApiError =
    ApiError::new(StatusCode::NOT_FOUND, "no_memory", "this gateway has no memory");

/// An authorized request to the memory, with its namespace and agent.
struct MemoryAdminRequest {
    gate: Arc<Gate>,
    memory: Arc<MemoryService>,
    by: Principal,
    query: MemoryQueryParams,
    /// From the query, or the namespace of the caller.
    namespace: Namespace,
    /// The agent whose view is read, or for which alone entries are written.
    agent: Option<AgentId>,
}

impl MemoryAdminRequest {
    /// Requires the right `admin`. Parameters other than `namespace`, `agent` and `known` are
    /// refused.
    fn open(front: &AppState, sent: &Parts, known: &[&str]) -> Result<Self, ApiError> {
        for_admins(front, sent)?;
        let query = MemoryQueryParams::read(&sent.uri, known)?;
        let memory = Arc::clone(front.gate.memory().ok_or(NO_MEMORY)?);
        let visitor = front.keys.visitor(sent)?;
        let namespace = match query.text("namespace")? {
            Some(text) => Namespace::parse(text)
                .map_err(|error| bad_query(format!("`namespace`: {error}")))?,
            None => {
                let tenant = visitor.grant.as_ref().and_then(|grant| grant.tenant.as_ref());
                Namespace::of(tenant, &MemoryName::usual())
            }
        };
        let agent = query.text("agent")?.map(agent).transpose()?;
        let gate = Arc::clone(&front.gate);
        let by = visitor.principal;
        Ok(Self { gate, memory, by, query, namespace, agent })
    }

    fn scope(&self) -> MemoryScope {
        match &self.agent {
            Some(agent) => MemoryScope::of_agent(self.namespace.clone(), agent.clone()),
            None => MemoryScope::of_operator(self.namespace.clone()),
        }
    }

    fn place(&self, trust: AuthorTrust) -> MemoryTarget {
        MemoryTarget {
            namespace: self.namespace.clone(),
            audience: self.agent.clone().map_or(Audience::Shared, Audience::Only),
            author: self.author("api", trust),
        }
    }

    fn author(&self, via: &str, trust: AuthorTrust) -> MemoryAuthor {
        MemoryAuthor { name: self.by.as_str().to_owned(), via: via.to_owned(), trust }
    }

    /// Entries for a missing agent would later belong to any new agent of that name.
    fn check_agent(&self) -> Result<(), ApiError> {
        let Some(agent) = &self.agent else { return Ok(()) };
        match self.gate.agent(agent.as_str()) {
            Ok(_) => Ok(()),
            Err(unknown) => Err(bad_query(unknown.to_string())),
        }
    }

    /// Writes an audit row. The change stays in force even if the row cannot be written.
    async fn note(&self, outcome: &'static str, about: &str, detail: &str) {
        let detail = format!("in {}: {detail}", self.namespace);
        let decision =
            Decision::new(AuditAction::Memory, &self.by, outcome).about(about).because(&detail);
        let decision = match &self.agent {
            Some(agent) => decision.agent(agent),
            None => decision,
        };
        if let Err(error) = self.gate.ledger().note(decision).await {
            tracing::warn!(%error, outcome, "cannot write the change of the memory to the audit \
                                             trail yet");
        }
    }
}

/// Runs to completion even if the client disconnects, so that every change gets its audit row.
async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    tasks::run_to_completion("change of the memory", work).await.unwrap_or(Err(FAULT))
}

fn agent(text: &str) -> Result<AgentId, ApiError> {
    AgentId::parse(text).map_err(|error| bad_query(format!("`agent`: {error}")))
}

/// `GET /api/memory`: the namespaces and their sizes.
pub(crate) async fn overview(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &[])?;
        let all = admin.memory.store().namespaces().await?;
        let namespace_filter = admin.query.text("namespace")?.map(|_| &admin.namespace);
        let shown =
            all.iter().filter(|(namespace, _)| namespace_filter.is_none_or(|it| it == namespace));
        let shown: Vec<Value> = shown
            .map(|(namespace, counts)| {
                let mut shown = counts_json(counts);
                shown["namespace"] = json!(namespace.as_str());
                shown
            })
            .collect();
        Ok(Json(json!({ "namespaces": shown })).into_response())
    };
    api_response(answered.await)
}

/// `DELETE /api/memory`: everything of one author, all transcripts before a time, or everything.
pub(crate) async fn forget(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        let admin = MemoryAdminRequest::open(&front, &sent, &["author", "before", "confirm"])?;
        let ForgetRequest { target, about, detail } = parse_forget(&admin)?;
        let gone = run_to_completion(async move {
            let store = admin.memory.store();
            let named = admin.query.text("namespace")?.is_some();
            if !named && admin.agent.is_some() {
                return Err(bad_query("`agent` requires `namespace`".to_owned()));
            }
            let scopes = if named {
                vec![admin.scope()]
            } else {
                let all = store.namespaces().await?;
                all.into_iter().map(|(namespace, _)| MemoryScope::of_operator(namespace)).collect()
            };
            let mut gone = MemoryCounts::default();
            let mut failed = None;
            for scope in &scopes {
                match store.forget(scope, &target).await {
                    Ok(some) => gone = sum(gone, some),
                    Err(trouble) => {
                        failed = Some(trouble);
                        break;
                    }
                }
            }
            let place = if named { "" } else { " (and everywhere else)" };
            // Deleted entries stay deleted even if the rest could not be reached.
            let cut = if failed.is_some() { "; interrupted, more may be deleted" } else { "" };
            let detail = format!("{detail}{place}, {}{cut}", in_words(&gone));
            admin.note("forgotten", &about, &detail).await;
            failed.map_or(Ok(gone), |trouble| Err(trouble.into()))
        });
        Ok(Json(json!({ "forgotten": counts_json(&gone.await?) })).into_response())
    };
    api_response(answered.await)
}

/// What to delete, and its description for the audit row.
struct ForgetRequest {
    target: MemoryForgetTarget,
    about: String,
    detail: String,
}

fn parse_forget(admin: &MemoryAdminRequest) -> Result<ForgetRequest, ApiError> {
    let query = &admin.query;
    match (query.text("author")?, query.moment("before")?, query.text("confirm")?) {
        (Some(author), None, None) => {
            let target = MemoryForgetTarget::Author(author.to_owned());
            let about = author.to_owned();
            Ok(ForgetRequest { target, about, detail: "all of this author".to_owned() })
        }
        (None, Some(before), None) => {
            let text = tollgate_core::date::format_rfc3339(before);
            Ok(ForgetRequest {
                target: MemoryForgetTarget::Before(before),
                about: "transcripts".to_owned(),
                detail: format!("before {text}"),
            })
        }
        (None, None, Some(confirm)) => {
            let named = query.text("namespace")?;
            if named != Some(confirm) || admin.agent.is_some() {
                let detail = "to delete a whole namespace, send `namespace=NAME` and \
                              `confirm=NAME` with the same name, without `agent`";
                return Err(bad_query(detail.to_owned()));
            }
            Ok(ForgetRequest {
                target: MemoryForgetTarget::Everything,
                about: confirm.to_owned(),
                detail: "everything".to_owned(),
            })
        }
        (None, None, None) => Err(bad_query(
            "select what to delete: `author=NAME`, `before=TIME`, or `namespace=NAME&confirm=NAME` \
             for a whole namespace"
                .to_owned(),
        )),
        _ => Err(bad_query("`author`, `before` and `confirm` exclude each other".to_owned())),
    }
}

fn counts_json(counts: &MemoryCounts) -> Value {
    json!({
        "sessions": counts.sessions,
        "entries": counts.entries,
        "facts": counts.facts,
        "entities": counts.entities,
        "relations": counts.relations,
    })
}

fn sum(one: MemoryCounts, two: MemoryCounts) -> MemoryCounts {
    MemoryCounts {
        sessions: one.sessions + two.sessions,
        entries: one.entries + two.entries,
        facts: one.facts + two.facts,
        entities: one.entities + two.entities,
        relations: one.relations + two.relations,
    }
}

fn in_words(counts: &MemoryCounts) -> String {
    let MemoryCounts { sessions, entries, facts, entities, relations } = counts;
    format!(
        "{sessions} sessions, {entries} entries, {facts} facts, {entities} entities, {relations} relations"
    )
}

/// 404 if nothing was deleted.
fn gone_or(missing: ApiError, gone: &MemoryCounts) -> Result<Response, ApiError> {
    if *gone == MemoryCounts::default() {
        Err(missing)
    } else {
        Ok(Json(json!({ "forgotten": counts_json(gone) })).into_response())
    }
}

fn missing(code: &'static str, what: &str, name: &str) -> ApiError {
    let detail = format!("there is no {what} `{}`", truncate_chars(name, MAX_ECHOED_CHARS));
    ApiError::with_detail(StatusCode::NOT_FOUND, code, detail)
}

/// Refuses a body that names another entity than the path: the intent is ambiguous.
fn check_same(path: &str, body: Option<&str>) -> Result<(), ApiError> {
    match body {
        Some(body) if body != path => Err(bad("`id` differs from the path; remove it".to_owned())),
        _ => Ok(()),
    }
}

impl From<MemoryError> for ApiError {
    fn from(trouble: MemoryError) -> Self {
        let (status, code) = match &trouble {
            MemoryError::Invalid(invalid) => return invalid.clone().into(),
            MemoryError::NoEntity(_) => (StatusCode::NOT_FOUND, "unknown_entity"),
            MemoryError::Slow(_) | MemoryError::Away(_) | MemoryError::Failed(_) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                return Self::with_detail(status, "memory_unavailable", trouble.to_string())
                    .later(std::time::Duration::from_secs(1));
            }
        };
        Self::with_detail(status, code, trouble.to_string())
    }
}

impl From<MemoryInputError> for ApiError {
    fn from(invalid: MemoryInputError) -> Self {
        bad(invalid.to_string())
    }
}
