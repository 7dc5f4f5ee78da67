//! Listens, and serves connections until it is told to stop. One task per connection; a panic
//! in a request costs that request.

use std::convert::Infallible;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use futures_util::FutureExt;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tollgate_core::turn::Principal;
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_engine::gate::Gate;
use tollgate_mcp::tasks;
use tower_service::Service;

use crate::auth::keyring::{Keyring, KeyringError};
use crate::auth::oidc::Auth;
use crate::auth::{self, Fingerprint, Key, Keys, Line, Lock, Peer, Visitor, tending};
use crate::crowd::{Place, Share};
use crate::guard::Guard;
use crate::limits::Limits;
use crate::live::{self, Handover};
use crate::mcp::Front;
use crate::operator::Operator;
use crate::pressure::{LOOK, Level};
use crate::problem::{FAULT, Problem, Style};
use crate::router;
use crate::tls::Identity;

mod in_process;
mod lanes;
mod secure;
mod stall;

use lanes::Lanes;

/// How the HTTP front is set up.
#[derive(Clone)]
pub struct Options {
    /// Names, beside the loopback ones, under which clients may address this server.
    pub hosts: Vec<String>,
    /// Without any, whoever is on this machine may come in, if the address is loopback.
    pub keys: Vec<Key>,
    /// Where keys are made by command.
    pub keyring: Option<Arc<Keyring>>,
    /// Of the token that opens everything.
    pub admin: Option<Fingerprint>,
    /// Whose tokens let in, too.
    pub auth: Option<Auth>,
    pub limits: Limits,
    pub models: tollgate_llm::settings::Settings,
}

/// The HTTP front of one gate.
#[derive(Clone)]
pub struct Server {
    app: Arc<App>,
}

struct App {
    /// Swapped whole when the config changes.
    guard: ArcSwap<Guard>,
    router: Router,
    front: Arc<Front>,
    /// With one, it is HTTPS that is served. Exchanged while connections come in.
    tls: ArcSwapOption<Identity>,
}

/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_secs(60);
/// Connections that are taken when memory is at its end.
const LAST_CONNECTIONS: usize = 16;
/// How long to wait when no more connections can be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

