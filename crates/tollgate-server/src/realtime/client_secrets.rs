//! `POST /v1/realtime/client_secrets`, and its older form `POST /v1/realtime/sessions`: a client
//! secret with which a browser opens live sessions, in the form of OpenAI's API.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use serde_json::{Map, Value, json};
use tollgate_engine::audit::{AuditAction, Decision};
use tollgate_llm::realtime::{ProviderSessionTarget, RealtimeProtocol};

use super::session::PendingSession;
use super::{legacy_session, session_config, target};
use crate::api_error::{ApiError, ApiErrorFormat};
use crate::app_state::AppState;
use crate::auth::client_secret::ClientSecretGrant;
use crate::fields::{BodyFields, bad, check_query, parameter};

/// Seconds until a secret expires.
const DEFAULT_LIFETIME_S: u64 = 600;
const MIN_LIFETIME_S: u64 = 10;
const MAX_LIFETIME_S: u64 = 7_200;
const MAX_USES: u32 = 1_000_000;

/// Form of request and answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecretRequestForm {
    Current,
    /// The body is the session; the secret is nested in the answer.
    Legacy,
}

/// A request for a client secret.
struct SecretRequest {
    session: Map<String, Value>,
    lifetime: Duration,
    max_uses: Option<NonZeroU32>,
}

pub(crate) async fn issue(State(front): State<Arc<AppState>>, request: Request) -> Response {
    respond(&front, request, SecretRequestForm::Current).await
}

/// The older form.
pub(crate) async fn issue_session(
    State(front): State<Arc<AppState>>,
    request: Request,
) -> Response {
    respond(&front, request, SecretRequestForm::Legacy).await
}

async fn respond(front: &Arc<AppState>, request: Request, form: SecretRequestForm) -> Response {
    let (sent, body) = request.into_parts();
    let issued = issue_for(front, &sent, body, form).await;
    issued.unwrap_or_else(|problem| problem.response(ApiErrorFormat::OpenAi))
}

async fn issue_for(
    front: &Arc<AppState>,
    sent: &Parts,
    body: Body,
    form: SecretRequestForm,
) -> Result<Response, ApiError> {
    check_query(&sent.uri, &["agent", "model", "tier"])?;
    let body = session_config::read_body(sent, body, &front.limits).await?;
    let SecretRequest { mut session, lifetime, max_uses } = match form {
        SecretRequestForm::Current => read_current(&body)?,
        SecretRequestForm::Legacy => read_legacy(&body)?,
    };
    let named = session_config::model(&session).map(str::to_owned);
    let named = named.or_else(|| parameter(&sent.uri, "model"));
    let who = target::who(front, sent, named.as_deref())?;
    let reach = who.reach;
    let narrow = who.narrow.clone();
    let tier = who.tier;
    let principal = who.principal.clone();
    let protocol = RealtimeProtocol::OpenAi;
    let pending = PendingSession::new(front, sent, who, protocol, ProviderSessionTarget::New)?;
    let request = pending.session_request(named.as_deref())?;
    let model = request.model.settings.name.clone();
    session.insert("type".to_owned(), json!("realtime"));
    session.insert("model".to_owned(), json!(model));
    let agent = request.agent.id.clone();
    let grant = ClientSecretGrant {
        agent: agent.clone(),
        model,
        session_bytes: body.len(),
        session: session.clone(),
        reach,
        narrow,
        tier,
        conversation: request.conversation,
        variables: request.variables,
        max_uses,
    };
    let caller = front.keys.visitor(sent)?;
    let (secret, until) = front.keys.issue_client_secret(&caller, grant, lifetime).await?;
    let row = Decision::new(AuditAction::Key, &principal, "issued").agent(&agent);
    front.gate.ledger().note_later(row.about("client secret"));
    let until = unix_seconds(until);
    session.insert("object".to_owned(), json!("realtime.session"));
    session.insert("id".to_owned(), json!(format!("sess_{:032x}", rand::random::<u128>())));
    let answer = match form {
        SecretRequestForm::Current => {
            json!({"value": secret.reveal(), "expires_at": until, "session": session})
        }
        SecretRequestForm::Legacy => {
            let nested = json!({"value": secret.reveal(), "expires_at": until});
            session.insert("client_secret".to_owned(), nested);
            session.into()
        }
    };
    // No cache may store the secret.
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    Ok((headers, answer.to_string()).into_response())
}

fn read_current(body: &[u8]) -> Result<SecretRequest, ApiError> {
    let fields = BodyFields::read(body, &["expires_after", "session", "max_uses"])?;
    let session = match fields.raw("session") {
        Some(raw) => session_config::parse(raw.get().as_bytes())?,
        None => Map::new(),
    };
    let lifetime = lifetime(fields.raw("expires_after").map(|raw| raw.get().as_bytes()))?;
    let max_uses = match fields.count("max_uses")? {
        None => None,
        Some(uses @ 1..=MAX_USES) => NonZeroU32::new(uses),
        Some(_) => return Err(bad(format!("`max_uses` is 1 to {MAX_USES}"))),
    };
    Ok(SecretRequest { session, lifetime, max_uses })
}

fn read_legacy(body: &[u8]) -> Result<SecretRequest, ApiError> {
    let session = session_config::parse(body)?;
    let asked = session.get("client_secret").and_then(|asked| asked.get("expires_after"));
    let lifetime = lifetime(asked.map(Value::to_string).as_deref().map(str::as_bytes))?;
    Ok(SecretRequest { session: legacy_session::translate(session), lifetime, max_uses: None })
}

/// `expires_after`: `{"anchor": "created_at", "seconds": 600}`.
fn lifetime(asked: Option<&[u8]>) -> Result<Duration, ApiError> {
    let Some(asked) = asked else { return Ok(Duration::from_secs(DEFAULT_LIFETIME_S)) };
    let fields = BodyFields::read(asked, &["anchor", "seconds"])
        .map_err(|problem| bad(format!("`expires_after`: {}", problem.detail)))?;
    if fields.text("anchor")?.is_some_and(|anchor| anchor != "created_at") {
        return Err(bad("`expires_after.anchor` must be `created_at`".to_owned()));
    }
    let seconds = fields.count("seconds")?.map_or(DEFAULT_LIFETIME_S, u64::from);
    if !(MIN_LIFETIME_S..=MAX_LIFETIME_S).contains(&seconds) {
        return Err(bad(format!(
            "`expires_after.seconds` is {MIN_LIFETIME_S} to {MAX_LIFETIME_S}"
        )));
    }
    Ok(Duration::from_secs(seconds))
}

fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
