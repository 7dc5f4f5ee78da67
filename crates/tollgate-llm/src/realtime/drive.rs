//! Drives a live session: reads both sockets, sends on both, and lets what runs beside them go on.
//! One task, no locks; nothing here waits for anything but the next thing that happens.

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
use tollgate_mcp::web::Line;

use super::events::CloseWith;
use super::hall::{Order, SessionEnds};
use super::session::{Inner, Out, Session};
use super::wire::{Got, Side, close, code};
use crate::failure::Failure;
use crate::provider::Socket;

/// How often quiet sides are looked after.
const LOOK: Duration = Duration::from_secs(5);
/// Until a new connection has become what the old one was.
const RETURN: Duration = Duration::from_secs(10);
/// However often a machine wants to be woken.
const BETWEEN_WAKES: Duration = Duration::from_millis(5);
/// Until a side that was told goodbye has to be gone.
const GOODBYE: Duration = Duration::from_secs(2);

struct Driver<S> {
    session: Session,
    client: Side<S>,
    provider: Provider,
    orders: mpsc::Receiver<Order>,
    ends: SessionEnds,
    leaving: Option<Leaving>,
    changes: BoxFuture<'static, watch::Receiver<u64>>,
    look: Interval,
    /// When the machine wants to be woken.
    wake: Option<(Instant, Pin<Box<Sleep>>)>,
    /// When it last was.
    woken: Instant,
    turn: Whose,
}

/// A session that ends when its turn does.
struct Leaving {
    /// `None`: there was no turn.
    turn: Option<u64>,
    with: CloseWith,
}

/// The provider's side.
enum Provider {
    Here(Side<Line>),
    /// Since then; until its machine says so, the client waits.
    Returning(Side<Line>, Instant),
    /// A new connection is being made; these go first on it.
    Dialling(BoxFuture<'static, Result<Socket, Failure>>, Vec<String>),
}

/// Who was heard last: the other is looked for first, so that nobody can be talked down.
#[derive(Clone, Copy)]
enum Whose {
    Client,
    Provider,
}

/// The next thing that happens.
enum Happening {
    Client(Got),
    Provider(Got),
    Dialled(Result<Box<Socket>, Failure>),
    Inner(Inner),
    Order(Order),
    Changed(watch::Receiver<u64>),
    Wake,
    Look,
    Ends(CloseWith),
    EndsAfterTurn(CloseWith),
}

/// How a session ends: what each side is told.
struct Ending {
    client: CloseWith,
    provider: CloseWith,
}

pub(super) async fn drive<S>(
    session: Session,
    (client, provider): (Side<S>, Side<Line>),
    first: Option<Message>,
    (orders, ends): (mpsc::Receiver<Order>, SessionEnds),
) -> CloseWith
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let changes = changed(session.hall().gate.changes());
    let woken = session.now();
    let mut driver = Driver {
        session,
        client,
        provider: Provider::Here(provider),
        orders,
        ends,
        leaving: None,
        changes,
        look,
        wake: None,
        woken,
        turn: Whose::Client,
    };
    if let Some(first) = first {
        let now = driver.session.now();
        driver.session.client_said(first, now);
    }
    let ending = driver.run().await;
    let now = driver.session.now();
    let Driver { session, client, provider, .. } = driver;
    session.end(now);
    let told = ending.client.clone();
    let goodbye = async {
        if let Provider::Here(side) | Provider::Returning(side, _) = provider {
            side.leave(ending.provider, GOODBYE).await;
        }
    };
    futures_util::future::join(client.leave(ending.client, GOODBYE), goodbye).await;
    told
}