impl Server {
    /// Must be called within a runtime. Fails, in words, if a provider of models cannot be used.
    pub fn new(gate: Arc<Gate>, options: &Options) -> Result<Self, String> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut front = Front::new(gate, Arc::clone(&clock), options.limits.clone());
        let lock = Lock {
            keyring: options.keyring.clone(),
            admin: options.admin,
            issuer_pause: options.limits.issuer_pause,
        };
        front.keys = Keys::new(clock, lock);
        front.chat.reconfigure(&options.models)?;
        let front = Arc::new(front);
        let router = router::router(Arc::clone(&front));
        let guard = ArcSwap::from_pointee(Guard::new(&options.hosts));
        let tls = ArcSwapOption::empty();
        let server = Self { app: Arc::new(App { guard, router, front, tls }) };
        server.set_access(options.keys.clone(), options.auth.clone());
        Ok(server)
    }

    /// Replaces the models that can be asked. Fails, in words, and changes nothing if a provider
    /// cannot be used.
    pub fn set_models(&self, models: &tollgate_llm::settings::Settings) -> Result<(), String> {
        self.app.front.chat.reconfigure(models)
    }

    /// Replaces the keys of the config and the issuer whose tokens let in. What was let in by what
    /// is not there any more ends. Must be called within a runtime.
    pub fn set_access(&self, keys: Vec<Key>, auth: Option<Auth>) {
        self.app.front.keys.configure(keys, auth);
    }

    /// Replaces the names under which clients may ask.
    pub fn set_hosts(&self, hosts: &[String]) {
        self.app.guard.store(Arc::new(Guard::new(hosts)));
    }

    /// With one, connections from now on are served over TLS as this; else in plain.
    pub fn set_identity(&self, identity: Option<Identity>) {
        self.app.tls.store(identity.map(Arc::new));
    }

    /// Gives the admin routes their way to the config. Once; a second one is not listened to.
    pub fn operated_by(&self, operator: Arc<dyn Operator>) {
        let _ = self.app.front.operator.set(operator);
    }

    /// Whether nobody was given a key yet, so that this machine may come in without one.
    pub fn is_open(&self) -> bool {
        self.app.front.keys.is_open()
    }

    /// Lets in by the keys that were made by command, from now on. May block.
    pub fn read_keys(&self) -> Result<(), KeyringError> {
        self.app.front.keys.refresh()
    }

    /// Serves until `stop` is cancelled, then lets running requests end, for as long as the
    /// limits allow. Dropping the future ends everything at once.
    pub async fn serve(&self, listener: TcpListener, stop: CancellationToken) {
        if let Ok(address) = listener.local_addr() {
            let _ = self.app.front.address.set(address);
            if address.ip().is_loopback() {
                self.app.front.keys.only_loopback();
            }
        }
        let _tending = tasks::spawn("keys", tending::tend(Arc::clone(&self.app.front)));
        let limits = &self.app.front.limits;
        let room = Arc::new(Semaphore::new(limits.connections));
        let mut lanes = Lanes::start(&self.app, &stop);
        let front = &self.app.front;
        let last = Arc::new(Semaphore::new(LAST_CONNECTIONS));
        let mut sweep = tokio::time::interval(SWEEP);
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = async {
                let place = Arc::clone(&room).acquire_owned().await.ok()?;
                Some((listener.accept().await, place))
            };
            tokio::select! {
                () = stop.cancelled() => break,
                _ = sweep.tick() => front.sessions.sweep(),
                _ = look.tick() => if front.pressure.look() >= Level::Tight {
                    front.sessions.shed();
                },
                Some((accepted, place)) = accepted => match accepted {
                    Ok((stream, _)) if front.pressure.level() == Level::Critical => {
                        // A few still hear that we live; the others are closed unheard.
                        let few = Arc::clone(&last).try_acquire_owned();
                        if let Ok(few) = few {
                            lanes.take(stream, few).await;
                        }
                    }
                    Ok((stream, _)) => lanes.take(stream, place).await,
                    Err(error) => pause(&error).await,
                },
            }
        }
        drop(listener);
        front.stop.cancel();
        lanes.drained().await;
        tending::keep_use(&self.app.front).await;
    }
}

