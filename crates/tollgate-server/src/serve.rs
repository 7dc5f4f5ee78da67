//! Listens, and serves connections until it is told to stop. One task per connection; a panic
//! in a request costs that request.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use axum::Router;
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
use tollgate_mcp::tasks;

use crate::access::TrustedProxies;
use crate::auth::keyring::{Keyring, KeyringError};
use crate::auth::oidc::OidcConfig;
use crate::auth::{
    ApiKey, Authenticator, AuthenticatorOptions, ConnectionPeer, Fingerprint, TransportSecurity,
    key_maintenance,
};
use crate::body::holding;
use crate::config_service::ConfigService;
use crate::host_guard::HostGuard;
use crate::limits::Limits;
use crate::mcp::AppState;
use crate::pressure::{MEMORY_POLL_INTERVAL, PressureLevel};
use crate::realtime::UpgradeHandover;
use crate::router;
use crate::tls::TlsIdentity;

mod acceptor;
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
use connections::ConnectionActivity;
pub use poll_watch::PollWatch;
use request::answer;
use workers::Workers;
use write_timeout::WriteTimeoutStream;

/// How the HTTP front is set up.
#[derive(Clone)]
pub struct HttpServerOptions {
    /// Names, beside the loopback ones, under which clients may address this server.
    pub hosts: Vec<String>,
    /// Without any, whoever is on this machine may come in, if the address is loopback.
    pub keys: Vec<ApiKey>,
    /// Where keys are made by command.
    pub keyring: Option<Arc<Keyring>>,
    /// Of the token that opens everything.
    pub admin: Option<Fingerprint>,
    /// Whose tokens let in, too.
    pub auth: Option<OidcConfig>,
    pub limits: Limits,
    pub models: tollgate_llm::settings::LlmSettings,
}

/// The HTTP front of one gate.
#[derive(Clone)]
pub struct HttpServer {
    app: Arc<HttpApp>,
}

struct HttpApp {
    /// Who says from where their clients come. Swapped when the config changes.
    proxies: ArcSwap<TrustedProxies>,
    /// Swapped whole when the config changes.
    guard: ArcSwap<HostGuard>,
    router: Router,
    front: Arc<AppState>,
    /// With one, it is HTTPS that is served. Exchanged while connections come in.
    tls: ArcSwapOption<TlsIdentity>,
    /// For tests: how long workers are kept from others.
    poll_watch: OnceLock<Arc<PollWatch>>,
}

/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_secs(60);

impl HttpServer {
    /// Must be called within a runtime. Fails, in words, if a provider of models cannot be used.
    pub fn new(gate: Arc<Gate>, options: &HttpServerOptions) -> Result<Self, String> {
        panics::watch();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut front = AppState::new(gate, Arc::clone(&clock), options.limits.clone());
        let lock = AuthenticatorOptions {
            keyring: options.keyring.clone(),
            admin: options.admin,
            issuer_pause: options.limits.issuer_pause,
        };
        front.keys = Authenticator::new(clock, lock);
        front.chat.reconfigure(&options.models)?;
        let front = Arc::new(front);
        let router = router::router(Arc::clone(&front));
        let guard = ArcSwap::from_pointee(HostGuard::new(&options.hosts));
        let (tls, proxies) = (ArcSwapOption::empty(), ArcSwap::default());
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
        Ok(server)
    }

    /// Replaces the models that can be asked. Fails, in words, and changes nothing if a provider
    /// cannot be used.
    pub fn set_models(&self, models: &tollgate_llm::settings::LlmSettings) -> Result<(), String> {
        self.app.front.chat.reconfigure(models)
    }

    /// Replaces the keys of the config and the issuer whose tokens let in. What was let in by what
    /// is not there any more ends. Must be called within a runtime.
    pub fn set_access(&self, keys: Vec<ApiKey>, auth: Option<OidcConfig>) {
        self.app.front.keys.configure(keys, auth);
    }

    /// Replaces the names under which clients may ask.
    pub fn set_hosts(&self, hosts: &[String]) {
        self.app.guard.store(Arc::new(HostGuard::new(hosts)));
    }

    /// Replaces the proxies that are believed about who their clients are.
    pub fn set_trusted_proxies(&self, proxies: TrustedProxies) {
        self.app.proxies.store(Arc::new(proxies));
    }

