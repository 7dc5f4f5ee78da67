//! The threads that serve connections: one for each core, each with a runtime of its own. A
//! connection stays on its lane, and so does the call to the server behind it: handing work from
//! thread to thread costs more than most calls.

use std::sync::Arc;
use std::thread;

use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{App, connection};

/// However much there is to do, timers are looked at often enough for deadlines to hold: a poll
/// may take half a millisecond when a server floods.
const POLLS_BETWEEN_TIMERS: u32 = 16;
/// Connections that a lane was given and has not begun to serve.
const WAITING: usize = 64;

/// Dropping them ends every connection at once.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    next: usize,
    _kill: DropGuard,
}

struct Lane {
    connections: mpsc::Sender<Taken>,
    drained: oneshot::Receiver<()>,
}

type Taken = (std::net::TcpStream, OwnedSemaphorePermit);

/// What a lane works with.
struct Work {
    app: Arc<App>,
    connections: mpsc::Receiver<Taken>,
    stop: CancellationToken,
    kill: CancellationToken,
}

impl Lanes {
    pub(super) fn start(app: &Arc<App>, stop: &CancellationToken) -> Self {
        let kill = CancellationToken::new();
        let count = thread::available_parallelism().map_or(1, usize::from);
        let lane = |number: usize| {
            let (sender, connections) = mpsc::channel(WAITING);
            let (done, drained) = oneshot::channel();
            let app = Arc::clone(app);
            let work = Work { app, connections, stop: stop.clone(), kill: kill.clone() };
            let run = move || {
                // Lane 0 is every thread that is none.
                tollgate_mcp::lane::enter(number + 1);
                work.run();
                // Nobody waiting is fine.
                let _ = done.send(());
            };
            let started = thread::Builder::new().name(format!("lane-{number}")).spawn(run);
            started.ok().map(|_| Lane { connections: sender, drained })
        };
        Self { lanes: (0..count).filter_map(lane).collect(), next: 0, _kill: kill.drop_guard() }
    }

    /// Hands a connection to the next lane.
    pub(super) async fn take(&mut self, stream: TcpStream, place: OwnedSemaphorePermit) {
        let Ok(stream) = stream.into_std() else { return };
        self.next = (self.next + 1) % self.lanes.len().max(1);
        if let Some(lane) = self.lanes.get(self.next) {
            // A lane ends only when everything does.
            let _ = lane.connections.send((stream, place)).await;
        }
    }

    /// Takes nothing more, and waits for what is being served, as long as the limits allow.
    pub(super) async fn drained(mut self) {
        let lanes = std::mem::take(&mut self.lanes).into_iter();
        let (connections, drained): (Vec<_>, Vec<_>) =
            lanes.map(|lane| (lane.connections, lane.drained)).unzip();
        drop(connections);
        futures_util::future::join_all(drained).await;
    }
}

impl Work {
    fn run(self) {
        let mut builder = Builder::new_current_thread();
        match builder.enable_all().event_interval(POLLS_BETWEEN_TIMERS).build() {
            Ok(runtime) => runtime.block_on(self.serve()),
            Err(error) => tracing::error!(%error, "a lane has no runtime"),
        }
    }

    async fn serve(mut self) {
        let kill = self.kill.clone();
        tokio::select! {
            () = kill.cancelled() => {}
            () = self.serve_all() => {}
        }
    }

    async fn serve_all(&mut self) {
        let mut running = JoinSet::new();
        loop {
            tokio::select! {
                taken = self.connections.recv() => {
                    let Some((stream, place)) = taken else { break };
                    let Ok(stream) = TcpStream::from_std(stream) else { continue };
                    let serving = connection(Arc::clone(&self.app), stream, self.stop.clone());
                    running.spawn(async move {
                        serving.await;
                        drop(place);
                    });
                }
                Some(_) = running.join_next() => {}
            }
        }
        let drained = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(self.app.front.limits.drain, drained).await.is_err() {
            tracing::warn!(left = running.len(), "connections were cut at the end of draining");
        }
    }
}
