//! HTTP server: listens, and serves connections until shutdown. One task per connection. A panic in
//! a request affects only that request.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use axum::Router;
use futures_util::FutureExt;
use http::Request;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tollgate_engine::clock::{Clock, SystemClock};
use tollgate_engine::gate::Gate;
use tollgate_engine::panics;
use tollgate_llm::provider::ModelConfigError;
use tollgate_llm::settings::LlmSettings;
use tollgate_mcp::tasks;

use crate::access::TrustedProxies;
use crate::app_state::AppState;
use crate::auth::keyring::{Keyring, KeyringError};
use crate::auth::oidc::OidcConfig;
use crate::auth::{
    ApiKey, Authenticator, AuthenticatorOptions, ConnectionPeer, Fingerprint, TransportSecurity,
};
use crate::body::holding;
use crate::config_service::ConfigService;
use crate::host_guard::HostGuard;
use crate::incoming_calls::IncomingCallSettings;
use crate::key_maintenance;
use crate::limits::Limits;
use crate::pressure::{MEMORY_POLL_INTERVAL, PressureLevel};
use crate::realtime::{HandedSession, UpgradeHandover};
use crate::router;
use crate::telephony::TelephonySettings;
use crate::tls::TlsIdentity;

mod acceptor;
mod client_stream;
mod connections;
mod in_process;
mod offload;
mod poll_watch;
mod probe;
mod request;
mod tls_handshake;
mod workers;
mod write_timeout;

use acceptor::Acceptor;
use client_stream::{ClientStream, StreamMover};
use connections::ConnectionActivity;
pub use poll_watch::PollWatch;
use poll_watch::WatchedFuture;
use request::answer;
use workers::Workers;
use write_timeout::WriteTimeoutStream;

/// Settings of the HTTP front. By default it has no keys, and serves local callers only.
#[derive(Clone, Default)]
pub struct HttpServerOptions {
    /// Host names, beside the loopback ones, by which clients may address this server.
    pub hosts: Vec<String>,
    /// Origins of web pages that may open live sessions with a client secret.
    pub origins: Vec<String>,
    /// Without any, local callers need no key if the address is loopback.
    pub keys: Vec<ApiKey>,
    /// Keyring for keys created by command.
    pub keyring: Option<Arc<Keyring>>,
    /// Fingerprint of the admin token.
    pub admin: Option<Fingerprint>,
    /// Issuer whose tokens are accepted as well.
    pub auth: Option<OidcConfig>,
    pub limits: Limits,
    pub models: LlmSettings,
    /// Phone lines, and platforms whose agents call tools here.
    pub telephony: TelephonySettings,
    /// Webhooks for incoming telephone calls.
    pub incoming_calls: Vec<IncomingCallSettings>,
}

/// The HTTP front of one gate.
#[derive(Clone)]
pub struct HttpServer {
    app: Arc<HttpApp>,
}

struct HttpApp {
    /// Proxies whose forwarding headers are trusted. Swapped when the config changes.
    proxies: ArcSwap<TrustedProxies>,
    /// Swapped whole when the config changes.
    guard: ArcSwap<HostGuard>,
    router: Router,
    front: Arc<AppState>,
    /// If present, HTTPS is served. Can be replaced while connections are accepted.
    tls: ArcSwapOption<TlsIdentity>,
    /// For tests: how long polls block a worker.
    poll_watch: OnceLock<Arc<PollWatch>>,
}

/// Interval of the sweep for idle sessions.
const SWEEP: Duration = Duration::from_secs(60);
/// How long connections may still write after the end of the drain.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

impl HttpServer {
    /// Must be called within a runtime. Fails if a model provider cannot be used.
    pub fn new(gate: Arc<Gate>, options: &HttpServerOptions) -> Result<Self, ModelConfigError> {
        panics::watch();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut front = AppState::new(gate, Arc::clone(&clock), options.limits.clone());
        let lock = AuthenticatorOptions {
            keyring: options.keyring.clone(),
            admin: options.admin,
            issuer_pause: options.limits.issuer_pause,
        };
        front.calls.set_store(options.keyring.as_ref().map(|keyring| Arc::clone(keyring.store())));
        front.keys = Authenticator::new(clock, lock);
        front.chat.reconfigure(&options.models)?;
        front.incoming.configure(&options.incoming_calls);
        let front = Arc::new(front);
        let router = router::router(Arc::clone(&front));
        let guard = HostGuard::new(&options.hosts).with_origins(&options.origins);
        let guard = ArcSwap::from_pointee(guard);
        let tls = ArcSwapOption::empty();
        let proxies = ArcSwap::default();
        let server = Self {
            app: Arc::new(HttpApp {
                proxies,
                guard,
                router,
                front,
                tls,
                poll_watch: OnceLock::new(),
            }),
        };
        server.set_access(options.keys.clone(), options.auth.clone());
        server.set_telephony(&options.telephony);
        Ok(server)
    }