/// Out of file descriptors, or a client that went away between knocking and entering: the
/// listener lives on.
async fn pause(error: &std::io::Error) {
    let is_passing = matches!(
        error.kind(),
        std::io::ErrorKind::ConnectionAborted | std::io::ErrorKind::ConnectionReset
    );
    if !is_passing {
        tracing::warn!(%error, "a connection could not be accepted");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

async fn connection(app: Arc<App>, stream: TcpStream, stop: CancellationToken) {
    // Without it, events wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let limits = &app.front.limits;
    let address = stream.peer_addr().map(|address| address.ip()).ok();
    let Some(identity) = app.tls.load_full() else {
        let stream = stall::Stalling::new(stream, limits.write_timeout);
        let peer = Peer { address, line: Line::Plain };
        return serve_on(app, (stream, peer), stop).await;
    };
    let shaken = tokio::select! {
        shaken = secure::shake(stream, identity.config(), limits) => shaken,
        () = stop.cancelled() => None,
    };
    if let Some(stream) = shaken {
        let peer = Peer { address, line: Line::Tls };
        serve_on(app, (stream, peer), stop).await;
    }
}

async fn serve_on<S>(app: Arc<App>, (stream, peer): (S, Peer), stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = &app.front.limits;
    let (handler, handover) = (Arc::clone(&app), Handover::default());
    let given = handover.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(given.clone());
        request.extensions_mut().insert(peer);
        answer(Arc::clone(&handler), request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_headers(limits.headers)
        .max_buf_size(limits.header_bytes)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // Boxed, to be gone before a session begins: it is large, and would keep the socket from it.
    let mut serving = Box::pin(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            (&mut serving).await
        }
    };
    drop(serving);
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
        return;
    }
    // A live session keeps the connection's place, and its lane.
    if let Some(session) = handover.take() {
        session.await;
    }
}

async fn answer(app: Arc<App>, request: Request<Incoming>) -> Result<Response, Infallible> {
    let style = Style::of(request.uri().path());
    let (mut parts, body) = request.into_parts();
    if let Err(problem) = app.guard.load().check(&parts) {
        return Ok(closing(problem.response(style)));
    }
    if let Err(problem) = live::bring_key(&mut parts) {
        return Ok(problem.response(style));
    }
    if let Err(problem) = auth::refuse_keys_in_query(&parts.uri) {
        return Ok(problem.response(style));
    }
    let keys = &app.front.keys;
    let uri = parts.uri.clone();
    let visitor = match keys.admit(&parts).await {
        Ok(visitor) => Some(visitor),
        Err(_) if router::is_open(uri.path()) => None,
        Err(problem) => return Ok(keys.refused(&problem, uri.path())),
    };
    let place = match take(&app, uri.path(), visitor.as_ref()) {
        Ok(place) => place,
        Err(problem) => return Ok(turned_away(&app, problem.response(style))),
    };
    if let Some(visitor) = &visitor {
        parts.extensions.insert(visitor.clone());
    }
    let method = parts.method.clone();
    let request = Request::from_parts(parts, Body::new(body));
    let mut router = app.router.clone();
    let handled = AssertUnwindSafe(router.call(request)).catch_unwind();
    let response = unpanicked(handled, style).await;
    let mut response = match visitor {
        Some(visitor) => keys.dressed(response, (&visitor, uri.path())),
        None => response,
    };
    if uri.path().starts_with("/api/") {
        // Whatever stands in it, no browser takes it for a page.
        let nosniff = http::HeaderValue::from_static("nosniff");
        response.headers_mut().insert(http::header::X_CONTENT_TYPE_OPTIONS, nosniff);
    }
    Ok(match place {
        Some(place) => place.keep_for(&method, response),
        None => response,
    })
}

/// Room for one more request, if there is; `None` for what always has some.
fn take(app: &App, path: &str, visitor: Option<&Visitor>) -> Result<Option<Place>, Problem> {
    if matches!(path, "/healthz" | "/readyz") {
        return Ok(None);
    }
    app.front.pressure.take_request()?;
    // Whoever comes without a key is everybody on this machine.
    let key = visitor.filter(|visitor| visitor.principal != Principal::local());
    let share = key.map(|visitor| {
        let own = visitor.grant.as_ref().and_then(|grant| grant.concurrent);
        let most = own.unwrap_or(app.front.limits.per_key);
        Share { principal: visitor.principal.clone(), most }
    });
    app.front.crowd.enter(share).map(Some)
}

/// When memory is at its end, no connection stays.
fn turned_away(app: &App, response: Response) -> Response {
    match app.front.pressure.level() {
        Level::Critical => closing(response),
        Level::Calm | Level::Tight | Level::Severe => response,
    }
}

async fn unpanicked(
    handled: impl Future<Output = std::thread::Result<Result<Response, Infallible>>>,
    style: Style,
) -> Response {
    match handled.await {
        Ok(Ok(response)) => response,
        Err(_) => {
            tracing::error!("a request panicked");
            FAULT.response(style)
        }
    }
}

/// Whoever sends what no client sends does not get a second request on the connection.
fn closing(mut response: Response) -> Response {
    let close = http::HeaderValue::from_static("close");
    response.headers_mut().insert(http::header::CONNECTION, close);
    response
}
