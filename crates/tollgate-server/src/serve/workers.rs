//! Worker threads that serve connections: one per core, each with its own single-threaded runtime.
//!
//! A connection stays on its worker, and so does the call to the upstream server: passing work
//! between threads costs more than most calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connections::ConnectionPermit;
use super::poll_watch::WatchedFuture;
use super::{HttpApp, connection};

/// Timers are checked at least this often under load, so that deadlines hold: a poll may take half
/// a millisecond when a server floods.
const POLLS_BETWEEN_TIMERS: u32 = 16;
/// Time for aborted sessions to close properly.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Dropping them ends every connection at once.
pub(super) struct Workers {
    workers: Vec<Worker>,
    next: AtomicUsize,
    _kill: DropGuard,
}

struct Worker {
    connections: mpsc::Sender<AcceptedConnection>,
    drained: parking_lot::Mutex<Option<oneshot::Receiver<()>>>,
}

/// An accepted connection and its permits.
pub(super) struct AcceptedConnection {
    pub(super) stream: std::net::TcpStream,
    pub(super) admitted: ConnectionPermit,
    /// Its permit among the few that are served at critical memory pressure.
    pub(super) last: Option<OwnedSemaphorePermit>,
}

/// State of a worker.
struct WorkerLoop {
    app: Arc<HttpApp>,
    connections: mpsc::Receiver<AcceptedConnection>,
    /// Signals that all work from before the drain has ended.
    drained: oneshot::Sender<()>,
    kill: CancellationToken,
}

impl Workers {
    pub(super) fn start(app: &Arc<HttpApp>) -> Self {
        let kill = CancellationToken::new();
        let count = thread::available_parallelism().map_or(1, usize::from);
        // Every connection has a permit, so the channel never overflows.
        let waiting = app.front.limits.connections.saturating_mul(2).clamp(64, 1 << 20);
        let worker = |number: usize| {
            let (sender, connections) = mpsc::channel(waiting);
            let (done, drained) = oneshot::channel();
            let app = Arc::clone(app);
            let work = WorkerLoop { app, connections, drained: done, kill: kill.clone() };
            let run = move || {
                // Worker 0 stands for threads outside the pool.
                tollgate_mcp::per_worker::enter(number + 1);
                work.run();
            };
            let started = thread::Builder::new().name(format!("worker-{number}")).spawn(run);
            let drained = parking_lot::Mutex::new(Some(drained));
            started.ok().map(|_| Worker { connections: sender, drained })
        };
        let workers = (0..count).filter_map(worker).collect();
        Self { workers, next: AtomicUsize::new(0), _kill: kill.drop_guard() }
    }

    /// Hands a connection to the next worker. Never waits.
    pub(super) fn take(&self, accepted: AcceptedConnection) {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.workers.len().max(1);
        if let Some(worker) = self.workers.get(next) {
            // A worker ends only at shutdown.
            let _ = worker.connections.try_send(accepted);
        }
    }

    /// Waits for work from before the drain, as long as the limits allow. Meanwhile new requests
    /// are told that the gateway is stopping.
    pub(super) async fn wait_for_drain(&self) {
        let drained = self.workers.iter().filter_map(|worker| worker.drained.lock().take());
        futures_util::future::join_all(drained).await;
    }
}

impl WorkerLoop {
    fn run(self) {
        let mut builder = Builder::new_current_thread();
        match builder.enable_all().event_interval(POLLS_BETWEEN_TIMERS).build() {
            Ok(runtime) => runtime.block_on(self.serve()),
            Err(error) => tracing::error!(%error, "a worker has no runtime"),
        }
    }

    async fn serve(self) {
        let kill = self.kill.clone();
        tokio::select! {
            () = kill.cancelled() => {}
            () = self.serve_all() => {}
        }
    }

    async fn serve_all(self) {
        let Self { app, mut connections, drained, .. } = self;
        let front = Arc::clone(&app.front);
        let mut running = JoinSet::new();
        loop {
            tokio::select! {
                () = front.stop.cancelled() => break,
                accepted = connections.recv() => {
                    let Some(accepted) = accepted else { return };
                    begin(&mut running, &app, accepted);
                }
                Some(_) = running.join_next() => {}
            }
        }
        let mut late = JoinSet::new();
        let refused = async {
            while let Some(accepted) = connections.recv().await {
                while late.try_join_next().is_some() {}
                begin(&mut late, &app, accepted);
            }
        };
        let ended = async {
            drain(&mut running, &app).await;
            // It is fine if nobody waits.
            let _ = drained.send(());
            std::future::pending::<()>().await;
        };
        tokio::join!(refused, ended);
    }
}

fn begin(running: &mut JoinSet<()>, app: &Arc<HttpApp>, accepted: AcceptedConnection) {
    let AcceptedConnection { stream, admitted, last } = accepted;
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    let app = Arc::clone(app);
    running.spawn(async move {
        // Made in here: a future that is captured is in the task twice.
        let activity = Arc::clone(&admitted.activity);
        match app.poll_watch.get().cloned() {
            Some(watch) => {
                WatchedFuture::new(connection(app, stream, activity), watch).await;
            }
            None => connection(app, stream, activity).await,
        }
        drop((admitted, last));
    });
}

/// Waits until everything has ended, or the time limit is reached.
async fn drain(running: &mut JoinSet<()>, app: &HttpApp) {
    let limit = app.front.limits.drain;
    let ended = async { while running.join_next().await.is_some() {} };
    if tokio::time::timeout(limit, ended).await.is_ok() {
        return;
    }
    app.front.cut.cancel();
    let ended = async { while running.join_next().await.is_some() {} };
    if tokio::time::timeout(CLOSE_TIMEOUT, ended).await.is_err() {
        tracing::warn!(left = running.len(), "connections were closed at the end of draining");
    }
}
