//! `/api/keys`: creates, lists, revokes and rotates API keys. A secret appears only in the response
//! that created it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;
use tollgate_core::text::truncate_chars;
use tollgate_core::turn::{Actor, Principal};
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_engine::gate::{Gate, TurnRequest};
use tollgate_mcp::tasks;

use super::api_response;
use crate::api_error::{ApiError, FAULT, MAX_ECHOED_CHARS};
use crate::app_state::AppState;
use crate::auth::keyring::{IssuedKey, KeyRequest, KeySummary, Keyring, KeyringError, MAX_GRACE};
use crate::body;
use crate::fields::{BodyFields, bad, check_query};
use crate::ops::for_admins;

pub(crate) async fn keys(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        Ok(Json(KeysJson { keys: front.keys.key_summaries() }).into_response())
    };
    api_response(answered.await)
}

pub(crate) async fn make(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let key_request = KeyRequest::read(&body, SystemClock.wall())?;
        check_agents(&front.gate, &key_request)?;
        if front.keys.is_configured(&key_request.name) {
            return Err(of_the_config(&key_request.name));
        }
        let detail = format!("role {}", key_request.role.as_str());
        let deed = KeyAuditEntry::new(&front, &sent, "made", &key_request.name, detail)?;
        let made = change(&front, deed, move |keyring| keyring.make(&key_request)).await?;
        Ok(once(StatusCode::CREATED, &made))
    };
    api_response(answered.await)
}

pub(crate) async fn revoke(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        check_change(&front, &sent, &name)?;
        let deed = KeyAuditEntry::new(&front, &sent, "revoked", &name, "by command".to_owned())?;
        change(&front, deed, move |keyring| keyring.revoke(&name)).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    api_response(answered.await)
}

pub(crate) async fn rotate(
    State(front): State<Arc<AppState>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        check_change(&front, &sent, &name)?;
        let body = body::json(&sent, body, &front.limits).await?;
        let fields = BodyFields::read(&body, &["grace_s"])?;
        let grace = Duration::from_secs(fields.count("grace_s")?.unwrap_or(0).into());
        if grace > MAX_GRACE {
            return Err(bad(format!("`grace_s` is at most {}", MAX_GRACE.as_secs())));
        }
        let detail = format!("the previous secret remains valid for {} s", grace.as_secs());
        let deed = KeyAuditEntry::new(&front, &sent, "rotated", &name, detail)?;
        let made = change(&front, deed, move |keyring| keyring.rotate(&name, grace)).await?;
        Ok(once(StatusCode::OK, &made))
    };
    api_response(answered.await)
}

fn check_change(front: &AppState, sent: &Parts, name: &str) -> Result<(), ApiError> {
    for_admins(front, sent)?;
    check_query(&sent.uri, &[])?;
    if front.keys.is_configured(name) { Err(of_the_config(name)) } else { Ok(()) }
}

/// A key for a missing agent would later apply to any new agent of that name.
fn check_agents(gate: &Gate, request: &KeyRequest) -> Result<(), ApiError> {
    for agent in request.agents.iter().flatten() {
        let agent = Some(agent.as_str());
        gate.turn(TurnRequest { agent, ..TurnRequest::by(Actor::endless(Principal::local())) })
            .map_err(|unknown| bad(unknown.to_string()))?;
    }
    Ok(())
}

/// Audit entry for a change of a key.
struct KeyAuditEntry {
    by: Principal,
    outcome: &'static str,
    name: String,
    detail: String,
}

impl KeyAuditEntry {
    fn new(
        front: &AppState,
        sent: &Parts,
        outcome: &'static str,
        name: &str,
        detail: String,
    ) -> Result<Self, ApiError> {
        let by = front.keys.visitor(sent)?.principal;
        Ok(Self { by, outcome, name: name.to_owned(), detail })
    }

    /// The change stays in force even if the audit row cannot be written.
    async fn note(self, gate: &Gate) {
        let Self { by, outcome, name, detail } = self;
        let decision = Decision::new(AuditAction::Key, &by, outcome).about(&name).because(&detail);
        if let Err(error) = gate.ledger().note(decision).await {
            tracing::warn!(%error, key = name, outcome, "cannot write the change of a key to the \
                                                         audit trail yet");
        }
    }
}

/// Changes the stored keys, puts the change into force and writes the audit row. A client that
/// disconnects meanwhile does not interrupt it.
async fn change<T: Send + 'static>(
    front: &Arc<AppState>,
    deed: KeyAuditEntry,
    work: impl FnOnce(&Keyring) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, ApiError> {
    let front = Arc::clone(front);
    let whole = async move {
        let inner = Arc::clone(&front);
        let changed = tokio::task::spawn_blocking(move || {
            let keyring = inner.keys.keyring.as_ref().ok_or(NOT_HERE)?;
            let done = work(keyring)?;
            Ok((done, inner.keys.refresh()))
        });
        let (done, refreshed) = changed.await.unwrap_or(Err(FAULT))?;
        deed.note(&front.gate).await;
        refreshed?;
        Ok(done)
    };
    tasks::run_to_completion("change of a key", whole).await.unwrap_or(Err(FAULT))
}

const NOT_HERE: ApiError =
    ApiError::new(StatusCode::CONFLICT, "no_keyring", "this gateway does not manage keys");

fn of_the_config(name: &str) -> ApiError {
    let name = truncate_chars(name, MAX_ECHOED_CHARS);
    let detail = format!("the key `{name}` is in the config; change it there");
    ApiError::with_detail(StatusCode::CONFLICT, "key_of_config", detail)
}

impl From<KeyringError> for ApiError {
    fn from(error: KeyringError) -> Self {
        let (status, code) = match &error {
            KeyringError::Taken(_) => (StatusCode::CONFLICT, "key_exists"),
            KeyringError::Unknown(_) => (StatusCode::NOT_FOUND, "unknown_key"),
            KeyringError::InForce => (StatusCode::CONFLICT, "keys_in_force"),
            KeyringError::NoRandomness | KeyringError::Store(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "keys_unavailable")
            }
        };
        Self::with_detail(status, code, error.to_string())
    }
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct KeysJson {
    keys: Vec<KeySummary>,
}

#[derive(JsonSchema, Serialize)]
#[schemars(rename = "MadeKey")]
pub(crate) struct IssuedKeyJson<'a> {
    /// the secret, shown only once
    key: &'a str,
    #[serde(flatten)]
    shown: &'a KeySummary,
}

/// The only response that contains the secret: no cache may store it.
fn once(status: StatusCode, made: &IssuedKey) -> Response {
    let body = Json(IssuedKeyJson { key: made.secret.reveal(), shown: &made.shown });
    let no_store = HeaderValue::from_static("no-store");
    (status, [(header::CACHE_CONTROL, no_store)], body).into_response()
}