    /// With one, connections from now on are served over TLS as this; else in plain.
    pub fn set_identity(&self, identity: Option<TlsIdentity>) {
        self.app.tls.store(identity.map(Arc::new));
    }

    /// Gives the admin routes their way to the config. Once; a second one is not listened to.
    pub fn operated_by(&self, operator: Arc<dyn ConfigService>) {
        let _ = self.app.front.operator.set(operator);
    }

    /// From now on, watches how long a poll of a new connection takes. Costs two system calls for
    /// each poll, so it is for tests.
    pub fn watch_polls(&self) -> Arc<PollWatch> {
        Arc::clone(self.app.poll_watch.get_or_init(Arc::default))
    }

    /// Whether nobody was given a key yet, so that this machine may come in without one.
    pub fn is_open(&self) -> bool {
        self.app.front.keys.is_open()
    }

    /// Whether keys were made by command, and the database has lost them all.
    pub fn are_keys_lost(&self) -> bool {
        self.app.front.keys.are_lost()
    }

    /// Lets in by the keys that were made by command, from now on. May block.
    pub fn read_keys(&self) -> Result<(), KeyringError> {
        self.app.front.keys.refresh()
    }

    /// Skips the grace of the end that is coming: whoever asks for it sits at the terminal.
    pub fn skip_grace(&self) {
        self.app.front.grace_over.cancel();
    }

    /// Serves until `stop` is cancelled, then ends in steps, each as long as the limits allow: it says
    /// that it is not ready, and goes on; it takes no new work, and lets what runs end; it cuts what is
    /// left. Probes are answered to the last. Dropping the future ends everything at once.
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
            workers.wait_for_drain().await;
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
    /// What has to be done beside the requests, for as long as there are some.
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
        let stream = WriteTimeoutStream::new(stream, limits.write_timeout, Arc::clone(&activity));
        let peer = ConnectionPeer { address, line: TransportSecurity::Plain };
        return serve_on(app, stream, peer, activity).await;
    };
    let shaken = tokio::select! {
        shaken = tls_handshake::shake(stream, identity.config(), limits) => shaken,
        () = activity.wait_for_eviction() => None,
        () = drain_begins(app.front.stop.clone()) => None,
    };
    if let Some(stream) = shaken {
        let stream = WriteTimeoutStream::new(stream, limits.write_timeout, Arc::clone(&activity));
        let peer = ConnectionPeer { address, line: TransportSecurity::Tls };
        serve_on(app, stream, peer, activity).await;
    }
}

/// Never, for whoever comes after that: they are heard, and told.
fn drain_begins(stop: CancellationToken) -> impl Future<Output = ()> {
    let is_over = stop.is_cancelled();
    async move {
        if is_over {
            std::future::pending::<()>().await;
        }
        stop.cancelled().await;
    }
}

/// The connection was told to go just before its request was seen.
#[derive(Debug, thiserror::Error)]
#[error("closed an idle connection to make room for another")]
struct EvictedError;

async fn serve_on<S>(
    app: Arc<HttpApp>,
    stream: S,
    peer: ConnectionPeer,
    activity: Arc<ConnectionActivity>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = &app.front.limits;
    let (handler, handover) = (Arc::clone(&app), UpgradeHandover::default());
    let (given, active) = (handover.clone(), Arc::clone(&activity));
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(given.clone());
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Arc::clone(active.memory()));
        let (handler, busy) = (Arc::clone(&handler), active.begin());
        async move {
            let busy = busy.ok_or(EvictedError)?;
            let response = answer(handler, request).await;
            // What has a length is made by now, and waits only for whoever reads it.
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
    // Boxed, to be gone before a session begins: it is large, and would keep the socket from it.
    let mut serving = Box::pin(serving);
    let ended = tokio::select! {
        ended = &mut serving => ended,
        () = activity.wait_for_eviction() => return,
        () = drain_begins(stop.clone()) => {
            serving.as_mut().graceful_shutdown();
            tokio::select! {
                ended = &mut serving => ended,
                () = activity.wait_for_eviction() => return,
                () = app.front.cut.cancelled() => return,
            }
        }
    };
    drop(serving);
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
        return;
    }
    // A live session keeps the connection's place, and its worker.
    if let Some(session) = handover.take()
        && let Some(_busy) = activity.begin()
    {
        tokio::select! {
            () = session => {}
            () = activity.wait_for_eviction() => {}
        }
    }
}
