//! `/api/login`: a browser exchanges a key for a cookie, asks who it is, and leaves.

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

use super::told;
use crate::access::{Credential, too_many};
use crate::auth::{Peer, Visitor};
use crate::body;
use crate::fields::{Fields, check_query};
use crate::limits::Limits;
use crate::mcp::Front;
use crate::problem::{FAULT, Problem};

/// Of a body with a key.
const LONGEST: usize = 4 << 10;
const PATIENCE: Duration = Duration::from_secs(5);

/// `POST /api/login` `{key}`
pub(crate) async fn enter(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, body) = request.into_parts();
    let entered = async {
        check_query(&sent.uri, &[])?;
        let address = sent.extensions.get::<Peer>().and_then(|peer| peer.address);
        let _place = front.keys.door(address)?;
        let body = body::json(&sent, body, &narrow(&front.limits)).await?;
        let key = Fields::read(&body, &["key"])?.needed_text("key")?;
        let entered = front.keys.log_in(key.trim(), &sent);
        let (visitor, opened) = entered.map_err(|problem| slowed_down(&front, problem, address))?;
        let opened = opened.ok_or(FAULT)?;
        let said = described(&visitor, Some((opened.proof, date::written(opened.until))));
        let mut response = Json(said).into_response();
        set_cookie(&mut response, &opened.cookie)?;
        Ok(response)
    };
    told(entered.await)
}

/// Wrong keys cannot be tried for long; a right one is never asked for a token.
fn slowed_down(front: &Front, problem: Problem, address: Option<IpAddr>) -> Problem {
    let charged = front.refused.throttle.charge(Credential::Login, address, front.clock.now());
    charged.err().map_or(problem, too_many)
}

/// A key is short, and whoever sends it may be anybody.
fn narrow(limits: &Limits) -> Limits {
    let body_timeout = limits.body_timeout.min(PATIENCE);
    Limits { body_bytes: limits.body_bytes.min(LONGEST), body_timeout, ..limits.clone() }
}

/// `GET /api/login`
pub(crate) async fn who(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    let known = check_query(&sent.uri, &[]).and_then(|()| front.keys.visitor(&sent));
    let known = known.and_then(|visitor| visitor.must_be_proven().map(|()| visitor));
    told(known.map(|visitor| {
        let login = front.keys.login(&sent).map(|(proof, until)| (proof, date::written(until)));
        Json(described(&visitor, login)).into_response()
    }))
}

/// `DELETE /api/login`
pub(crate) async fn leave(State(front): State<Arc<Front>>, request: Request) -> Response {
    let (sent, _) = request.into_parts();
    told(left(&front, &sent))
}

fn left(front: &Front, sent: &Parts) -> Result<Response, Problem> {
    check_query(&sent.uri, &[])?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    set_cookie(&mut response, &front.keys.log_out(sent))?;
    Ok(response)
}

fn set_cookie(response: &mut Response, cookie: &str) -> Result<(), Problem> {
    let value = HeaderValue::from_str(cookie).map_err(|_| FAULT)?;
    response.headers_mut().insert(header::SET_COOKIE, value);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(())
}

fn described(visitor: &Visitor, login: Option<(String, String)>) -> Value {
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
