//! Connection to the provider: the one in use, and the one that is to replace it. Called by the
//! driver.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future;
use tollgate_mcp::web::DedicatedConnection;

use super::super::dial::DialedProvider;
use super::super::events::SuccessorState;
use super::super::session_request::DialFuture;
use super::super::wire::{MessageStream, SocketEvent, SocketSide, close, code};
use super::SessionClose;

/// Time for the provider to close a connection that is replaced: the caller waits for it.
const SWITCH_CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

/// A connection that was opened ahead of its use is dropped after this time.
const SUCCESSOR_TIMEOUT: Duration = Duration::from_secs(30);

/// State of the provider's connection.
pub(super) enum ProviderConnection {
    Here(SocketSide<MessageStream<DedicatedConnection>>),
    /// Reconnected at this time; the client waits until the state machine reports success.
    Returning(SocketSide<MessageStream<DedicatedConnection>>, Instant),
    /// The old connection is being closed, and a new one opened.
    Dialling(DialFuture, DialPurpose),
    /// It is gone, and the state machine has requested another one.
    Lost,
}

/// What a new connection is for.
pub(super) enum DialPurpose {
    /// To continue the session with these messages first.
    Resume(Vec<String>),
    /// To begin again: the connection knows nothing of the session.
    Restart,
}

/// A connection beside the one that is in use.
#[derive(Default)]
pub(super) enum Successor {
    #[default]
    None,
    Dialling(DialFuture),
    /// Since this time.
    Ready(Box<DialedProvider>, Instant),
}

impl ProviderConnection {
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Lost)
    }

    /// Replaces the connection by its successor, or by a new one. A provider refuses to resume a
    /// session that is still connected, so the old connection is closed before anything is sent on
    /// the new one.
    pub(super) fn replace(
        self,
        successor: Successor,
        redial: DialFuture,
        purpose: DialPurpose,
    ) -> Self {
        let old = match self {
            Self::Here(side) | Self::Returning(side, _) => Some(side),
            Self::Dialling(..) | Self::Lost => None,
        };
        let closed = async move {
            if let Some(old) = old {
                old.leave(close(code::NORMAL, ""), SWITCH_CLOSE_TIMEOUT).await;
            }
        };
        let opened = async move {
            match successor {
                Successor::Ready(dialed, _) => Ok(*dialed),
                Successor::Dialling(dialling) => match dialling.await {
                    Ok(dialed) => Ok(dialed),
                    Err(_) => redial.await,
                },
                Successor::None => redial.await,
            }
        };
        let dialling = async move { future::join(closed, opened).await.1 };
        Self::Dialling(dialling.boxed(), purpose)
    }
}

impl Successor {
    /// Drives one that is being opened. If that fails, the connection is opened when it is needed.
    pub(super) fn poll_open(
        &mut self,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Poll<SuccessorState> {
        let Self::Dialling(dialling) = self else { return Poll::Pending };
        let dialled = std::task::ready!(dialling.poll_unpin(context));
        *self = dialled.map_or(Self::None, |dialed| Self::Ready(Box::new(dialed), now));
        Poll::Ready(match self {
            Self::Ready(..) => SuccessorState::Ready,
            Self::None | Self::Dialling(_) => SuccessorState::Gone,
        })
    }

    /// Drops one that nobody came to need; `true` if there was one.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let is_old = matches!(self, Self::Ready(_, since)
            if now.saturating_duration_since(*since) > SUCCESSOR_TIMEOUT);
        if is_old {
            *self = Self::None;
        }
        is_old
    }
}

pub(super) fn connection_lost() -> SocketEvent {
    SocketEvent::Broken(close(code::FAULT, "the connection broke"))
}

/// How a session ends with its provider's connection, if nothing resumes it.
pub(super) fn provider_left(got: SocketEvent) -> SessionClose {
    match got {
        SocketEvent::Closed(with) => SessionClose { client: with.clone(), provider: with },
        SocketEvent::Broken(with) => {
            let reason = format!("the provider: {}", with.reason);
            SessionClose { client: close(code::FAULT, reason), provider: with }
        }
        SocketEvent::Message(_) => {
            SessionClose { client: close(code::NORMAL, ""), provider: close(code::NORMAL, "") }
        }
    }
}