/// A session that cannot begin.
pub(super) async fn turn_away<S>(
    (client, provider): (Side<S>, Side<Line>),
    with: CloseWith,
) -> CloseWith
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let goodbye = provider.leave(close(code::NORMAL, ""), GOODBYE);
    futures_util::future::join(client.leave(with.clone(), GOODBYE), goodbye).await;
    with
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Driver<S> {
    async fn run(&mut self) -> Ending {
        loop {
            while let Some(out) = self.session.next_out() {
                if let Some(ending) = self.put(out) {
                    return ending;
                }
            }
            if let Some(leaving) = self.leaving.take_if(|it| self.session.may_leave(it.turn)) {
                let provider = close(code::GOING_AWAY, "");
                return Ending { client: leaving.with, provider };
            }
            self.set_alarm();
            let happening = std::future::poll_fn(|context| self.poll_next(context)).await;
            let now = self.session.now();
            match happening {
                Happening::Client(Got::Message(message)) => self.session.client_said(message, now),
                Happening::Provider(Got::Message(message)) => {
                    self.session.provider_said(message, now);
                }
                Happening::Client(gone) => return client_left(gone),
                Happening::Provider(gone) => return provider_left(gone),
                Happening::Dialled(dialled) => {
                    if let Some(ending) = self.dialled(dialled, now) {
                        return ending;
                    }
                }
                Happening::Inner(inner) => self.session.inner(inner, now),
                Happening::Order(order) => self.session.ordered(order, now),
                Happening::Changed(changes) => {
                    self.changes = changed(changes);
                    self.session.refresh(now);
                }
                Happening::Wake => {
                    (self.wake, self.woken) = (None, now);
                    self.session.time(now);
                }
                Happening::Look => {
                    if let Some(ending) = self.look_after(now) {
                        return ending;
                    }
                }
                Happening::Ends(with) => {
                    return Ending { client: with, provider: close(code::GOING_AWAY, "") };
                }
                Happening::EndsAfterTurn(with) => {
                    self.ends.after_turn = std::future::pending().boxed();
                    self.leaving = Some(Leaving { turn: self.session.running_turn(), with });
                }
            }
        }
    }

    fn put(&mut self, out: Out) -> Option<Ending> {
        match out {
            Out::ToClient(message) => self.client.send(masked(message)),
            Out::ToProvider(message) => match &mut self.provider {
                Provider::Here(side) | Provider::Returning(side, _) => side.send(message),
                // It was meant for the connection that is gone.
                Provider::Dialling(..) => {}
            },
            Out::Reconnect(first) => {
                let dialling = self.session.visit().dialled_again();
                self.provider = Provider::Dialling(dialling, first);
            }
            Out::Reconnected => {
                let dialling = Provider::Dialling(std::future::pending().boxed(), Vec::new());
                self.provider = match std::mem::replace(&mut self.provider, dialling) {
                    Provider::Returning(side, _) => Provider::Here(side),
                    other => other,
                };
            }
            Out::Close(mut with) => {
                with.reason = secret_values::masked(with.reason);
                return Some(Ending { client: with, provider: close(code::NORMAL, "") });
            }
        }
        None
    }

    fn dialled(&mut self, dialled: Result<Box<Socket>, Failure>, now: Instant) -> Option<Ending> {
        let first = match &mut self.provider {
            Provider::Dialling(_, first) => std::mem::take(first),
            Provider::Here(_) | Provider::Returning(..) => Vec::new(),
        };
        match dialled {
            Ok(socket) => {
                let mut side = Side::new(*socket, now);
                for text in first {
                    side.send(Message::text(text));
                }
                self.provider = Provider::Returning(side, now);
                None
            }
            Err(failure) => {
                let with = close(code::FAULT, failure.to_string());
                Some(Ending { client: with, provider: close(code::NORMAL, "") })
            }
        }
    }

    fn look_after(&mut self, now: Instant) -> Option<Ending> {
        if let Some(with) = self.client.look(now) {
            return Some(Ending { client: with, provider: close(code::GOING_AWAY, "") });
        }
        if let Provider::Returning(_, since) = &self.provider
            && now.saturating_duration_since(*since) > RETURN
        {
            let with = close(code::FAULT, "the provider did not take the session back");
            return Some(Ending { client: with, provider: close(code::NORMAL, "") });
        }
        let (Provider::Here(side) | Provider::Returning(side, _)) = &mut self.provider else {
            return None;
        };
        let with = side.look(now)?;
        let reason = format!("the provider is gone: {}", with.reason);
        Some(Ending { client: close(code::FAULT, reason), provider: with })
    }

    /// Timers cost: one is set only when the time to wake changes.
    fn set_alarm(&mut self) {
        let wanted = self.session.wakes();
        if self.wake.as_ref().map(|(at, _)| *at) != wanted {
            // A machine that wants the same time again and again must not keep the thread busy.
            let earliest = self.woken + BETWEEN_WAKES;
            let sleep = |at: Instant| tokio::time::sleep_until(at.max(earliest).into());
            self.wake = wanted.map(|at| (at, Box::pin(sleep(at))));
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        let now = self.session.now();
        if let Poll::Ready(with) = self.ends.at_once.poll_unpin(context) {
            return Poll::Ready(Happening::Ends(with));
        }
        if let Poll::Ready(with) = self.ends.after_turn.poll_unpin(context) {
            return Poll::Ready(Happening::EndsAfterTurn(with));
        }
        if self.client.poll_send(context, now).is_ready() {
            return Poll::Ready(Happening::Client(gone()));
        }
        match &mut self.provider {
            Provider::Here(side) | Provider::Returning(side, _) => {
                if side.poll_send(context, now).is_ready() {
                    return Poll::Ready(Happening::Provider(gone()));
                }
            }
            Provider::Dialling(dialling, _) => {
                if let Poll::Ready(dialled) = dialling.poll_unpin(context) {
                    return Poll::Ready(Happening::Dialled(dialled.map(Box::new)));
                }
            }
        }
        if let Poll::Ready(inner) = self.session.poll_inner(context) {
            return Poll::Ready(Happening::Inner(inner));
        }
        if let Poll::Ready(Some(order)) = self.orders.poll_recv(context) {
            return Poll::Ready(Happening::Order(order));
        }
        if let Poll::Ready(changes) = self.changes.poll_unpin(context) {
            return Poll::Ready(Happening::Changed(changes));
        }
        if let Some((_, sleep)) = &mut self.wake
            && sleep.poll_unpin(context).is_ready()
        {
            return Poll::Ready(Happening::Wake);
        }
        if self.look.poll_tick(context).is_ready() {
            return Poll::Ready(Happening::Look);
        }
        // Last: whoever talks without end keeps nothing else from its turn.
        self.poll_sides(context, now)
    }

    fn poll_sides(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<Happening> {
        let order = match self.turn {
            Whose::Client => [Whose::Provider, Whose::Client],
            Whose::Provider => [Whose::Client, Whose::Provider],
        };
        for whose in order {
            let polled = match whose {
                Whose::Client => self.poll_client(context, now).map(Happening::Client),
                Whose::Provider => self.poll_provider(context, now).map(Happening::Provider),
            };
            if polled.is_ready() {
                self.turn = whose;
                return polled;
            }
        }
        Poll::Pending
    }

    /// Not while the provider has no room for what the client says.
    fn poll_client(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<Got> {
        match &self.provider {
            // What it is told back needs room as well.
            Provider::Here(side) if !side.is_full() && !self.client.is_full() => {
                self.client.poll_receive(context, now)
            }
            Provider::Here(_) | Provider::Returning(..) | Provider::Dialling(..) => Poll::Pending,
        }
    }

    /// Not while the client has no room for what the provider says.
    fn poll_provider(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<Got> {
        match &mut self.provider {
            Provider::Here(side) | Provider::Returning(side, _) if !self.client.is_full() => {
                side.poll_receive(context, now)
            }
            Provider::Here(_) | Provider::Returning(..) | Provider::Dialling(..) => Poll::Pending,
        }
    }
}

fn changed(mut changes: watch::Receiver<u64>) -> BoxFuture<'static, watch::Receiver<u64>> {
    async move {
        match changes.changed().await {
            Ok(()) => changes,
            Err(_) => std::future::pending().await,
        }
    }
    .boxed()
}

/// A provider may repeat its key, and its words reach the client as they are.
fn masked(message: Message) -> Message {
    let masked = match &message {
        Message::Text(text) => secret_values::mask(text),
        _ => return message,
    };
    match masked {
        Cow::Owned(masked) => Message::text(masked),
        Cow::Borrowed(_) => message,
    }
}

fn gone() -> Got {
    Got::Broken(close(code::FAULT, "the connection broke"))
}

fn client_left(got: Got) -> Ending {
    match got {
        Got::Closed(with) => Ending { client: with.clone(), provider: with },
        Got::Broken(with) => Ending { client: with, provider: close(code::GOING_AWAY, "") },
        Got::Message(_) => {
            Ending { client: close(code::NORMAL, ""), provider: close(code::NORMAL, "") }
        }
    }
}

fn provider_left(got: Got) -> Ending {
    match got {
        Got::Closed(with) => Ending { client: with.clone(), provider: with },
        Got::Broken(with) => {
            let reason = format!("the provider: {}", with.reason);
            Ending { client: close(code::FAULT, reason), provider: with }
        }
        Got::Message(_) => {
            Ending { client: close(code::NORMAL, ""), provider: close(code::NORMAL, "") }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_tungstenite::tungstenite::Message;
    use tollgate_core::secret_values;

    use super::masked;

    #[test]
    fn s_23_what_a_provider_says_reaches_a_client_without_its_key() {
        secret_values::configure(["sk-canary-of-a-live-session"]);
        let said =
            Message::text(r#"{"type":"error","message":"bad key sk-canary-of-a-live-session"}"#);
        let expected = r#"{"type":"error","message":"bad key [masked:secret]"}"#;
        assert_eq!(masked(said), Message::text(expected));
        let sound = Message::binary(b"sk-canary-of-a-live-session".to_vec());
        assert_eq!(masked(sound.clone()), sound);
    }
}
