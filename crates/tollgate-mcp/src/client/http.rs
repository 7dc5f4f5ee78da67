//! HTTP connections: detects what a URL speaks (modern, legacy Streamable HTTP, or HTTP+SSE) and
//! connects accordingly.

mod legacy;
mod modern;
mod reply;
mod server_http;
mod session;
mod sse_legacy;

use std::sync::Arc;

use http::{HeaderMap, StatusCode, Uri};
use tokio::time::timeout;

use super::declared_capabilities::DeclaredCapabilities;
use super::handshake::{self, DiscoverVerdict, ProbeCapabilities};
use super::inbound::Inbound;
use super::{ConnectError, ConnectOptions, Credentials, ServerListener, SharedConnection};
use crate::{Era, Revision};
use legacy::NoSessionError;
use reply::PostReply;
use server_http::ServerHttp;

/// The address of a server, with headers and credentials.
pub struct HttpTarget {
    pub url: Uri,
    pub transport: HttpTransport,
    /// Sent with every request.
    pub headers: HeaderMap,
    pub credentials: Option<Arc<dyn Credentials>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpTransport {
    /// Streamable HTTP; falls back to HTTP+SSE for servers without it.
    Streamable,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

/// Connects within the timeouts of `options`.
pub async fn connect(
    target: HttpTarget,
    listener: Arc<dyn ServerListener>,
    options: &ConnectOptions,
) -> Result<SharedConnection, ConnectError> {
    let limit = options.handshake_timeout;
    timeout(limit, find_out(target, listener, options)).await.map_err(|_| {
        ConnectError::Unreachable(format!("no answer to the handshake within {limit:?}"))
    })?
}

async fn find_out(
    target: HttpTarget,
    listener: Arc<dyn ServerListener>,
    options: &ConnectOptions,
) -> Result<SharedConnection, ConnectError> {
    let transport = target.transport;
    let wire = ServerHttp::new(target)?;
    if transport == HttpTransport::Sse {
        return sse_legacy::connect(Arc::new(wire), listener, options).await;
    }
    let limit = options.message_limit;
    let mut wire = wire;
    if options.pinned.is_none_or(|pinned| pinned.era() == Era::Modern) {
        let inbound = Inbound::new(Arc::clone(&listener));
        let core = modern::ModernCore::new(wire, inbound, limit);
        match probe(&core).await? {
            DiscoverVerdict::Modern(facts) => {
                return Ok(Arc::new(modern::ModernHttp::new(core, facts)));
            }
            DiscoverVerdict::Unusable(reason) => return Err(ConnectError::Protocol(reason)),
            DiscoverVerdict::AskAgain | DiscoverVerdict::Legacy => {}
        }
        if let Some(pinned) = options.pinned {
            let reason = format!("the server does not support the pinned {pinned}");
            return Err(ConnectError::Protocol(reason));
        }
        wire = core.into_wire();
    }
    let wire = Arc::new(wire);
    let inbound = Inbound::new(Arc::clone(&listener));
    let core =
        legacy::LegacyCore::new(Arc::clone(&wire), inbound, limit, DeclaredCapabilities::NONE);
    let requested = options.pinned.unwrap_or(Revision::NEWEST_LEGACY);
    let reason = match core.initialize(requested, options.pinned).await {
        Ok(facts) => return Ok(Arc::new(legacy::LegacyHttp::new(core, facts))),
        Err(NoSessionError::Failed(error)) => return Err(error),
        Err(NoSessionError::NotHere(reason)) => reason,
    };
    match sse_legacy::connect(wire, listener, options).await {
        Err(ConnectError::Protocol(_)) => {
            Err(ConnectError::Protocol(format!("there is no MCP server at this URL: {reason}")))
        }
        other => other,
    }
}

async fn probe(core: &modern::ModernCore) -> Result<DiscoverVerdict, ConnectError> {
    let mut verdict = DiscoverVerdict::AskAgain;
    for declared in [ProbeCapabilities::Nothing, ProbeCapabilities::Bridge] {
        let reply = core.discover(&handshake::discover_params(declared)).await;
        verdict = judge(reply.map_err(legacy::connect_error)?)?;
        if !matches!(verdict, DiscoverVerdict::AskAgain) {
            return Ok(verdict);
        }
    }
    Ok(verdict)
}

/// Outages and redirects say nothing about the era; any other non-modern answer does.
fn judge(reply: PostReply) -> Result<DiscoverVerdict, ConnectError> {
    match reply {
        PostReply::Answer(Ok(result)) => Ok(handshake::judge_discover(Ok(&result))),
        PostReply::Answer(Err(error)) => Ok(handshake::judge_discover(Err(&error))),
        PostReply::Refused(status, error) if is_outage(status) => {
            Err(ConnectError::Unreachable(reply::describe(status, error.as_ref())))
        }
        PostReply::Refused(status, error) if status.is_redirection() => {
            Err(ConnectError::Protocol(reply::describe(status, error.as_ref())))
        }
        PostReply::Refused(_, Some(error)) => Ok(handshake::judge_discover(Err(&error))),
        PostReply::Refused(_, None) | PostReply::Cut(_) | PostReply::Nonsense(_) => {
            Ok(DiscoverVerdict::Legacy)
        }
    }
}

fn is_outage(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        || matches!(status.as_u16(), 408 | 425 | 429)
}
