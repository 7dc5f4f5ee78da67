//! Session driver: the event loop of a realtime session. Reads and writes both sockets, and polls
//! the background work. One task, no locks; it only ever waits for the next event.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior, Sleep};
use tokio_tungstenite::tungstenite::Message;
use tollgate_core::secret_values;
use tollgate_mcp::offload::{LARGE, LargeWorkGuard};
use tollgate_mcp::web::DedicatedConnection;

use super::dial::DialedProvider;
use super::events::{CloseReason, SuccessorState};
use super::session::{BackgroundEvent, DriverCommand, RealtimeSession};
use super::session_registry::{SessionCommand, SessionEnds};
use super::wire::{MessageStream, SocketEvent, SocketSide, close, code};
use crate::error::LlmError;

mod provider_connection;
mod takeover;

use provider_connection::{
    DialPurpose, ProviderConnection, Successor, connection_lost, provider_left,
};

/// Interval of liveness checks on idle sides.
const LIVENESS_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Lower bound between two wake-ups of a state machine.
const MIN_WAKE_INTERVAL: Duration = Duration::from_millis(5);
/// Time for a side to close its connection after the close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

struct SessionDriver<S> {
    session: RealtimeSession,
    client: SocketSide<S>,
    provider: ProviderConnection,
    successor: Successor,
    orders: mpsc::Receiver<SessionCommand>,
    ends: SessionEnds,
    leaving: Option<DeferredClose>,
    changes: BoxFuture<'static, watch::Receiver<u64>>,
    look: Interval,
    /// When the state machine is to be woken.
    wake: Option<(Instant, Pin<Box<Sleep>>)>,
    /// When it was woken last.
    woken: Instant,
    turn: SessionSide,
    /// Held while the client's configuration is large.
    large_config: Option<LargeWorkGuard>,
}

/// A session that closes at the end of its turn.
struct DeferredClose {
    /// `None`: there was no turn.
    turn: Option<u64>,
    with: CloseReason,
    /// The client has been told that the session ends, and has this long to leave by itself.
    not_before: Instant,
}

/// The side that was read last: the other one is polled first, so that neither is starved.
#[derive(Clone, Copy)]
enum SessionSide {
    Client,
    Provider,
}

/// The next event.
enum DriverEvent {
    Client(SocketEvent),
    Provider(SocketEvent),
    Dialled(Result<Box<DialedProvider>, LlmError>),
    Successor(SuccessorState),
    Inner(BackgroundEvent),
    Order(SessionCommand),
    Changed(watch::Receiver<u64>),
    Wake,
    Look,
    Ends(CloseReason),
    EndsAfterTurn(CloseReason),
}

/// How a session ends: the close reason for each side.
struct SessionClose {
    client: CloseReason,
    provider: CloseReason,
}

/// What a session is driven by.
pub(super) struct DriverInputs<S> {
    pub(super) client: SocketSide<S>,
    pub(super) provider: SocketSide<MessageStream<DedicatedConnection>>,
    /// The provider's first message, if it was read before.
    pub(super) greeting: Option<Message>,
    /// The client's.
    pub(super) first: Option<Message>,
    pub(super) orders: mpsc::Receiver<SessionCommand>,
    pub(super) ends: SessionEnds,
}

/// Runs a session to its end. Not an `async fn`: the state, which is large, would be in the future
/// of the session several times, and thousands of sessions wait at once.
pub(super) fn drive<S>(
    session: RealtimeSession,
    inputs: DriverInputs<S>,
) -> impl Future<Output = CloseReason> + Send
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let DriverInputs { client, provider, greeting, first, orders, ends } = inputs;
    let mut look = tokio::time::interval(LIVENESS_CHECK_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let changes = next_change(session.session_registry().gate.changes());
    let woken = session.now();
    let mut driver = Box::new(SessionDriver {
        session,
        client,
        provider: ProviderConnection::Here(provider),
        successor: Successor::None,
        orders,
        ends,
        leaving: None,
        changes,
        look,
        wake: None,
        woken,
        turn: SessionSide::Client,
        large_config: None,
    });
    let now = driver.session.now();
    if let Some(greeting) = greeting {
        driver.session.on_provider_message(greeting, now);
    }
    if let Some(first) = first {
        driver.client_said(first, now);
    }
    async move {
        let ending = driver.run().await;
        Box::pin(driver.close(ending)).await
    }
}

