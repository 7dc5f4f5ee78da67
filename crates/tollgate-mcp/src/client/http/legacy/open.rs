//! Opens a legacy session, and reopens it when the server has lost it.

use http::{HeaderMap, HeaderValue, StatusCode};
use tollgate_core::json;

use super::LegacyCore;
use crate::Revision;
use crate::client::handshake::{self, InitializeStep};
use crate::client::http::reply::{PostReply, describe};
use crate::client::http::session;
use crate::client::inbound::{Outbox, StreamOwner};
use crate::client::{ConnectError, RequestError, ServerFacts, watch};
use crate::envelope::{JsonRpcId, write};
use crate::error_code::JsonRpcError;

/// Why `initialize` did not open a session.
pub(in crate::client::http) enum NoSessionError {
    Failed(ConnectError),
    /// 400, 404 or 405: the server may speak HTTP+SSE.
    NotHere(String),
}

impl LegacyCore {
    /// Opens the session, with a lower revision if the server names one.
    pub(in crate::client::http) async fn initialize(
        &self,
        mut requested: Revision,
        pinned: Option<Revision>,
    ) -> Result<ServerFacts, NoSessionError> {
        loop {
            let (reply, id) =
                self.ask_initialize(requested).await.map_err(NoSessionError::Failed)?;
            let step = match reply {
                PostReply::Answer(Ok(result)) => {
                    handshake::judge_initialize(requested, pinned, Ok(&result))
                }
                PostReply::Answer(Err(error)) => {
                    handshake::judge_initialize(requested, pinned, Err(&error))
                }
                PostReply::Refused(status, error) => {
                    judge_status(requested, pinned, status, error.as_ref())?
                }
                PostReply::Cut(_) => {
                    let reason = "the stream of `initialize` ended without an answer".to_owned();
                    return Err(NoSessionError::Failed(ConnectError::Protocol(reason)));
                }
                PostReply::Nonsense(reason) => {
                    return Err(NoSessionError::Failed(ConnectError::Protocol(reason)));
                }
            };
            match step {
                InitializeStep::TryAgain(revision) => requested = revision,
                InitializeStep::Unusable(reason) => {
                    return Err(NoSessionError::Failed(ConnectError::Protocol(reason)));
                }
                InitializeStep::Agreed(facts) => {
                    self.session.mark_opened(id, facts.revision);
                    self.inbound.set_revision(facts.revision);
                    let message = write::notification("notifications/initialized", "{}");
                    let sent = self.session.send(message).await;
                    sent.map_err(|error| NoSessionError::Failed(connect_error(error)))?;
                    return Ok(facts);
                }
            }
        }
    }

    async fn ask_initialize(
        &self,
        requested: Revision,
    ) -> Result<(PostReply, Option<HeaderValue>), ConnectError> {
        let id = self.inbound.table.next_id();
        let params = handshake::initialize_params(requested, self.bridge);
        let message = write::request(&JsonRpcId::number(id), "initialize", &params);
        let headers = HeaderMap::new();
        let response = self.session.wire.post(headers, message.into()).await?;
        let session = session::id_of(&response);
        let owner = StreamOwner { id, events: None, wants_logs: false, trace: None };
        let reply = self.waiting(owner).read(response).await.map_err(connect_error)?;
        Ok((reply, session))
    }

    /// Opens a new session, unless another caller did since `generation`.
    pub(super) async fn renew(&self, generation: u64) -> Result<(), RequestError> {
        let _turn = self.renewing.lock().await;
        if self.session.generation() != generation {
            return Ok(());
        }
        let revision = self.inbound.revision();
        let facts = self.initialize(revision, Some(revision)).await.map_err(to_request_error)?;
        for uri in self.watch.resources() {
            let params = format!("{{\"uri\":{}}}", json::raw_string(&uri));
            let id = JsonRpcId::number(self.inbound.table.next_id());
            self.session.send_later(write::request(&id, "resources/subscribe", &params));
        }
        for method in watch::missed_notifications(&facts) {
            self.inbound.listener.on_notification(method, None);
        }
        Ok(())
    }
}

/// The error of a request whose session could not be opened.
pub(super) fn to_request_error(why: NoSessionError) -> RequestError {
    match why {
        NoSessionError::Failed(ConnectError::Unauthorized(reason)) => {
            RequestError::Unauthorized(reason)
        }
        NoSessionError::Failed(error) => RequestError::Lost(error.to_string()),
        NoSessionError::NotHere(reason) => RequestError::Lost(reason),
    }
}

/// Classifies a refused `initialize`: the revision, the endpoint, or the server as a whole.
fn judge_status(
    requested: Revision,
    pinned: Option<Revision>,
    status: StatusCode,
    error: Option<&JsonRpcError>,
) -> Result<InitializeStep, NoSessionError> {
    let reason = describe(status, error);
    if let Some(error) = error
        && let step @ InitializeStep::TryAgain(_) =
            handshake::judge_initialize(requested, pinned, Err(error))
    {
        return Ok(step);
    }
    match status.as_u16() {
        400 | 404 | 405 => Err(NoSessionError::NotHere(reason)),
        408 | 425 | 429 | 500.. => Err(NoSessionError::Failed(ConnectError::Unreachable(reason))),
        _ => Err(NoSessionError::Failed(ConnectError::Protocol(reason))),
    }
}

pub(in crate::client::http) fn connect_error(error: RequestError) -> ConnectError {
    match error {
        RequestError::Unauthorized(reason) => ConnectError::Unauthorized(reason),
        RequestError::Lost(reason)
        | RequestError::Unusable(reason)
        | RequestError::Unreachable(reason) => ConnectError::Unreachable(reason),
        RequestError::NoRoom(_) => ConnectError::Unreachable(error.to_string()),
        RequestError::Refused(_) | RequestError::TooLarge { .. } => {
            ConnectError::Protocol(error.to_string())
        }
    }
}
