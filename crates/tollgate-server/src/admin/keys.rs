//! `/api/keys`: makes, shows, revokes and rotates keys. A secret is in the answer that made it, and
//! in no other.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::json;
use tollgate_core::text::shortened;
use tollgate_core::turn::{Actor, Principal};
use tollgate_engine::audit::{Act, Decision};
use tollgate_engine::clock::{Clock as _, SystemClock};
use tollgate_engine::gate::{Asked, Gate};
use tollgate_mcp::tasks;

use super::told;
use crate::auth::keyring::{Keyring, KeyringError, LONGEST_GRACE, MadeKey, Shown, Wanted};
use crate::body;
use crate::fields::{Fields, bad, check_query};
use crate::mcp::Front;
use crate::ops::for_admins;
use crate::problem::{FAULT, Problem, SAID_BACK};

pub(crate) async fn keys(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        Ok(Json(json!({ "keys": front.keys.shown() })).into_response())
    };
    told(answered.await)
}

pub(crate) async fn make(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        for_admins(&front, &sent)?;
        check_query(&sent.uri, &[])?;
        let body = body::json(&sent, body, &front.limits).await?;
        let wanted = Wanted::read(&body, SystemClock.wall())?;
        check_agents(&front.gate, &wanted)?;
        if front.keys.is_configured(&wanted.name) {
            return Err(of_the_config(&wanted.name));
        }
        let detail = format!("role {}", wanted.role.as_str());
        let deed = Deed::new(&front, &sent, ("made", &wanted.name, detail))?;
        let made = change(&front, deed, move |keyring| keyring.make(&wanted)).await?;
        Ok(once(StatusCode::CREATED, &made))
    };
    told(answered.await)
}

pub(crate) async fn revoke(
    State(front): State<Arc<Front>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, _) = request.into_parts();
    let answered = async {
        check_change(&front, &sent, &name)?;
        let deed = Deed::new(&front, &sent, ("revoked", &name, "by command".to_owned()))?;
        change(&front, deed, move |keyring| keyring.revoke(&name)).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    told(answered.await)
}

pub(crate) async fn rotate(
    State(front): State<Arc<Front>>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    let (sent, body) = request.into_parts();
    let answered = async {
        check_change(&front, &sent, &name)?;
        let body = body::json(&sent, body, &front.limits).await?;
        let asked = Fields::read(&body, &["grace_s"])?;
        let grace = Duration::from_secs(asked.count("grace_s")?.unwrap_or(0).into());
        if grace > LONGEST_GRACE {
            return Err(bad(format!("`grace_s` is at most {}", LONGEST_GRACE.as_secs())));
        }
        let detail = format!("the secret before lets in for {} s", grace.as_secs());
        let deed = Deed::new(&front, &sent, ("rotated", &name, detail))?;
        let made = change(&front, deed, move |keyring| keyring.rotate(&name, grace)).await?;
        Ok(once(StatusCode::OK, &made))
    };
    told(answered.await)
}

fn check_change(front: &Front, sent: &Parts, name: &str) -> Result<(), Problem> {
    for_admins(front, sent)?;
    check_query(&sent.uri, &[])?;
    if front.keys.is_configured(name) { Err(of_the_config(name)) } else { Ok(()) }
}

/// A key for an agent that is not there would wait for whoever gets that name next.
fn check_agents(gate: &Gate, wanted: &Wanted) -> Result<(), Problem> {
    for agent in wanted.agents.iter().flatten() {
        let agent = Some(agent.as_str());
        gate.turn(Asked { agent, ..Asked::by(Actor::endless(Principal::local())) })
            .map_err(|unknown| bad(unknown.to_string()))?;
    }
    Ok(())
}

/// Who does what to which key.
struct Deed {
    by: Principal,
    outcome: &'static str,
    name: String,
    detail: String,
}

impl Deed {
    fn new(
        front: &Front,
        sent: &Parts,
        (outcome, name, detail): (&'static str, &str, String),
    ) -> Result<Self, Problem> {
        let by = front.keys.visitor(sent)?.principal;
        Ok(Self { by, outcome, name: name.to_owned(), detail })
    }

    /// What could not be kept holds all the same: it counts already.
    async fn note(self, gate: &Gate) {
        let Self { by, outcome, name, detail } = self;
        let decision = Decision::new(Act::Key, &by, outcome).about(&name).because(&detail);
        if let Err(error) = gate.ledger().note(decision).await {
            tracing::warn!(%error, key = name, outcome, "what was done to a key is not in the audit trail yet");
        }
    }
}

/// Changes the keys where they are kept, lets in by them from now on, and notes that. A client that
/// goes away in the middle of it changes nothing of that.
async fn change<T: Send + 'static>(
    front: &Arc<Front>,
    deed: Deed,
    work: impl FnOnce(&Keyring) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, Problem> {
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
    tasks::whole("change of a key", whole).await.unwrap_or(Err(FAULT))
}

const NOT_HERE: Problem =
    Problem::new(StatusCode::CONFLICT, "no_keyring", "this gateway keeps no keys of its own");

fn of_the_config(name: &str) -> Problem {
    let name = shortened(name, SAID_BACK);
    let detail = format!("the key `{name}` stands in the config; change it there");
    Problem::told(StatusCode::CONFLICT, "key_of_config", detail)
}

impl From<KeyringError> for Problem {
    fn from(error: KeyringError) -> Self {
        let (status, code) = match &error {
            KeyringError::Taken(_) => (StatusCode::CONFLICT, "key_exists"),
            KeyringError::Unknown(_) => (StatusCode::NOT_FOUND, "unknown_key"),
            KeyringError::InForce => (StatusCode::CONFLICT, "keys_in_force"),
            KeyringError::NoRandomness | KeyringError::Store(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "keys_unavailable")
            }
        };
        Self::told(status, code, error.to_string())
    }
}

#[derive(Serialize)]
struct MadeJson<'a> {
    key: &'a str,
    #[serde(flatten)]
    shown: &'a Shown,
}

/// The only answer that has the secret in it: nobody on the way may keep it.
fn once(status: StatusCode, made: &MadeKey) -> Response {
    let body = Json(MadeJson { key: made.secret.reveal(), shown: &made.shown });
    let no_store = HeaderValue::from_static("no-store");
    (status, [(header::CACHE_CONTROL, no_store)], body).into_response()
}
