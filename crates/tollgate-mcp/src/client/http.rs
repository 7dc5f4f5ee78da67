//! Connections over HTTP: finds out what a URL speaks (modern, legacy Streamable HTTP, or HTTP+SSE)
//! and connects accordingly.

mod legacy;
mod modern;
mod reply;
mod session;
mod sse_legacy;
mod wire;

use std::sync::Arc;

use http::{HeaderMap, StatusCode, Uri};
use tokio::time::timeout;

use super::bridge::Bridge;
use super::handshake::{self, Declared, Verdict};
use super::inbound::Inbound;
use super::{ConnectError, Credentials, Listener, Options, SharedConnection};
use crate::{Era, Revision};
use legacy::NoSession;
use reply::Reply;
use wire::Wire;

/// Where a server is and how to get in.
pub struct HttpTarget {
    pub url: Uri,
    pub transport: HttpTransport,
    /// Sent with every request.
    pub headers: HeaderMap,
    pub credentials: Option<Arc<dyn Credentials>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpTransport {
    /// Streamable HTTP; falls back to HTTP+SSE where the server knows nothing newer.
    Streamable,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// Connects within the time that `options` allow.
pub async fn connect(
    target: HttpTarget,
    listener: Arc<dyn Listener>,
    options: &Options,
) -> Result<SharedConnection, ConnectError> {
    let limit = options.handshake_timeout;
    timeout(limit, find_out(target, listener, options)).await.map_err(|_| {
        ConnectError::Unreachable(format!("no answer to the handshake within {limit:?}"))
    })?
}

async fn find_out(
    target: HttpTarget,
    listener: Arc<dyn Listener>,
    options: &Options,
) -> Result<SharedConnection, ConnectError> {
    let transport = target.transport;
    let wire = Wire::new(target)?;
    if transport == HttpTransport::Sse {
        return sse_legacy::connect(Arc::new(wire), listener, options).await;
    }
    let limit = options.message_limit;
    let mut wire = wire;
    if options.pinned.is_none_or(|pinned| pinned.era() == Era::Modern) {
        let inbound = Inbound::new(Arc::clone(&listener));
        let core = modern::Core::new(wire, inbound, limit);
        match probe(&core).await? {
            Verdict::Modern(facts) => return Ok(Arc::new(modern::Modern::new(core, facts))),
            Verdict::Unusable(reason) => return Err(ConnectError::Protocol(reason)),
            Verdict::AskAgain | Verdict::Legacy => {}
        }
        if let Some(pinned) = options.pinned {
            let reason = format!("the server does not speak the pinned {pinned}");
            return Err(ConnectError::Protocol(reason));
        }
        wire = core.into_wire();
    }
    let wire = Arc::new(wire);
    let inbound = Inbound::new(Arc::clone(&listener));
    let core = legacy::Core::new(Arc::clone(&wire), inbound, (limit, Bridge::NONE));
    let asked = options.pinned.unwrap_or(Revision::NEWEST_LEGACY);
    let reason = match core.initialize(asked, options.pinned).await {
        Ok(facts) => return Ok(Arc::new(legacy::Legacy::new(core, facts))),
        Err(NoSession::Failed(error)) => return Err(error),
        Err(NoSession::NotHere(reason)) => reason,
    };
    match sse_legacy::connect(wire, listener, options).await {
        Err(ConnectError::Protocol(_)) => {
            Err(ConnectError::Protocol(format!("no MCP server is at this URL: {reason}")))
        }
        other => other,
    }
}

async fn probe(core: &modern::Core) -> Result<Verdict, ConnectError> {
    let mut verdict = Verdict::AskAgain;
    for declared in [Declared::Nothing, Declared::Bridge] {
        let reply = core.discover(&handshake::discover_params(declared)).await;
        verdict = judge(reply.map_err(legacy::connect_error)?)?;
        if !matches!(verdict, Verdict::AskAgain) {
            return Ok(verdict);
        }
    }
    Ok(verdict)
}

/// Outages and redirects say nothing about the era; all else that is not a modern answer does.
fn judge(reply: Reply) -> Result<Verdict, ConnectError> {
    match reply {
        Reply::Answer(Ok(result)) => Ok(handshake::judge_discover(Ok(&result))),
        Reply::Answer(Err(error)) => Ok(handshake::judge_discover(Err(&error))),
        Reply::Refused(status, error) if is_outage(status) => {
            Err(ConnectError::Unreachable(reply::describe(status, error.as_ref())))
        }
        Reply::Refused(status, error) if status.is_redirection() => {
            Err(ConnectError::Protocol(reply::describe(status, error.as_ref())))
        }
        Reply::Refused(_, Some(error)) => Ok(handshake::judge_discover(Err(&error))),
        Reply::Refused(_, None) | Reply::Cut(_) | Reply::Nonsense(_) => Ok(Verdict::Legacy),
    }
}

fn is_outage(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        || matches!(status.as_u16(), 408 | 425 | 429)
}
