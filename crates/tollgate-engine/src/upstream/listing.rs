//! Lists everything that a server offers. A list that fails affects only its own part.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::value::RawValue;
use tollgate_core::catalog::ServerListing;
use tollgate_mcp::client::{McpConnection, RequestError, ServerFacts, ServerListKind, list_all};
use tollgate_mcp::error_code::{self, JsonRpcError};

use super::ping::ping;

/// How long a server may take to list all items of one kind.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) const PARTS: [ServerListKind; 4] = [
    ServerListKind::Tools,
    ServerListKind::Resources,
    ServerListKind::ResourceTemplates,
    ServerListKind::Prompts,
];

pub(super) struct ListingReport {
    pub(super) listing: ServerListing,
    /// Error text of the parts that could not be read; those keep their previous content.
    pub(super) trouble: Option<String>,
}

/// Fails only if the connection does.
pub(super) async fn list(
    connection: &dyn McpConnection,
    before: &ServerListing,
) -> Result<ListingReport, RequestError> {
    let offered = PARTS.into_iter().filter(|part| offers(connection.facts(), *part));
    let answers = join_all(offered.map(|part| async move { (part, ask(connection, part).await) }));
    let mut listing = ServerListing::default();
    let mut troubles = Vec::new();
    for (part, answer) in answers.await {
        *items_mut(&mut listing, part) = match answer {
            Ok(items) => items,
            Err(RequestError::Refused(error)) if error.code == error_code::METHOD_NOT_FOUND => {
                Vec::new()
            }
            Err(error) => {
                // An invalid page and a broken pipe look the same here.
                let may_be_lost =
                    matches!(error, RequestError::Lost(_) | RequestError::Unusable(_));
                if may_be_lost && ping(connection).await.is_err() {
                    return Err(error);
                }
                troubles.push(format!("`{}` failed: {error}", part.method()));
                items(before, part).clone()
            }
        };
    }
    let trouble = (!troubles.is_empty()).then(|| troubles.join("; "));
    Ok(ListingReport { listing, trouble })
}

async fn ask(
    connection: &dyn McpConnection,
    part: ServerListKind,
) -> Result<Vec<Box<RawValue>>, RequestError> {
    let listing = tokio::time::timeout(LIST_TIMEOUT, list_all(connection, part));
    listing.await.unwrap_or_else(|_| {
        let message = format!("no answer within {} s", LIST_TIMEOUT.as_secs());
        Err(RequestError::Refused(JsonRpcError::new(error_code::INTERNAL_ERROR, message)))
    })
}

/// A server that declares no capabilities may still have tools.
fn offers(facts: &ServerFacts, part: ServerListKind) -> bool {
    let silent = part == ServerListKind::Tools && facts.capabilities.get() == "{}";
    silent || facts.offers(part.capability())
}

pub(super) fn items(listing: &ServerListing, part: ServerListKind) -> &Vec<Box<RawValue>> {
    match part {
        ServerListKind::Tools => &listing.tools,
        ServerListKind::Resources => &listing.resources,
        ServerListKind::ResourceTemplates => &listing.templates,
        ServerListKind::Prompts => &listing.prompts,
    }
}

pub(super) fn items_mut(
    listing: &mut ServerListing,
    part: ServerListKind,
) -> &mut Vec<Box<RawValue>> {
    match part {
        ServerListKind::Tools => &mut listing.tools,
        ServerListKind::Resources => &mut listing.resources,
        ServerListKind::ResourceTemplates => &mut listing.templates,
        ServerListKind::Prompts => &mut listing.prompts,
    }
}

/// Whether both are equal, byte for byte and in the same order.
pub(super) fn same(one: &ServerListing, other: &ServerListing) -> bool {
    PARTS.into_iter().all(|part| {
        let one = items(one, part);
        let other = items(other, part);
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.get() == b.get())
    })
}
