//! Accept loop, on a thread of its own that never blocks on anything else.
//!
//! A connection stays here until its first bytes arrive. Probes (`/healthz`, `/readyz`) are
//! answered at once, however busy the workers are. Everything else is handed to the workers. Silent
//! connections cost no more than their slot, and the oldest are evicted for new ones.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::HttpApp;
use super::connections::{ConnectionOrigin, ConnectionPermit, ConnectionTable, ResetConnection};
use super::probe::{self, FirstBytes};
use super::workers::{AcceptedConnection, Workers};
use crate::api_error::ApiError;
use crate::pressure::{MEMORY_POLL_INTERVAL, PressureLevel};

/// Limit on connections without a first byte. Honest clients send at once.
const MAX_SILENT: usize = 1024;
const MAX_SILENT_PER_ADDRESS: usize = 512;
/// Connections still served at critical memory pressure, because they may be probes.
const LAST_CONNECTIONS: usize = 16;
/// Interval between resets for memory: by then the memory is released, and it is known whether one
/// reset was enough.
const BETWEEN_RESETS: Duration = Duration::from_secs(1);
/// Back-off when accepting fails.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time for an evicted connection to close its file descriptor.
const EVICTION_PAUSE: Duration = Duration::from_millis(2);
/// Minimum interval between equal warnings.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(1);
/// Time limit for sending a refusal.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
/// Input that is still read from a refused client: closing a connection with unread bytes may lose
/// the response.
const REFUSAL_READ: u64 = 64 << 10;
/// At the end: the time for clients that have connected to send a request, and for the answers to
/// those requests.
const LAST_REQUESTS: Duration = Duration::from_millis(300);
const LAST_ANSWERS: Duration = Duration::from_secs(1);
const LAST_ANSWER_POLL: Duration = Duration::from_millis(5);
/// Attempts to take the last place in the listener's queue, and the time of one.
const LAST_ROUNDS: usize = 32;
const OWN_CONNECT: Duration = Duration::from_millis(20);
/// No more file descriptors, for this process or system-wide.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// The accept thread. Dropping it stops it.
pub(super) struct Acceptor {
    closing: CancellationToken,
    _kill: DropGuard,
    ended: oneshot::Receiver<()>,
}

impl Acceptor {
    pub(super) fn start(
        app: &Arc<HttpApp>,
        listener: TcpListener,
        workers: &Arc<Workers>,
    ) -> io::Result<Self> {
        let listener = listener.into_std()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let kill = CancellationToken::new();
        let closing = CancellationToken::new();
        let (done, ended) = oneshot::channel();
        let limits = &app.front.limits;
        let accepting = AcceptLoop {
            app: Arc::clone(app),
            workers: Arc::clone(workers),
            silent: ConnectionTable::new(MAX_SILENT, MAX_SILENT_PER_ADDRESS),
            served: ConnectionTable::new(limits.connections, limits.connections_per_address),
            last: Arc::new(Semaphore::new(LAST_CONNECTIONS)),
        };
        let killed = kill.clone();
        let closes = closing.clone();
        let run = move || {
            runtime.block_on(async {
                match TcpListener::from_std(listener) {
                    Ok(listener) => {
                        tokio::select! {
                            () = killed.cancelled() => {}
                            () = Arc::new(accepting).run(listener, closes) => {}
                        }
                    }
                    Err(error) => tracing::error!(%error, "cannot accept connections"),
                }
            });
            // Close the descriptors of waiting connections before the end is reported.
            drop(runtime);
            let _ = done.send(());
        };
        thread::Builder::new().name("accept".to_owned()).spawn(run)?;
        Ok(Self { closing, _kill: kill.drop_guard(), ended })
    }

    /// Closes the listener. Whoever could still connect is answered first, as far as it asks.
    pub(super) async fn end(self) {
        let Self { closing, _kill, ended } = self;
        closing.cancel();
        // The thread always sends before it ends. A failed receive also means that it has ended.
        let _ = ended.await;
    }
}

struct AcceptLoop {
    app: Arc<HttpApp>,
    workers: Arc<Workers>,
    silent: Arc<ConnectionTable>,
    served: Arc<ConnectionTable>,
    /// Permits for critical memory pressure.
    last: Arc<Semaphore>,
}

impl AcceptLoop {
    fn origin(&self, address: IpAddr) -> ConnectionOrigin {
        let is_proxy = self.app.proxies.load().trusts(address);
        if address.to_canonical().is_loopback() || is_proxy {
            ConnectionOrigin::Shared(address)
        } else {
            ConnectionOrigin::Client(address)
        }
    }

