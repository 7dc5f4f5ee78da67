//! Live speech as it is measured: many sessions at once whose both ends are in this process, so
//! that one clock says how long a frame of audio was on its way.
//!
//! One end is here, with the clients; the other is on a thread of its own, with the provider.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tollgate_testkit::ws::{RawUpgradeRequest, RawWebSocket, RawWebSocketRole};

use crate::error::{BenchError, within};
use crate::samples::Samples;

mod frames;
mod peer;
mod tools;

use frames::SpeechRole;
use peer::SpeechPeer;

const SESSION_OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// What was measured while everybody talked.
#[derive(Debug)]
pub(crate) struct FrameDelays {
    /// How long frames were on their way, in both directions.
    pub(crate) delays: Samples,
    /// Frames that were to be sent.
    pub(crate) due: u64,
}

impl FrameDelays {
    /// Whether nearly all frames were sent and heard.
    pub(crate) fn is_in_real_time(&self) -> bool {
        self.delays.len() as f64 >= 0.97 * self.due as f64
    }
}

/// How everybody talks: so many frames a second on each line, in each direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameRate {
    pub(crate) frames_per_second: f64,
    pub(crate) lasts: Duration,
}

/// A provider on a thread of its own. Ends when dropped.
pub(crate) struct SpeechProvider {
    pub(crate) address: SocketAddr,
    orders: Option<mpsc::Sender<SpeechCommand>>,
    thread: Option<thread::JoinHandle<()>>,
}

enum SpeechCommand {
    /// Says how many sessions are open.
    Count(oneshot::Sender<usize>),
    Talk(FrameRate, oneshot::Sender<Result<FrameDelays, BenchError>>),
    /// Has the model of the first session call `tool` so many times.
    Call(&'static str, usize, oneshot::Sender<Result<Samples, BenchError>>),
}

impl SpeechProvider {
    pub(crate) fn start() -> Result<Self, BenchError> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (orders, given) = mpsc::channel(1);
        let work = move || {
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("it is a good socket");
                hold(listener, given).await;
            });
        };
        let thread = thread::Builder::new().name("studio".to_owned()).spawn(work)?;
        Ok(Self { address, orders: Some(orders), thread: Some(thread) })
    }

    /// Opens sessions at `address`, which is this one or a gateway's before it. All sessions that
    /// were open before have to be closed.
    pub(crate) async fn open(
        &self,
        address: SocketAddr,
        sessions: usize,
    ) -> Result<SpeechClients, BenchError> {
        let mut side = SpeechPeer::new(SpeechRole::Client);
        for _ in 0..sessions {
            let wire = RawWebSocket::dial(address, "/v1/realtime?model=bench", &[]);
            let wire = within(SESSION_OPEN_TIMEOUT, "opening a session", async {
                wire.await.map_err(|refused| BenchError::Process(format!("{refused:?}")))
            });
            side.take(wire.await?);
        }
        within(SESSION_OPEN_TIMEOUT, "waiting for all sessions", async {
            while self.count().await? != sessions {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        })
        .await?;
        Ok(SpeechClients { side })
    }

    /// Sessions that are open.
    pub(crate) async fn count(&self) -> Result<usize, BenchError> {
        self.order(SpeechCommand::Count).await
    }

    /// Both ends of all sessions talk at the same time.
    pub(crate) async fn talk(
        &self,
        clients: &mut SpeechClients,
        pace: FrameRate,
    ) -> Result<FrameDelays, BenchError> {
        let there = self.order(|reply| SpeechCommand::Talk(pace, reply));
        let (here, there) = tokio::join!(clients.side.talk(pace), there);
        let here = here?;
        let there = there??;
        Ok(FrameDelays { due: here.due + there.due, delays: here.delays.and(there.delays) })
    }

    /// How long the answers to calls of a tool took.
    pub(crate) async fn call(
        &self,
        tool: &'static str,
        count: usize,
    ) -> Result<Samples, BenchError> {
        self.order(|reply| SpeechCommand::Call(tool, count, reply)).await?
    }

    async fn order<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<T>) -> SpeechCommand,
    ) -> Result<T, BenchError> {
        let gone = || BenchError::Process("the studio is gone".to_owned());
        let (reply, replied) = oneshot::channel();
        let orders = self.orders.as_ref().ok_or_else(gone)?;
        orders.send(order(reply)).await.map_err(|_| gone())?;
        replied.await.map_err(|_| gone())
    }
}

impl Drop for SpeechProvider {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The other end of all sessions.
pub(crate) struct SpeechClients {
    side: SpeechPeer,
}

/// Takes sessions and orders until nobody gives any more.
async fn hold(listener: TcpListener, mut orders: mpsc::Receiver<SpeechCommand>) {
    let mut side = SpeechPeer::new(SpeechRole::Provider);
    let opening = Arc::new(Mutex::new(Vec::new()));
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                if let Some(asked) = RawUpgradeRequest::read(stream).await
                    && let Some(mut wire) = asked.welcome().await
                    && wire.text(tools::SESSION_CREATED).await.is_ok()
                {
                    opening.lock().push(wire);
                }
            }
            order = orders.recv() => {
                let Some(order) = order else { return };
                side.forget_closed();
                for wire in opening.lock().drain(..) {
                    side.take(wire);
                }
                match order {
                    SpeechCommand::Count(reply) => {
                        let _ = reply.send(side.len());
                    }
                    SpeechCommand::Talk(pace, reply) => {
                        let _ = reply.send(side.talk(pace).await);
                    }
                    SpeechCommand::Call(tool, count, reply) => {
                        let _ = reply.send(tools::call(&mut side, tool, count).await);
                    }
                }
            }
        }
    }
}

/// Client or provider, for the mask.
fn role(voice: SpeechRole) -> RawWebSocketRole {
    match voice {
        SpeechRole::Client => RawWebSocketRole::Client,
        SpeechRole::Provider => RawWebSocketRole::Server,
    }
}
