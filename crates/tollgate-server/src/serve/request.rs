//! Request pipeline: client address, authentication, in-flight permit, handler, response.

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use futures_util::FutureExt as _;
use http::Request;
use http::request::Parts;
use http_body::Body as _;
use hyper::body::Incoming;
use tollgate_core::failpoint;
use tollgate_core::turn::Principal;
use tollgate_mcp::answer_budget::{AnswerAccount, SMALL_ANSWER};
use tower_service::Service as _;

use super::HttpApp;
use super::offload::offloaded_if_large;
use crate::access::{self, client_address};
use crate::api_error::{ApiError, ApiErrorFormat, FAULT, NO_ROOM_FOR_ANSWER, STOPPING};
use crate::auth::{self, AuthenticatedCaller, ConnectionPeer};
use crate::body::{
    BodyAdmission, BodySender, ForwardedResponse, holding, mask_response, on_account,
};
use crate::cors::PageGrant;
use crate::events;
use crate::in_flight::{InFlightPermit, PrincipalShare, listens};
use crate::panic_guard;
use crate::pressure::{ConnectionMemory, PressureLevel};
use crate::realtime;
use crate::revocation::RevocableRequest;
use crate::router;

pub(super) async fn answer(app: Arc<HttpApp>, request: Request<Incoming>) -> Response {
    let response = respond(&app, request).await;
    if app.front.stopping.is_cancelled() { closing(response) } else { response }
}

async fn respond(app: &HttpApp, mut request: Request<Incoming>) -> Response {
    let address = locate(app, &mut request);
    let (parts, body) = request.into_parts();
    let page = PageGrant::of(&app.guard.load(), &parts);
    let login_step = access::LoginStep::of(&parts);
    let (response, visitor) = handle(app, parts, body, address).await;
    if let Some(refusal) = access::refusal(&response, login_step) {
        let front = &app.front;
        let principal = visitor.as_ref().map(|visitor| &visitor.principal);
        front.refused.note(&refusal, address, principal, front.clock.wall());
    }
    match page {
        Some(page) => page.allow(response),
        None => response,
    }
}

/// The client address. Behind a trusted proxy, handlers see the client's address as the peer.
fn locate(app: &HttpApp, request: &mut Request<Incoming>) -> Option<IpAddr> {
    let peer = request.extensions().get::<ConnectionPeer>().copied()?;
    let proxies = app.proxies.load();
    let address = peer.address.map(|from| client_address(from, request.headers(), &proxies));
    if address != peer.address {
        request.extensions_mut().insert(ConnectionPeer { address, ..peer });
    }
    address
}

/// The response and the authenticated caller.
async fn handle(
    app: &HttpApp,
    parts: Parts,
    body: Incoming,
    address: Option<IpAddr>,
) -> (Response, Option<AuthenticatedCaller>) {
    let style = ApiErrorFormat::of(parts.uri.path());
    let (parts, visitor) = match admit(app, parts, address).await {
        Ok(admitted) => admitted,
        Err(response) => return (response, None),
    };
    (serve_admitted(app, parts, body, visitor.as_ref(), style).await, visitor)
}

/// Authenticates a request. `None`: anonymous, on a public route.
async fn admit(
    app: &HttpApp,
    mut parts: Parts,
    address: Option<IpAddr>,
) -> Result<(Parts, Option<AuthenticatedCaller>), Response> {
    let style = ApiErrorFormat::of(parts.uri.path());
    if let Err(problem) = app.guard.load().check(&parts) {
        return Err(closing(problem.response(style)));
    }
    if let Some(answer) = PageGrant::of(&app.guard.load(), &parts).and_then(|page| page.preflight())
    {
        return Err(answer);
    }
    if app.front.stop.is_cancelled() && !is_probe(parts.uri.path()) {
        return Err(STOPPING.response(style));
    }
    realtime::bring_key(&mut parts).map_err(|problem| problem.response(style))?;
    auth::refuse_keys_in_query(&parts.uri).map_err(|problem| problem.response(style))?;
    let front = &app.front;
    match front.keys.admit(&parts).await {
        Ok(visitor) => Ok((parts, Some(visitor))),
        Err(_) if router::is_open(parts.uri.path()) => Ok((parts, None)),
        Err(problem) => {
            let (problem, refusal) = front.refused.judge(problem, address, front.clock.now());
            let mut response = front.keys.refuse(&problem, parts.uri.path());
            if let Some(refusal) = refusal {
                response.extensions_mut().insert(refusal);
            }
            Err(response)
        }
    }
}

