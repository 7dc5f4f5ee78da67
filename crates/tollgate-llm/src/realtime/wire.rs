//! One side of a realtime session, with back-pressure: a WebSocket and its send queue. A side that
//! does not read blocks the other side. Independent of the dialect.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_util::{Sink, Stream};
use tokio::io::{AsyncRead, AsyncWrite, Empty};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tollgate_core::json::JsonBounds;
use tollgate_mcp::offload::{LARGE, LargeWork, LargeWorkGuard};

use super::events::CloseReason;
pub use crate::provider::{MessageStream, socket_config as config};

/// Size limit of the send queue to a side that does not read; beyond it the other side is not read.
const MAX_WAITING_BYTES: usize = 256 << 10;
/// A side that accepts no data for this long is closed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const PING_INTERVAL: Duration = Duration::from_secs(25);
/// A side that sends nothing for this long, not even pongs, is dead.
const READ_TIMEOUT: Duration = Duration::from_secs(80);
/// Maximum pings between two liveness checks.
const MAX_PINGS_PER_CHECK: u32 = 1_000;

/// Close codes of RFC 6455 that we send.
pub mod code {
    pub const NORMAL: u16 = 1000;
    pub const GOING_AWAY: u16 = 1001;
    pub const PROTOCOL: u16 = 1002;
    pub const BAD_TEXT: u16 = 1007;
    pub const POLICY: u16 = 1008;
    pub const TOO_BIG: u16 = 1009;
    pub const FAULT: u16 = 1011;
    pub const TRY_LATER: u16 = 1013;
}

pub struct SocketSide<S> {
    /// `None`: nobody is there. What is sent is dropped, and nothing ever comes.
    socket: Option<WebSocketStream<S>>,
    waiting: VecDeque<Message>,
    waiting_bytes: usize,
    /// Whether data may still be unflushed.
    is_dirty: bool,
    large_work: LargeWork,
    /// Guard of a large message, held until everything is sent.
    sending_large: Option<LargeWorkGuard>,
    last_read: Instant,
    moved: Instant,
    pinged: Instant,
    pings: u32,
}

/// An event of a socket.
#[derive(Debug)]
pub enum SocketEvent {
    /// Text or binary.
    Message(Message),
    /// It sent a close frame.
    Closed(CloseReason),
    /// The connection is lost, or sent invalid data: the close reason to send.
    Broken(CloseReason),
}

impl<S: AsyncRead + AsyncWrite + Unpin> SocketSide<S> {
    pub fn new(socket: WebSocketStream<S>, large_work: LargeWork, now: Instant) -> Self {
        Self::with(Some(socket), large_work, now)
    }

    fn with(socket: Option<WebSocketStream<S>>, large_work: LargeWork, now: Instant) -> Self {
        Self {
            socket,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            is_dirty: false,
            large_work,
            sending_large: None,
            last_read: now,
            moved: now,
            pinged: now,
            pings: 0,
        }
    }

    pub fn large_work(&self) -> &LargeWork {
        &self.large_work
    }

    pub fn send(&mut self, message: Message) {
        if self.socket.is_none() {
            return;
        }
        if message.len() > LARGE && self.sending_large.is_none() {
            self.sending_large = Some(self.large_work.begin());
        }
        self.waiting_bytes += message.len();
        self.waiting.push_back(message);
    }

    /// Whether the send queue is full, so that the other side must wait.
    pub fn is_full(&self) -> bool {
        self.waiting_bytes > MAX_WAITING_BYTES
    }

