//! Live speech as it is measured: many sessions at once whose both ends are in this process, so
//! that one clock says how long a frame of audio was on its way. One end is here, with the
//! clients; the other is on a thread of its own, with the provider.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tollgate_testkit::ws::{Asked, Role, Wire};

use crate::samples::Samples;
use crate::trouble::{Trouble, within};

mod frames;
mod side;
mod tools;

use frames::Voice;
use side::Side;

const PATIENCE: Duration = Duration::from_secs(30);

/// What was measured while everybody talked.
#[derive(Debug)]
pub(crate) struct Talked {
    /// How long frames were on their way, in both directions.
    pub(crate) delays: Samples,
    /// Frames that were to be sent.
    pub(crate) due: u64,
}

impl Talked {
    /// Whether nearly all frames were sent and heard.
    pub(crate) fn kept_up(&self) -> bool {
        self.delays.len() as f64 >= 0.97 * self.due as f64
    }
}

/// How everybody talks: so many frames a second on each line, in each direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) frames_per_second: f64,
    pub(crate) lasts: Duration,
}

/// A provider on a thread of its own. Ends when dropped.
pub(crate) struct Studio {
    pub(crate) address: SocketAddr,
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<thread::JoinHandle<()>>,
}

enum Order {
    /// Says how many sessions are open.
    Count(oneshot::Sender<usize>),
    Talk(Pace, oneshot::Sender<Result<Talked, Trouble>>),
    /// Has the model of the first session call `tool` so many times.
    Call(&'static str, usize, oneshot::Sender<Result<Samples, Trouble>>),
}

impl Studio {
    pub(crate) fn start() -> Result<Self, Trouble> {
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
    ) -> Result<Clients, Trouble> {
        let mut side = Side::new(Voice::Client);
        for _ in 0..sessions {
            let wire = Wire::dial(address, "/v1/realtime?model=bench", &[]);
            let wire = within(PATIENCE, "opening a session", async {
                wire.await.map_err(|refused| Trouble::Process(format!("{refused:?}")))
            });
            side.take(wire.await?);
        }
        within(PATIENCE, "waiting for all sessions", async {
            while self.count().await? != sessions {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        })
        .await?;
        Ok(Clients { side })
    }

    /// Sessions that are open.
    pub(crate) async fn count(&self) -> Result<usize, Trouble> {
        self.order(Order::Count).await
    }

    /// Both ends of all sessions talk at the same time.
    pub(crate) async fn talk(&self, clients: &mut Clients, pace: Pace) -> Result<Talked, Trouble> {
        let there = self.order(|reply| Order::Talk(pace, reply));
        let (here, there) = tokio::join!(clients.side.talk(pace), there);
        let (here, there) = (here?, there??);
        Ok(Talked { due: here.due + there.due, delays: here.delays.and(there.delays) })
    }

    /// How long the answers to calls of a tool took.
    pub(crate) async fn call(&self, tool: &'static str, count: usize) -> Result<Samples, Trouble> {
        self.order(|reply| Order::Call(tool, count, reply)).await?
    }

    async fn order<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<T>) -> Order,
    ) -> Result<T, Trouble> {
        let gone = || Trouble::Process("the studio is gone".to_owned());
        let (reply, replied) = oneshot::channel();
        let orders = self.orders.as_ref().ok_or_else(gone)?;
        orders.send(order(reply)).await.map_err(|_| gone())?;
        replied.await.map_err(|_| gone())
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The other end of all sessions.
pub(crate) struct Clients {
    side: Side,
}

/// Takes sessions and orders until nobody gives any more.
async fn hold(listener: TcpListener, mut orders: mpsc::Receiver<Order>) {
    let mut side = Side::new(Voice::Provider);
    let opening = Arc::new(Mutex::new(Vec::new()));
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                if let Some(asked) = Asked::read(stream).await
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
                    Order::Count(reply) => {
                        let _ = reply.send(side.len());
                    }
                    Order::Talk(pace, reply) => {
                        let _ = reply.send(side.talk(pace).await);
                    }
                    Order::Call(tool, count, reply) => {
                        let _ = reply.send(tools::call(&mut side, tool, count).await);
                    }
                }
            }
        }
    }
}

/// Client or provider, for the mask.
fn role(voice: Voice) -> Role {
    match voice {
        Voice::Client => Role::Client,
        Voice::Provider => Role::Server,
    }
}