async fn serve_admitted(
    app: &HttpApp,
    mut parts: Parts,
    body: Incoming,
    visitor: Option<&AuthenticatedCaller>,
    style: ApiErrorFormat,
) -> Response {
    let keys = &app.front.keys;
    let uri = parts.uri.clone();
    let place = match take(app, uri.path(), visitor) {
        Ok(place) => place,
        Err(problem) => return turned_away(app, problem.response(style)),
    };
    if let Some(visitor) = visitor {
        parts.extensions.insert(visitor.clone());
    }
    let method = parts.method.clone();
    let connection = parts.extensions.get::<Arc<ConnectionMemory>>().cloned();
    let permit = || app.front.bodies.permit(payer_of_body(visitor)).on_account_of(connection);
    let sender = visitor.map_or(BodySender::WithoutKey, |_| BodySender::Authenticated);
    let admission = BodyAdmission::of(&body, sender, permit);
    if let Some(admission) = &admission {
        parts.extensions.insert(admission.clone());
    }
    let request = Request::from_parts(parts, Body::new(body));
    let mut router = app.router.clone();
    let account = AnswerAccount::new(key_of(visitor));
    let handle = || {
        let handled = async move {
            failpoint::hit(request.uri().path());
            router.call(request).await
        };
        AssertUnwindSafe(account.scope(handled)).catch_unwind()
    };
    let front = &app.front;
    let path = uri.path();
    let underway = visitor.map(|visitor| RevocableRequest { front, visitor, style, path });
    let response = {
        // Pinned, and made where it is awaited: a future that is passed on by value is in the
        // future of each request once more.
        let answered = std::pin::pin!(async {
            let handled = match &admission {
                Some(admission) if admission.may_be_large() => {
                    offloaded_if_large(handle(), admission).await
                }
                _ => handle().await,
            };
            panic_to_response(handled, style)
        });
        let answered = async {
            match &underway {
                Some(underway) => underway.answer_unless_revoked(answered).await,
                None => answered.await,
            }
        };
        tokio::select! {
            biased;
            response = answered => response,
            // What runs is dropped, and thereby cancelled.
            () = front.cut.cancelled() => closing(STOPPING.response(style)),
        }
    };
    let response = match visitor {
        Some(_) => charge_answer(response, account, style).await,
        None => mask_response(response).await,
    };
    let response = hold_request_body(admission, response);
    let response = match response.body().size_hint().exact() {
        Some(_) => response,
        None => panic_guard::catch_panics(response, style, uri.clone()),
    };
    let mut response = match &underway {
        Some(underway) if events::is_stream(&response) => {
            underway.end_stream_on_revocation(response)
        }
        Some(underway) => keys.add_auth_challenge(response, underway.visitor, path),
        None => response,
    };
    if path.starts_with("/api/") {
        forbid_sniffing(&mut response);
    }
    let Some(place) = place else { return response };
    if !listens(&method, &response) {
        return place.keep_for(response);
    }
    hold_stream_permit(app, visitor, style, response)
}

/// Streams still use the body of the request.
fn hold_request_body(admission: Option<BodyAdmission>, response: Response) -> Response {
    match admission {
        Some(admission) if events::is_stream(&response) => {
            response.map(|body| holding(body, admission.permit))
        }
        _ => response,
    }
}