    /// Sends the queue. Ready only when the connection is broken.
    pub fn poll_send(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<Error> {
        if self.sending_large.is_some() {
            // Masking, copying and writing it would block other tasks on this thread for too long.
            ready!(self.large_work.poll_moved(context));
        }
        let Some(socket) = &mut self.socket else { return Poll::Pending };
        while !self.waiting.is_empty() {
            if let Err(error) = ready!(Pin::new(&mut *socket).poll_ready(context)) {
                return Poll::Ready(error);
            }
            let Some(message) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= message.len();
            self.moved = now;
            self.is_dirty = true;
            if let Err(error) = Pin::new(&mut *socket).start_send(message) {
                return Poll::Ready(error);
            }
        }
        if self.is_dirty {
            match ready!(Pin::new(&mut *socket).poll_flush(context)) {
                Ok(()) => {
                    self.is_dirty = false;
                    self.sending_large = None;
                    self.moved = now;
                }
                Err(error) => return Poll::Ready(error),
            }
        }
        Poll::Pending
    }

    pub fn poll_receive(&mut self, context: &mut Context<'_>, now: Instant) -> Poll<SocketEvent> {
        let Some(socket) = &mut self.socket else { return Poll::Pending };
        loop {
            let got = ready!(Pin::new(&mut *socket).poll_next(context));
            self.last_read = now;
            return Poll::Ready(match got {
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => {
                    check_json_bounds(message)
                }
                Some(Ok(Message::Close(frame))) => SocketEvent::Closed(close_reason(frame)),
                Some(Ok(Message::Ping(_))) => {
                    self.pings += 1;
                    if self.pings > MAX_PINGS_PER_CHECK {
                        return Poll::Ready(broken_event(code::POLICY, "too many pings"));
                    }
                    continue;
                }
                Some(Ok(Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Err(error)) => protocol_error_event(&error),
                None => broken_event(code::FAULT, "the connection broke"),
            });
        }
    }

    /// Liveness check of an idle side; returns what is wrong with it.
    pub fn look(&mut self, now: Instant) -> Option<CloseReason> {
        self.socket.as_ref()?;
        self.pings = 0;
        let is_waiting = self.is_dirty || !self.waiting.is_empty();
        if is_waiting && now.saturating_duration_since(self.moved) > WRITE_TIMEOUT {
            return Some(close(code::TRY_LATER, "too slow to receive"));
        }
        if now.saturating_duration_since(self.last_read) > READ_TIMEOUT {
            return Some(close(code::GOING_AWAY, "silent for too long"));
        }
        let is_quiet = now.saturating_duration_since(self.last_read) >= PING_INTERVAL;
        if is_quiet && now.saturating_duration_since(self.pinged) >= PING_INTERVAL {
            self.pinged = now;
            self.send(Message::Ping(Default::default()));
        }
        None
    }

    /// Sends a close frame and waits for the peer's, at most until `limit`.
    pub async fn leave(mut self, with: CloseReason, limit: Duration) {
        if self.socket.is_none() {
            return;
        }
        // The queue is sent first.
        self.send(Message::Close(Some(frame(&with))));
        let leaving = std::future::poll_fn(|context| {
            let now = self.last_read;
            if self.poll_send(context, now).is_ready() {
                return Poll::Ready(());
            }
            while let Poll::Ready(got) = self.poll_receive(context, now) {
                if !matches!(got, SocketEvent::Message(_)) {
                    return Poll::Ready(());
                }
            }
            Poll::Pending
        });
        let _ = tokio::time::timeout(limit, leaving).await;
        // Flushes the rest, such as the reply to a close frame.
        if let Some(socket) = &mut self.socket {
            let _ = tokio::time::timeout(limit, futures_util::SinkExt::close(socket)).await;
        }
    }
}

impl SocketSide<Empty> {
    /// The client's side of a call whose client is connected to the provider.
    pub(super) fn absent(large_work: LargeWork, now: Instant) -> Self {
        Self::with(None, large_work, now)
    }
}

/// Checks the number of values in a long message before it is parsed into a tree.
fn check_json_bounds(message: Message) -> SocketEvent {
    let bounds = JsonBounds { depth: usize::MAX, ..JsonBounds::default() };
    let data = match &message {
        // A text never has more values than bytes.
        message if message.len() <= bounds.values => &[],
        Message::Text(text) => text.as_bytes(),
        // Audio is not JSON; JSON starts with a brace.
        Message::Binary(bytes) if bytes.trim_ascii_start().starts_with(b"{") => &bytes[..],
        _ => &[],
    };
    match bounds.check(data) {
        Ok(_) => SocketEvent::Message(message),
        Err(error) => SocketEvent::Broken(close(code::TOO_BIG, error.to_string())),
    }
}

pub fn close(code: u16, reason: impl Into<String>) -> CloseReason {
    CloseReason { code, reason: reason.into() }
}

fn broken_event(code: u16, reason: &str) -> SocketEvent {
    SocketEvent::Broken(close(code, reason))
}

fn close_reason(frame: Option<CloseFrame>) -> CloseReason {
    frame.map_or_else(
        || close(code::NORMAL, ""),
        |frame| CloseReason { code: frame.code.into(), reason: frame.reason.as_str().to_owned() },
    )
}

/// Replaces codes that must not be sent, and truncates the reason to the allowed length.
fn frame(with: &CloseReason) -> CloseFrame {
    let code = CloseCode::from(with.code);
    let code = if code.is_allowed() { code } else { CloseCode::from(code::FAULT) };
    let reason = &with.reason[..with.reason.floor_char_boundary(123)];
    CloseFrame { code, reason: reason.into() }
}

fn protocol_error_event(error: &Error) -> SocketEvent {
    SocketEvent::Broken(error_reason(error))
}

/// The close reason that answers an error of a socket.
pub fn error_reason(error: &Error) -> CloseReason {
    match error {
        Error::Capacity(_) => close(code::TOO_BIG, "a message is too large"),
        Error::Utf8(_) => close(code::BAD_TEXT, "a text is not UTF-8"),
        // Nothing invalid was sent: the other side is gone.
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            close(code::FAULT, "the connection broke")
        }
        Error::Protocol(violation) => close(code::PROTOCOL, violation.to_string()),
        _ => close(code::FAULT, "the connection broke"),
    }
}
