//! Opening a legacy session, and opening it again when the server has lost it.

use http::{HeaderMap, HeaderValue, StatusCode};
use tollgate_core::json;

use super::Core;
use crate::Revision;
use crate::client::handshake::{self, Step};
use crate::client::http::reply::{Reply, describe};
use crate::client::http::session;
use crate::client::inbound::{Outbox, Owner};
use crate::client::{ConnectError, RequestError, ServerFacts, watch};
use crate::code::ErrorObject;
use crate::envelope::{Id, write};

/// Why `initialize` did not lead to a session.
pub(in crate::client::http) enum NoSession {
    Failed(ConnectError),
    /// 400, 404 or 405: perhaps the server speaks HTTP+SSE.
    NotHere(String),
}

impl Core {
    /// Opens the session, at a lower revision if the server names one.
    pub(in crate::client::http) async fn initialize(
        &self,
        mut asked: Revision,
        pinned: Option<Revision>,
    ) -> Result<ServerFacts, NoSession> {
        loop {
            let (reply, id) = self.ask_initialize(asked).await.map_err(NoSession::Failed)?;
            let step = match reply {
                Reply::Answer(Ok(result)) => {
                    handshake::judge_initialize(asked, pinned, Ok(&result))
                }
                Reply::Answer(Err(error)) => {
                    handshake::judge_initialize(asked, pinned, Err(&error))
                }
                Reply::Refused(status, error) => judge_status(asked, pinned, (status, error))?,
                Reply::Cut(_) => {
                    let reason = "the stream of `initialize` ended without an answer".to_owned();
                    return Err(NoSession::Failed(ConnectError::Protocol(reason)));
                }
                Reply::Nonsense(reason) => {
                    return Err(NoSession::Failed(ConnectError::Protocol(reason)));
                }
            };
            match step {
                Step::TryAgain(revision) => asked = revision,
                Step::Unusable(reason) => {
                    return Err(NoSession::Failed(ConnectError::Protocol(reason)));
                }
                Step::Agreed(facts) => {
                    self.session.opened(id, facts.revision);
                    self.inbound.agreed(facts.revision);
                    let message = write::notification("notifications/initialized", "{}");
                    let told = self.session.send(message).await;
                    told.map_err(|error| NoSession::Failed(connect_error(error)))?;
                    return Ok(facts);
                }
            }
        }
    }

    async fn ask_initialize(
        &self,
        asked: Revision,
    ) -> Result<(Reply, Option<HeaderValue>), ConnectError> {
        let id = self.inbound.table.next_id();
        let params = handshake::initialize_params(asked, self.bridge);
        let message = write::request(&Id::number(id), "initialize", &params);
        let headers = HeaderMap::new();
        let response = self.session.wire.post(headers, message.into()).await?;
        let session = session::id_of(&response);
        let owner = Owner { id, events: None, wants_logs: false, trace: None };
        let reply = self.waiting(owner).read(response).await.map_err(connect_error)?;
        Ok((reply, session))
    }

    /// Opens a new session, unless somebody else did since `generation`.
    pub(super) async fn renew(&self, generation: u64) -> Result<(), RequestError> {
        let _turn = self.renewing.lock().await;
        if self.session.generation() != generation {
            return Ok(());
        }
        let revision = self.inbound.revision();
        let facts = self.initialize(revision, Some(revision)).await.map_err(lost)?;
        for uri in self.watch.resources() {
            let params = format!("{{\"uri\":{}}}", json::raw_string(&uri));
            let id = Id::number(self.inbound.table.next_id());
            self.session.send_later(write::request(&id, "resources/subscribe", &params));
        }
        for method in watch::missed(&facts) {
            self.inbound.listener.notified(method, None);
        }
        Ok(())
    }
}

/// What a request is told whose session could not be opened.
pub(super) fn lost(why: NoSession) -> RequestError {
    match why {
        NoSession::Failed(ConnectError::Unauthorized(reason)) => RequestError::Unauthorized(reason),
        NoSession::Failed(error) => RequestError::Lost(error.to_string()),
        NoSession::NotHere(reason) => RequestError::Lost(reason),
    }
}

/// A refused `initialize`: the revision, the place, or the server as a whole.
fn judge_status(
    asked: Revision,
    pinned: Option<Revision>,
    (status, error): (StatusCode, Option<ErrorObject>),
) -> Result<Step, NoSession> {
    let reason = describe(status, error.as_ref());
    if let Some(error) = &error
        && let step @ Step::TryAgain(_) = handshake::judge_initialize(asked, pinned, Err(error))
    {
        return Ok(step);
    }
    match status.as_u16() {
        400 | 404 | 405 => Err(NoSession::NotHere(reason)),
        408 | 425 | 429 | 500.. => Err(NoSession::Failed(ConnectError::Unreachable(reason))),
        _ => Err(NoSession::Failed(ConnectError::Protocol(reason))),
    }
}

pub(in crate::client::http) fn connect_error(error: RequestError) -> ConnectError {
    match error {
        RequestError::Unauthorized(reason) => ConnectError::Unauthorized(reason),
        RequestError::Lost(reason)
        | RequestError::Unusable(reason)
        | RequestError::Unreachable(reason) => ConnectError::Unreachable(reason),
        RequestError::Refused(_) | RequestError::TooLarge { .. } => {
            ConnectError::Protocol(error.to_string())
        }
    }
}