/// A listening stream takes a permit of another class than requests, and holds it as long.
fn hold_stream_permit(
    app: &HttpApp,
    visitor: Option<&AuthenticatedCaller>,
    style: ApiErrorFormat,
    response: Response,
) -> Response {
    let share = visitor.and_then(|it| share(it, app.front.limits.streams_per_key));
    match app.front.streams.enter(share) {
        Ok(slot) => response.map(|body| holding(body, slot)),
        Err(problem) => problem.response(style),
    }
}

/// Browsers must never render the answer as a page.
fn forbid_sniffing(response: &mut Response) {
    let nosniff = http::HeaderValue::from_static("nosniff");
    response.headers_mut().insert(http::header::X_CONTENT_TYPE_OPTIONS, nosniff);
}

/// Masks secrets, and holds the memory of the answer until it is sent: of a complete one its size, of
/// a stream what it reads. The answer is masked before it is cut into pieces, so that the search in
/// a large one leaves the worker.
async fn charge_answer(
    response: Response,
    account: AnswerAccount,
    style: ApiErrorFormat,
) -> Response {
    let size = response.body().size_hint().exact();
    let size = size.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    let is_small = size.is_some_and(|size| size <= SMALL_ANSWER);
    if is_small || response.extensions().get::<ForwardedResponse>().is_some() {
        return mask_response(response).await;
    }
    if let Some(size) = size {
        account.shrink_to(size);
        if account.grow_to(size).await.is_err() {
            return NO_ROOM_FOR_ANSWER.response(style);
        }
    }
    mask_response(response).await.map(|body| on_account(body, account))
}

/// Paths that are answered until the end of the shutdown.
fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz")
}

/// An in-flight permit for the request. `None` for requests that are always admitted.
fn take(
    app: &HttpApp,
    path: &str,
    visitor: Option<&AuthenticatedCaller>,
) -> Result<Option<InFlightPermit>, ApiError> {
    if is_probe(path) {
        return Ok(None);
    }
    app.front.pressure.take_request()?;
    let share = visitor.and_then(|visitor| {
        let own = visitor.grant.as_ref().and_then(|grant| grant.concurrent);
        share(visitor, own.unwrap_or(app.front.limits.per_key))
    });
    app.front.in_flight.enter(share).map(Some)
}

/// Callers without a key have no share of their own: they all are this machine.
fn share(visitor: &AuthenticatedCaller, most: u32) -> Option<PrincipalShare> {
    let principal = &visitor.principal;
    (!principal.is_local()).then(|| PrincipalShare { principal: principal.clone(), most })
}

fn key_of(visitor: Option<&AuthenticatedCaller>) -> Option<Principal> {
    share(visitor?, 0).map(|share| share.principal)
}

/// Who holds the memory of a body. All senders without a key together are one.
fn payer_of_body(visitor: Option<&AuthenticatedCaller>) -> Option<Principal> {
    match visitor {
        Some(visitor) => key_of(Some(visitor)),
        None => Some(Principal::from_name("without a key")),
    }
}

/// At critical memory pressure, the connection is closed after the refusal.
fn turned_away(app: &HttpApp, response: Response) -> Response {
    match app.front.pressure.level() {
        PressureLevel::Critical => closing(response),
        PressureLevel::Calm | PressureLevel::Tight | PressureLevel::Severe => response,
    }
}

fn panic_to_response(
    handled: std::thread::Result<Result<Response, Infallible>>,
    style: ApiErrorFormat,
) -> Response {
    match handled {
        Ok(Ok(response)) => response,
        Err(_) => {
            tracing::error!("a request panicked");
            FAULT.response(style)
        }
    }
}

/// A client that sends what no real client sends gets no second request on the connection.
fn closing(mut response: Response) -> Response {
    let close = http::HeaderValue::from_static("close");
    response.headers_mut().insert(http::header::CONNECTION, close);
    response
}