    /// Replaces the models. Fails, and changes nothing, if a provider cannot be used.
    pub fn set_models(&self, models: &LlmSettings) -> Result<(), ModelConfigError> {
        self.app.front.chat.reconfigure(models)
    }

    /// Replaces the keys of the config and the token issuer. Leases of removed credentials end.
    /// Must be called within a runtime.
    pub fn set_access(&self, keys: Vec<ApiKey>, auth: Option<OidcConfig>) {
        self.app.front.keys.configure(keys, auth);
    }

    /// Replaces the telephone lines. Calls of changed and removed ones end.
    pub fn set_telephony(&self, settings: &TelephonySettings) {
        self.app.front.telephony.configure(settings);
    }

    /// Replaces the allowed host names, and the origins of web pages that may open live sessions.
    pub fn set_hosts(&self, hosts: &[String], origins: &[String]) {
        self.app.guard.store(Arc::new(HostGuard::new(hosts).with_origins(origins)));
    }

    /// Replaces the webhooks for incoming telephone calls. Calls of removed ones end.
    pub fn set_incoming_calls(&self, settings: &[IncomingCallSettings]) {
        self.app.front.incoming.configure(settings);
    }

    /// Replaces the proxies whose forwarding headers are trusted.
    pub fn set_trusted_proxies(&self, proxies: TrustedProxies) {
        self.app.proxies.store(Arc::new(proxies));
    }

    /// Replaces the TLS identity for new connections. `None`: plain HTTP.
    pub fn set_identity(&self, identity: Option<TlsIdentity>) {
        self.app.tls.store(identity.map(Arc::new));
    }

    /// Connects the admin routes to the config. A second call has no effect.
    pub fn operated_by(&self, operator: Arc<dyn ConfigService>) {
        let _ = self.app.front.operator.set(operator);
    }

    /// Measures the poll times of new connections from now on. Costs two system calls per poll, so
    /// it is for tests.
    pub fn watch_polls(&self) -> Arc<PollWatch> {
        Arc::clone(self.app.poll_watch.get_or_init(Arc::default))
    }

    /// Whether local callers need no key, because none was created yet.
    pub fn is_open(&self) -> bool {
        self.app.front.keys.is_open()
    }

    /// Whether keys were created by command, but the database has lost all of them.
    pub fn are_keys_lost(&self) -> bool {
        self.app.front.keys.are_lost()
    }

    /// Loads the keys created by command. May block.
    pub fn read_keys(&self) -> Result<(), KeyringError> {
        self.app.front.keys.refresh()
    }

    /// Skips the grace period of the coming shutdown: the person at the terminal asked for it.
    pub fn skip_grace(&self) {
        self.app.front.grace_over.cancel();
    }

    /// Serves until `stop` is cancelled, then shuts down in steps, each with its time limit: it
    /// reports not ready but still serves; it refuses new work and lets running work finish; it
    /// aborts the rest. Probes are answered until the end. Dropping the future stops everything at
    /// once.
    pub async fn serve(&self, listener: TcpListener, stop: CancellationToken) {
        let front = &self.app.front;
        if let Ok(address) = listener.local_addr() {
            let _ = front.address.set(address);
            if address.ip().is_loopback() {
                front.keys.only_loopback();
            }
        }
        let _tending = tasks::spawn("keys", key_maintenance::tend(Arc::clone(front)));
        let workers = Arc::new(Workers::start(&self.app));
        let acceptor = match Acceptor::start(&self.app, listener, &workers) {
            Ok(acceptor) => acceptor,
            Err(error) => {
                tracing::error!(%error, "cannot accept connections");
                return;
            }
        };
        let ended = async {
            stop.cancelled().await;
            front.stopping.cancel();
            let _ = tokio::time::timeout(front.limits.grace, front.grace_over.cancelled()).await;
            front.stop.cancel();
            let calls = front.calls.drain(front.limits.drain, &front.cut);
            tokio::join!(workers.wait_for_drain(), calls);
        };
        tokio::select! {
            () = ended => {}
            () = front.tend() => {}
        }
        acceptor.end().await;
        front.refused.report(front.gate.ledger());
        key_maintenance::keep_use(front).await;
    }
}

