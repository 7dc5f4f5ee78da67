//! `/api/login`: browser login. Exchanges a key for a cookie, reports the login status, and logs
//! out.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tollgate_core::date;

use super::api_response;
use crate::access::{Credential, too_many};
use crate::api_error::{ApiError, FAULT};
use crate::app_state::AppState;
use crate::auth::{AuthenticatedCaller, ConnectionPeer};
use crate::body;
use crate::fields::{BodyFields, check_query};
use crate::limits::Limits;

/// Limit on a body with a key.
const MAX_LOGIN_BODY_BYTES: usize = 4 << 10;
const LOGIN_BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// `POST /api/login` `{key}`
pub(crate) async fn enter(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let entered = async {
        check_query(&sent.uri, &[])?;
        let address = sent.extensions.get::<ConnectionPeer>().and_then(|peer| peer.address);
        let limits = narrow(&front.limits);
        let body = front.unproven.read(address, body::json(&sent, body, &limits)).await?;
        let key = BodyFields::read(&body, &["key"])?.needed_text("key")?;
        let entered = front.keys.log_in(key.trim(), &sent);
        let (visitor, opened) = entered.map_err(|problem| slowed_down(&front, problem, address))?;
        let opened = opened.ok_or(FAULT)?;
        let answer = login_json(&visitor, Some((opened.proof, date::format_rfc3339(opened.until))));
        let mut response = Json(answer).into_response();
        set_cookie(&mut response, &opened.cookie)?;
        Ok(response)
    };
    api_response(entered.await)
}

/// Throttles wrong keys. A valid key never needs a token.
fn slowed_down(front: &AppState, problem: ApiError, address: Option<IpAddr>) -> ApiError {
    let charged = front.refused.throttle.charge(Credential::Login, address, front.clock.now());
    charged.err().map_or(problem, too_many)
}

/// A key is short, and the sender is not authenticated yet.
fn narrow(limits: &Limits) -> Limits {
    let body_timeout = limits.body_timeout.min(LOGIN_BODY_TIMEOUT);
    Limits {
        body_bytes: limits.body_bytes.min(MAX_LOGIN_BODY_BYTES),
        body_timeout,
        ..limits.clone()
    }
}

/// `GET /api/login`
pub(crate) async fn who(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let known = check_query(&sent.uri, &[]).and_then(|()| front.keys.visitor(&sent));
    let known = known.and_then(|visitor| visitor.must_be_proven().map(|()| visitor));
    api_response(known.map(|visitor| {
        let login =
            front.keys.login(&sent).map(|(proof, until)| (proof, date::format_rfc3339(until)));
        Json(login_json(&visitor, login)).into_response()
    }))
}

/// `DELETE /api/login`
pub(crate) async fn leave(State(front): State<Arc<AppState>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    api_response(log_out(&front, &sent))
}

fn log_out(front: &AppState, sent: &Parts) -> Result<Response, ApiError> {
    check_query(&sent.uri, &[])?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    set_cookie(&mut response, &front.keys.log_out(sent))?;
    Ok(response)
}

fn set_cookie(response: &mut Response, cookie: &str) -> Result<(), ApiError> {
    let value = HeaderValue::from_str(cookie).map_err(|_| FAULT)?;
    response.headers_mut().insert(header::SET_COOKIE, value);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(())
}

fn login_json(visitor: &AuthenticatedCaller, login: Option<(String, String)>) -> Value {
    let (proof, until) = login.unzip();
    let rights: Vec<&str> = visitor.rights.iter().map(|right| right.as_str()).collect();
    let agents = visitor.agents().map(|agents| agents.iter().map(ToString::to_string));
    json!({
        "principal": visitor.principal.as_str(),
        "rights": rights,
        "agents": agents.map(Iterator::collect::<Vec<String>>),
        "csrf": proof,
        "expires": until,
    })
}