/// Closes a session that cannot start.
pub(super) async fn turn_away<S>(
    client: SocketSide<S>,
    provider: SocketSide<MessageStream<DedicatedConnection>>,
    with: CloseReason,
) -> CloseReason
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let goodbye = provider.leave(close(code::NORMAL, ""), CLOSE_TIMEOUT);
    futures_util::future::join(client.leave(with.clone(), CLOSE_TIMEOUT), goodbye).await;
    with
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> SessionDriver<S> {
    /// Closes both sides. Returns the close reason sent to the client.
    async fn close(self: Box<Self>, ending: SessionClose) -> CloseReason {
        let now = self.session.now();
        let Self { session, client, provider, .. } = *self;
        session.end(now);
        let reason = ending.client.clone();
        let goodbye = async {
            if let ProviderConnection::Here(side) | ProviderConnection::Returning(side, _) =
                provider
            {
                side.leave(ending.provider, CLOSE_TIMEOUT).await;
            }
        };
        futures_util::future::join(client.leave(ending.client, CLOSE_TIMEOUT), goodbye).await;
        reason
    }

    async fn run(&mut self) -> SessionClose {
        loop {
            if let Some(ending) = self.put_all() {
                return ending;
            }
            let now = self.session.now();
            if let Some(leaving) =
                self.leaving.take_if(|it| it.not_before <= now && self.session.may_leave(it.turn))
            {
                let provider = close(code::GOING_AWAY, "");
                return SessionClose { client: leaving.with, provider };
            }
            self.set_alarm();
            let happening = std::future::poll_fn(|context| self.poll_next(context)).await;
            let now = self.session.now();
            match happening {
                DriverEvent::Client(SocketEvent::Message(message)) => {
                    self.client_said(message, now)
                }
                DriverEvent::Provider(SocketEvent::Message(message)) => {
                    self.session.on_provider_message(message, now);
                }
                DriverEvent::Client(gone) => return client_left(gone),
                DriverEvent::Provider(gone) => {
                    let left = provider_left(gone);
                    if !self.session.survives_provider(&left.provider, now) {
                        // What is left of it is for the client.
                        let _ = self.put_all();
                        return left;
                    }
                    self.provider = ProviderConnection::Lost;
                }
                DriverEvent::Dialled(dialled) => {
                    if let Some(ending) = self.finish_dial(dialled, now) {
                        return ending;
                    }
                }
                DriverEvent::Successor(state) => self.session.successor(state, now),
                DriverEvent::Inner(inner) => self.session.inner(inner, now),
                DriverEvent::Order(order) => self.session.run_command(order, now),
                DriverEvent::Changed(changes) => {
                    self.changes = next_change(changes);
                    self.session.refresh(now);
                }
                DriverEvent::Wake => {
                    (self.wake, self.woken) = (None, now);
                    self.session.time(now);
                }
                DriverEvent::Look => {
                    if let Some(ending) = self.look_after(now) {
                        return ending;
                    }
                }
                DriverEvent::Ends(with) => {
                    return SessionClose { client: with, provider: close(code::GOING_AWAY, "") };
                }
                DriverEvent::EndsAfterTurn(with) => {
                    self.ends.after_turn = std::future::pending().boxed();
                    self.leave_after_turn(with, now);
                }
            }
        }
    }

    /// Performs what the session has decided.
    fn put_all(&mut self) -> Option<SessionClose> {
        while let Some(out) = self.session.next_out() {
            if let Some(ending) = self.put(out) {
                return Some(ending);
            }
        }
        None
    }

    fn client_said(&mut self, message: Message, now: Instant) {
        self.session.on_client_message(message, now);
        if self.session.config_bytes() <= LARGE {
            self.large_config = None;
        } else if self.large_config.is_none() {
            self.large_config = Some(self.client.large_work().begin());
        }
    }

    fn put(&mut self, out: DriverCommand) -> Option<SessionClose> {
        match out {
            DriverCommand::ToClient(message) => self.client.send(mask_secrets(message)),
            DriverCommand::ToProvider(message) => match &mut self.provider {
                ProviderConnection::Here(side) | ProviderConnection::Returning(side, _) => {
                    side.send(message)
                }
                // It was meant for the old connection.
                ProviderConnection::Dialling(..) | ProviderConnection::Lost => {}
            },
            DriverCommand::PrepareReconnect => {
                let dialling = self.session.session_request().dial_again();
                self.successor = Successor::Dialling(dialling);
            }
            DriverCommand::Reconnect(first) => {
                let redial = self.session.session_request().redial_later();
                let successor = std::mem::take(&mut self.successor);
                let purpose = DialPurpose::Resume(first);
                self.provider = self.provider.take().replace(successor, redial, purpose);
            }
            DriverCommand::Replace { dial, keeps_successor } => {
                let successor = std::mem::take(&mut self.successor);
                let successor = if keeps_successor { successor } else { Successor::None };
                let old = self.provider.take();
                self.provider = old.replace(successor, dial, DialPurpose::Restart);
            }
            DriverCommand::Reconnected => {
                self.provider = match self.provider.take() {
                    ProviderConnection::Returning(side, _) => ProviderConnection::Here(side),
                    other => other,
                };
            }
            DriverCommand::Close(mut with) => {
                with.reason = secret_values::mask_owned(with.reason);
                return Some(SessionClose { client: with, provider: close(code::NORMAL, "") });
            }
        }
        None
    }

    /// Timers are expensive: one is set only when the wake-up time changes.
    fn set_alarm(&mut self) {
        let leaves = self.leaving.as_ref().map(|leaving| leaving.not_before);
        let leaves = leaves.filter(|at| *at > self.woken);
        let moment = self.session.wakes().into_iter().chain(leaves).min();
        if self.wake.as_ref().map(|(at, _)| *at) != moment {
            // A state machine that requests the same time again and again must not cause a busy
            // loop.
            let earliest = self.woken + MIN_WAKE_INTERVAL;
            let sleep = |at: Instant| tokio::time::sleep_until(at.max(earliest).into());
            self.wake = moment.map(|at| (at, Box::pin(sleep(at))));
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<DriverEvent> {
        let now = self.session.now();
        if let Poll::Ready(with) = self.ends.at_once.poll_unpin(context) {
            return Poll::Ready(DriverEvent::Ends(with));
        }
        if let Poll::Ready(with) = self.ends.after_turn.poll_unpin(context) {
            return Poll::Ready(DriverEvent::EndsAfterTurn(with));
        }
        if self.client.poll_send(context, now).is_ready() {
            return Poll::Ready(DriverEvent::Client(connection_lost()));
        }
        match &mut self.provider {
            ProviderConnection::Here(side) | ProviderConnection::Returning(side, _) => {
                if side.poll_send(context, now).is_ready() {
                    return Poll::Ready(DriverEvent::Provider(connection_lost()));
                }
            }
            ProviderConnection::Lost => {}
            ProviderConnection::Dialling(dialling, _) => {
                if let Poll::Ready(dialled) = dialling.poll_unpin(context) {
                    return Poll::Ready(DriverEvent::Dialled(dialled.map(Box::new)));
                }
            }
        }
        if let Poll::Ready(state) = self.successor.poll_open(context, now) {
            return Poll::Ready(DriverEvent::Successor(state));
        }
        if let Poll::Ready(inner) = self.session.poll_inner(context) {
            return Poll::Ready(DriverEvent::Inner(inner));
        }
        if let Poll::Ready(Some(order)) = self.orders.poll_recv(context) {
            return Poll::Ready(DriverEvent::Order(order));
        }
        if let Poll::Ready(changes) = self.changes.poll_unpin(context) {
            return Poll::Ready(DriverEvent::Changed(changes));
        }
        if let Some((_, sleep)) = &mut self.wake
            && sleep.poll_unpin(context).is_ready()
        {
            return Poll::Ready(DriverEvent::Wake);
        }
        if self.look.poll_tick(context).is_ready() {
            return Poll::Ready(DriverEvent::Look);
        }
        // Polled last: a side that sends without pause must not starve anything else.
        self.poll_sides(context, now)
    }

    fn poll_sides(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<DriverEvent> {
        let order = match self.turn {
            SessionSide::Client => [SessionSide::Provider, SessionSide::Client],
            SessionSide::Provider => [SessionSide::Client, SessionSide::Provider],
        };
        for whose in order {
            let polled = match whose {
                SessionSide::Client => self.poll_client(context, now).map(DriverEvent::Client),
                SessionSide::Provider => {
                    self.poll_provider(context, now).map(DriverEvent::Provider)
                }
            };
            if polled.is_ready() {
                self.turn = whose;
                return polled;
            }
        }
        Poll::Pending
    }

    /// Back-pressure: does not read the client while the provider's send queue is full.
    fn poll_client(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<SocketEvent> {
        match &self.provider {
            // Replies to the client need room as well.
            ProviderConnection::Here(side) if !side.is_full() && !self.client.is_full() => {
                self.client.poll_receive(context, now)
            }
            ProviderConnection::Here(_)
            | ProviderConnection::Returning(..)
            | ProviderConnection::Dialling(..)
            | ProviderConnection::Lost => Poll::Pending,
        }
    }

    /// Back-pressure: does not read the provider while the client's send queue is full.
    fn poll_provider(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<SocketEvent> {
        match &mut self.provider {
            ProviderConnection::Here(side) | ProviderConnection::Returning(side, _)
                if !self.client.is_full() =>
            {
                side.poll_receive(context, now)
            }
            ProviderConnection::Here(_)
            | ProviderConnection::Returning(..)
            | ProviderConnection::Dialling(..)
            | ProviderConnection::Lost => Poll::Pending,
        }
    }
}

fn next_change(mut changes: watch::Receiver<u64>) -> BoxFuture<'static, watch::Receiver<u64>> {
    async move {
        match changes.changed().await {
            Ok(()) => changes,
            Err(_) => std::future::pending().await,
        }
    }
    .boxed()
}

/// A provider may quote its key, and its messages reach the client unchanged.
fn mask_secrets(message: Message) -> Message {
    let masked = match &message {
        Message::Text(text) => secret_values::mask(text),
        _ => return message,
    };
    match masked {
        Cow::Owned(masked) => Message::text(masked),
        Cow::Borrowed(_) => message,
    }
}

fn client_left(got: SocketEvent) -> SessionClose {
    match got {
        SocketEvent::Closed(with) => SessionClose { client: with.clone(), provider: with },
        SocketEvent::Broken(with) => {
            SessionClose { client: with, provider: close(code::GOING_AWAY, "") }
        }
        SocketEvent::Message(_) => {
            SessionClose { client: close(code::NORMAL, ""), provider: close(code::NORMAL, "") }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_tungstenite::tungstenite::Message;
    use tollgate_core::secret_values;

    use super::mask_secrets;

    #[test]
    fn s_23_what_a_provider_says_reaches_a_client_without_its_key() {
        secret_values::configure(["sk-canary-of-a-live-session"]);
        let message =
            Message::text(r#"{"type":"error","message":"bad key sk-canary-of-a-live-session"}"#);
        let expected = r#"{"type":"error","message":"bad key [masked:secret]"}"#;
        assert_eq!(mask_secrets(message), Message::text(expected));
        let sound = Message::binary(b"sk-canary-of-a-live-session".to_vec());
        assert_eq!(mask_secrets(sound.clone()), sound);
    }
}
