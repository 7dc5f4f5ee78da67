//! Event loop of a phone call: reads and writes Twilio's socket and the session's, which is within
//! this process. Each side that does not read stops the other one.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Interval, MissedTickBehavior, Sleep};
use tokio_tungstenite::tungstenite::Message;
use tollgate_llm::realtime::CloseReason;
use tollgate_llm::realtime::wire::{SocketEvent, SocketSide, close, code};

use super::call::{CallAction, TwilioCall};
use super::frames::TwilioFrame;

const LIVENESS_CHECK_INTERVAL: Duration = Duration::from_secs(5);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct CallDriver<T, S> {
    call: TwilioCall,
    twilio: SocketSide<T>,
    session: SocketSide<S>,
    look: Interval,
    wake: Option<(Instant, Pin<Box<Sleep>>)>,
    /// Polled first in turn, so that neither side is starved.
    is_twilios_turn: bool,
}

enum CallEvent {
    Twilio(SocketEvent),
    Session(SocketEvent),
    Wake,
    Look,
}

impl<T, S> CallDriver<T, S>
where
    T: AsyncRead + AsyncWrite + Unpin + Send,
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    pub(super) fn new(call: TwilioCall, twilio: SocketSide<T>, session: SocketSide<S>) -> Self {
        let mut look = tokio::time::interval(LIVENESS_CHECK_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { call, twilio, session, look, wake: None, is_twilios_turn: true }
    }

    /// Runs the call to its end. Both sockets are closed then.
    pub(super) async fn run(mut self, first: Vec<CallAction>, clock: impl Fn() -> Instant) {
        let ending = self.serve(first, clock).await;
        let session = self.session.leave(close(code::NORMAL, ""), CLOSE_TIMEOUT);
        futures_util::future::join(self.twilio.leave(ending, CLOSE_TIMEOUT), session).await;
    }

    async fn serve(&mut self, first: Vec<CallAction>, clock: impl Fn() -> Instant) -> CloseReason {
        let mut actions = first;
        loop {
            for action in std::mem::take(&mut actions) {
                match action {
                    CallAction::ToTwilio(text) => self.twilio.send(Message::text(text)),
                    CallAction::ToSession(text) => self.session.send(Message::text(text)),
                    CallAction::Close(with) => return with,
                }
            }
            self.set_alarm();
            let event = std::future::poll_fn(|context| self.poll_next(context, clock())).await;
            let now = clock();
            match event {
                CallEvent::Twilio(SocketEvent::Message(Message::Text(text))) => {
                    actions = self.call.on_twilio(TwilioFrame::parse(&text), now);
                }
                CallEvent::Twilio(SocketEvent::Message(_)) => {
                    return close(code::POLICY, "Media Streams are text, not binary");
                }
                CallEvent::Session(SocketEvent::Message(message)) => {
                    let text = message.to_text().unwrap_or_default();
                    actions = self.call.on_session(text, now);
                }
                CallEvent::Twilio(SocketEvent::Closed(_)) => return close(code::NORMAL, ""),
                CallEvent::Twilio(SocketEvent::Broken(with)) => return with,
                CallEvent::Session(SocketEvent::Closed(with) | SocketEvent::Broken(with)) => {
                    return with;
                }
                CallEvent::Wake => {
                    self.wake = None;
                    actions = self.call.on_time(now);
                }
                CallEvent::Look => {
                    if let Some(with) = self.twilio.look(now).or_else(|| self.session.look(now)) {
                        return with;
                    }
                }
            }
        }
    }

    fn set_alarm(&mut self) {
        let moment = self.call.wakes();
        if self.wake.as_ref().map(|(at, _)| *at) != moment {
            let sleep = |at: Instant| Box::pin(tokio::time::sleep_until(at.into()));
            self.wake = moment.map(|at| (at, sleep(at)));
        }
    }

    fn poll_next(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<CallEvent> {
        let broken = || SocketEvent::Broken(close(code::FAULT, "the connection broke"));
        if self.twilio.poll_send(context, now).is_ready() {
            return Poll::Ready(CallEvent::Twilio(broken()));
        }
        if self.session.poll_send(context, now).is_ready() {
            return Poll::Ready(CallEvent::Session(broken()));
        }
        if let Some((_, sleep)) = &mut self.wake
            && sleep.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(CallEvent::Wake);
        }
        if self.look.poll_tick(context).is_ready() {
            return Poll::Ready(CallEvent::Look);
        }
        self.is_twilios_turn = !self.is_twilios_turn;
        for is_twilio in [self.is_twilios_turn, !self.is_twilios_turn] {
            let polled = if is_twilio {
                self.poll_twilio(context, now)
            } else {
                self.poll_session(context, now)
            };
            if polled.is_ready() {
                return polled;
            }
        }
        Poll::Pending
    }

    fn poll_twilio(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<CallEvent> {
        if self.session.is_full() {
            return Poll::Pending;
        }
        self.twilio.poll_receive(context, now).map(CallEvent::Twilio)
    }

    fn poll_session(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<CallEvent> {
        if self.twilio.is_full() {
            return Poll::Pending;
        }
        self.session.poll_receive(context, now).map(CallEvent::Session)
    }
}