    async fn run(self: Arc<Self>, listener: TcpListener, closing: CancellationToken) {
        let mut trouble = AcceptRecovery::new();
        let mut greeting = JoinSet::new();
        let mut relief = MemoryRelief::new();
        let mut look = tokio::time::interval(MEMORY_POLL_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, from)) => {
                        trouble.prepare();
                        self.welcome(stream, from.ip(), &mut greeting);
                    }
                    Err(error) => self.recover(&error, &mut trouble).await,
                },
                _ = look.tick() => relief.relieve(&self.app, &self.served),
                Some(_) = greeting.join_next() => {}
                () = closing.cancelled() => break,
            }
        }
        self.close(listener, &mut greeting);
        let greeted = async { while greeting.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_REQUESTS, greeted).await;
        // The workers tell them that the gateway is stopping.
        let answered = async {
            while !self.served.is_empty() {
                tokio::time::sleep(LAST_ANSWER_POLL).await;
            }
        };
        let _ = tokio::time::timeout(LAST_ANSWERS, answered).await;
    }

    fn welcome(self: &Arc<Self>, stream: TcpStream, from: IpAddr, greeting: &mut JoinSet<()>) {
        let origin = self.origin(from);
        // All of them are idle: the oldest is evicted.
        if let Ok(place) = self.silent.admit(origin) {
            greeting.spawn(Arc::clone(self).greet(stream, origin, place));
        }
    }

    /// Takes over whoever has connected, and closes the listener. Closing it resets connections that
    /// nobody has accepted, so that none may be among them but our own: it takes the only place that
    /// is left in the queue, and from then on others are refused.
    fn close(self: &Arc<Self>, listener: TcpListener, greeting: &mut JoinSet<()>) {
        let Ok(listener) = listener.into_std() else { return };
        let _ = SockRef::from(&listener).listen(0);
        for _ in 0..LAST_ROUNDS {
            while let Ok((stream, from)) = listener.accept() {
                if stream.set_nonblocking(true).is_ok()
                    && let Ok(stream) = TcpStream::from_std(stream)
                {
                    self.welcome(stream, from.ip(), greeting);
                }
            }
            if let Some(_own) = connect_to(&listener) {
                drop(listener);
                return;
            }
        }
    }

    /// Waits for the first bytes, answers probes, and hands over everything else.
    async fn greet(
        self: Arc<Self>,
        stream: TcpStream,
        origin: ConnectionOrigin,
        place: ConnectionPermit,
    ) {
        // Without it, events would wait for the acknowledgement of the previous one.
        let _ = stream.set_nodelay(true);
        let activity = Arc::clone(&place.activity);
        tokio::select! {
            () = activity.wait_for_eviction() => {}
            () = self.hear(stream, origin) => {}
        }
        drop(place);
    }

    async fn hear(&self, mut stream: TcpStream, origin: ConnectionOrigin) {
        let mut bytes = [0; probe::MAX_HEAD_BYTES];
        let limits = &self.app.front.limits;
        let is_tls = self.app.tls.load().is_some();
        let limit = if is_tls { limits.handshake_timeout } else { limits.header_timeout };
        loop {
            let received = tokio::time::timeout(limit, stream.peek(&mut bytes)).await;
            let Ok(Ok(count @ 1..)) = received else { return };
            match probe::read(bytes.get(..count).unwrap_or_default()) {
                FirstBytes::Probe(probe) => {
                    // These bytes were peeked, so reading them does not block.
                    let head = bytes.get_mut(..probe.head_bytes).unwrap_or_default();
                    if stream.read_exact(head).await.is_err() {
                        return;
                    }
                    let answer = probe.answer(&self.app).await;
                    let sent = stream.write_all(&answer.bytes);
                    let sent = tokio::time::timeout(limits.write_timeout, sent).await;
                    let Ok(Ok(())) = sent else { return };
                    if answer.closes {
                        let _ = stream.shutdown().await;
                        return;
                    }
                }
                FirstBytes::Http2 if !is_tls => {
                    return self.refuse(stream, &probe::HTTP2_REFUSAL).await;
                }
                first @ (FirstBytes::Http2 | FirstBytes::Other { .. }) => {
                    let may_be_probe =
                        is_tls || matches!(first, FirstBytes::Other { may_be_probe: true });
                    return self.hand_over(stream, origin, may_be_probe).await;
                }
            }
        }
    }

    async fn hand_over(&self, stream: TcpStream, origin: ConnectionOrigin, may_be_probe: bool) {
        let last = match self.app.front.pressure.level() {
            PressureLevel::Calm | PressureLevel::Tight | PressureLevel::Severe => None,
            // Over TLS the path is not known yet.
            PressureLevel::Critical if may_be_probe => {
                match Arc::clone(&self.last).try_acquire_owned() {
                    Ok(place) => Some(place),
                    Err(_) => return refuse_unheard(&stream),
                }
            }
            PressureLevel::Critical => return refuse_unheard(&stream),
        };
        match self.served.admit(origin) {
            Ok(admitted) => {
                let Ok(stream) = stream.into_std() else { return };
                self.workers.take(AcceptedConnection { stream, admitted, last });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection was refused");
                // Over TLS nothing can be sent before the handshake.
                if self.app.tls.load().is_none() {
                    self.refuse(stream, &error.into()).await;
                }
            }
        }
    }

    async fn refuse(&self, mut stream: TcpStream, problem: &ApiError) {
        let refused = async {
            let refusal = probe::refusal(problem, self.app.front.clock.wall()).await;
            stream.write_all(&refusal).await?;
            stream.shutdown().await?;
            tokio::io::copy(&mut stream.take(REFUSAL_READ), &mut tokio::io::sink()).await
        };
        let _ = tokio::time::timeout(REFUSAL_TIME, refused).await;
    }

    /// Out of descriptors, or the client is gone again: keep listening.
    async fn recover(&self, error: &io::Error, trouble: &mut AcceptRecovery) {
        let is_passing = matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
        );
        if is_passing {
            return;
        }
        trouble.warn(error, self.app.front.clock.now());
        let is_out_of_files = matches!(error.raw_os_error(), Some(EMFILE | ENFILE));
        if is_out_of_files && (self.silent.evict() || self.served.evict()) {
            tokio::time::sleep(EVICTION_PAUSE).await;
        } else if !(is_out_of_files && trouble.give_spare()) {
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}