impl AppState {
    /// Background maintenance while the server runs.
    async fn tend(&self) {
        let mut sweep = tokio::time::interval(SWEEP);
        let mut look = tokio::time::interval(MEMORY_POLL_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut report = tokio::time::interval(self.limits.refusal_report);
        report.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = sweep.tick() => self.sessions.sweep(),
                _ = report.tick() => self.refused.report(self.gate.ledger()),
                _ = look.tick() => if self.pressure.look() >= PressureLevel::Tight {
                    self.sessions.shed();
                },
            }
        }
    }
}

async fn connection(app: Arc<HttpApp>, stream: TcpStream, activity: Arc<ConnectionActivity>) {
    let limits = &app.front.limits;
    let address = stream.peer_addr().map(|address| address.ip()).ok();
    let Some(identity) = app.tls.load_full() else {
        let mover = StreamMover::default();
        let stream = ClientStream::new(stream, mover.clone());
        let stream = WriteTimeoutStream::new(stream, limits.write_timeout, Arc::clone(&activity));
        let peer = ConnectionPeer { address, line: TransportSecurity::Plain };
        return serve_on(app, stream, mover, peer, activity).await;
    };
    // Boxed, as everything about TLS here: it is large, and would be part of plain connections.
    let mover = StreamMover::default();
    let shake = Box::pin(tls_handshake::shake(stream, mover.clone(), identity.config(), limits));
    let shaken = tokio::select! {
        shaken = shake => shaken.map(Box::new),
        () = activity.wait_for_eviction() => None,
        () = drain_begins(app.front.stop.clone()) => None,
    };
    if let Some(stream) = shaken {
        let stream = WriteTimeoutStream::new(*stream, limits.write_timeout, Arc::clone(&activity));
        let peer = ConnectionPeer { address, line: TransportSecurity::Tls };
        Box::pin(serve_on(app, stream, mover, peer, activity)).await;
    }
}

/// Pending forever for connections that come after the drain began: they are served an error.
fn drain_begins(stop: CancellationToken) -> impl Future<Output = ()> {
    let is_over = stop.is_cancelled();
    async move {
        if is_over {
            std::future::pending::<()>().await;
        }
        stop.cancelled().await;
    }
}

/// The connection was evicted just before its request was read.
#[derive(Debug, thiserror::Error)]
#[error("closed an idle connection to make room for another")]
struct EvictedError;

async fn serve_on<S>(
    app: Arc<HttpApp>,
    stream: S,
    mover: StreamMover,
    peer: ConnectionPeer,
    activity: Arc<ConnectionActivity>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = &app.front.limits;
    let handler = Arc::clone(&app);
    let handover = UpgradeHandover::default();
    let given = handover.clone();
    let active = Arc::clone(&activity);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(given.clone());
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Arc::clone(active.memory()));
        let handler = Arc::clone(&handler);
        let busy = active.begin();
        async move {
            let busy = busy.ok_or(EvictedError)?;
            let response = answer(handler, request).await;
            // A body of known length is complete, and only waits to be written.
            let is_made = response.body().size_hint().exact().is_some();
            Ok::<_, EvictedError>(if is_made {
                response
            } else {
                response.map(|body| holding(body, busy))
            })
        }
    });
    let stop = &app.front.stop;
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_headers(limits.headers)
        .max_buf_size(limits.header_bytes)
        .keep_alive(!stop.is_cancelled())
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // Boxed, so that it is dropped before a realtime session begins: it is large and owns the
    // socket.
    let mut serving = Box::pin(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = activity.wait_for_eviction() => return,
        () = drain_begins(stop.clone()) => {
            serving.as_mut().graceful_shutdown();
            tokio::select! {
                ended = &mut serving => ended,
                () = activity.wait_for_eviction() => return,
                () = app.front.cut.cancelled() => {
                    // Requests that were cut have an answer now.
                    let _ = tokio::time::timeout(LAST_ANSWER_TIMEOUT, serving).await;
                    return;
                }
            }
        }
    };
    drop(serving);
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
        return;
    }
    // A realtime session keeps the permit of its connection, and runs on a thread for sessions.
    if let Some(HandedSession { session, thread }) = handover.take()
        && let Some(_busy) = activity.begin()
    {
        mover.request();
        let session = match app.poll_watch.get().cloned() {
            Some(watch) => WatchedFuture::new(session, watch).boxed(),
            None => session,
        };
        tokio::select! {
            () = thread.run(session) => {}
            () = activity.wait_for_eviction() => {}
        }
    }
}
