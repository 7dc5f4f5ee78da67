//! What becomes of a session whose connections change or end: a new provider's connection, a side that
//! is dead, a gateway that stops. Part of the driver.

use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::Message;

use super::super::dial::DialedProvider;
use super::super::events::{CloseReason, SuccessorState};
use super::super::protocol::RealtimeProtocol;
use super::super::wire::{SocketSide, close, code};
use super::provider_connection::{DialPurpose, ProviderConnection};
use super::{DeferredClose, SessionClose, SessionDriver};
use crate::error::LlmError;

/// Time for a client to act on the announcement that its session ends, if its protocol has one.
const FAREWELL_TIME: Duration = Duration::from_secs(2);

impl<S: AsyncRead + AsyncWrite + Unpin + Send> SessionDriver<S> {
    pub(super) fn leave_after_turn(&mut self, with: CloseReason, now: Instant) {
        let drain = self.ends.drain;
        self.session.leave_within(drain, now);
        let farewell = match self.session.session_request().live {
            RealtimeProtocol::Gemini => FAREWELL_TIME.min(drain),
            _ => Duration::ZERO,
        };
        let turn = self.session.running_turn();
        self.leaving = Some(DeferredClose { turn, with, not_before: now + farewell });
    }

    pub(super) fn finish_dial(
        &mut self,
        dialled: Result<Box<DialedProvider>, LlmError>,
        now: Instant,
    ) -> Option<SessionClose> {
        let ProviderConnection::Dialling(_, purpose) = self.provider.take() else { return None };
        let dialed = match dialled {
            Ok(dialed) => *dialed,
            Err(failure) => return self.fail_dial(&purpose, &failure, now),
        };
        let DialedProvider { mut socket, served, greeting } = dialed;
        let large_work = self.client.large_work();
        socket.get_mut().report_to(large_work);
        let mut side = SocketSide::new(socket, large_work.clone(), now);
        match purpose {
            DialPurpose::Resume(first) => {
                for text in first {
                    side.send(Message::text(text));
                }
                self.provider = ProviderConnection::Returning(side, now);
                self.session.served_by(&served);
            }
            DialPurpose::Restart => {
                self.provider = ProviderConnection::Returning(side, now);
                self.session.restart(&served, greeting, now);
            }
        }
        None
    }

    /// A session that cannot be resumed may begin again on another connection.
    fn fail_dial(
        &mut self,
        purpose: &DialPurpose,
        failure: &LlmError,
        now: Instant,
    ) -> Option<SessionClose> {
        let with = match purpose {
            DialPurpose::Resume(_) => {
                let with = close(code::FAULT, failure.to_string());
                if self.session.survives_provider(&with, now) {
                    return None;
                }
                with
            }
            DialPurpose::Restart => self.session.failover_failed(&failure.to_string()),
        };
        let _ = self.put_all();
        Some(SessionClose { client: with, provider: close(code::NORMAL, "") })
    }

    pub(super) fn look_after(&mut self, now: Instant) -> Option<SessionClose> {
        if let Some(with) = self.client.look(now) {
            return Some(SessionClose { client: with, provider: close(code::GOING_AWAY, "") });
        }
        if let ProviderConnection::Returning(_, since) = &self.provider
            && now.saturating_duration_since(*since)
                > self.session.session_request().connect_timeout()
        {
            let with = close(code::FAULT, "the provider did not resume the session");
            if self.session.survives_provider(&with, now) {
                self.provider = ProviderConnection::Lost;
                return None;
            }
            return Some(SessionClose { client: with, provider: close(code::NORMAL, "") });
        }
        if self.successor.expire(now) {
            self.session.successor(SuccessorState::Gone, now);
        }
        let (ProviderConnection::Here(side) | ProviderConnection::Returning(side, _)) =
            &mut self.provider
        else {
            return None;
        };
        let with = side.look(now)?;
        if self.session.survives_provider(&with, now) {
            self.provider = ProviderConnection::Lost;
            return None;
        }
        let reason = format!("the provider disconnected: {}", with.reason);
        Some(SessionClose { client: close(code::FAULT, reason), provider: with })
    }
}