/// `None`: somebody else was faster.
fn connect_to(listener: &std::net::TcpListener) -> Option<std::net::TcpStream> {
    let mut address = listener.local_addr().ok()?;
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    std::net::TcpStream::connect_timeout(&address, OWN_CONNECT).ok()
}

/// Closes at once, without a response, and keeps nothing of the connection.
fn refuse_unheard(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

/// Resets connections at critical memory pressure, the largest first.
struct MemoryRelief {
    last_reset: Option<Instant>,
}

impl MemoryRelief {
    fn new() -> Self {
        Self { last_reset: None }
    }

    fn relieve(&mut self, app: &HttpApp, served: &ConnectionTable) {
        let pressure = &app.front.pressure;
        let now = app.front.clock.now();
        let is_soon = |last: Instant| now.saturating_duration_since(last) < BETWEEN_RESETS;
        if pressure.level() < PressureLevel::Critical || self.last_reset.is_some_and(is_soon) {
            return;
        }
        let Some(ResetConnection { address, bytes }) = served.reset_biggest() else { return };
        self.last_reset = Some(now);
        pressure.count_reset();
        let held_kb = bytes >> 10;
        tracing::warn!(%address, held_kb, "memory limit nearly reached: reset the connection that \
                                           uses most");
    }
}

/// State for recovering from accept errors.
struct AcceptRecovery {
    /// Spare descriptor, released for the next connection when no others are left: it may be a
    /// probe.
    spare: Option<File>,
    warned: Option<Instant>,
    /// Errors since the last warning.
    untold: u64,
}

impl AcceptRecovery {
    fn new() -> Self {
        Self { spare: File::open("/dev/null").ok(), warned: None, untold: 0 }
    }

    fn prepare(&mut self) {
        if self.spare.is_none() {
            self.spare = File::open("/dev/null").ok();
        }
    }

    fn give_spare(&mut self) -> bool {
        self.spare.take().is_some()
    }

    fn warn(&mut self, error: &io::Error, now: Instant) {
        let is_soon = |at: Instant| now.saturating_duration_since(at) < BETWEEN_WARNINGS;
        if self.warned.is_some_and(is_soon) {
            self.untold += 1;
            return;
        }
        let repeated = std::mem::take(&mut self.untold);
        self.warned = Some(now);
        tracing::warn!(%error, repeated, "a connection could not be accepted");
    }
}
