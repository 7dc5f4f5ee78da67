//! Liveness check of a server (MCP `ping`).

use std::time::Duration;

use tollgate_core::json::Object;
use tollgate_mcp::Era;
use tollgate_mcp::client::{McpConnection, OutgoingRequest, RequestError, identity};

/// How long a server may take to answer.
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// Why there was no answer, for display.
#[derive(Debug, thiserror::Error)]
pub(super) enum PingError {
    #[error("no answer to a ping within {} s", PING_TIMEOUT.as_secs())]
    Silence,
    #[error("{0}")]
    Failed(RequestError),
}

/// Any answer counts, even an error.
pub(super) async fn ping(connection: &dyn McpConnection) -> Result<(), PingError> {
    let method = match connection.facts().era() {
        Era::Legacy => "ping",
        Era::Modern => "server/discover",
    };
    let client = identity();
    let params = Object::new();
    let request = OutgoingRequest::plain(method, params, &client);
    match tokio::time::timeout(PING_TIMEOUT, connection.request(request)).await {
        Err(_) => Err(PingError::Silence),
        Ok(
            Ok(_)
            | Err(RequestError::Refused(_) | RequestError::TooLarge { .. } | RequestError::NoRoom(_)),
        ) => Ok(()),
        Ok(Err(
            error @ (RequestError::Lost(_)
            | RequestError::Unusable(_)
            | RequestError::Unreachable(_)
            | RequestError::Unauthorized(_)),
        )) => Err(PingError::Failed(error)),
    }
}
