//! Asks a server for everything it offers. What cannot be listed costs only its own part.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::value::RawValue;
use tollgate_core::catalog::Listing;
use tollgate_mcp::client::{Connection, List, RequestError, ServerFacts, list_all};
use tollgate_mcp::code::{self, ErrorObject};

use super::ping::ping;

/// How long a server may take to name all items of one kind.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) const PARTS: [List; 4] =
    [List::Tools, List::Resources, List::ResourceTemplates, List::Prompts];

pub(super) struct Listed {
    pub(super) listing: Listing,
    /// In words, for each part that could not be read; it is then as it was before.
    pub(super) trouble: Option<String>,
}

/// Fails only when the connection does.
pub(super) async fn list(connection: &dyn Connection, before: &Listing) -> Result<Listed, String> {
    let offered = PARTS.into_iter().filter(|part| offers(connection.facts(), *part));
    let answers = join_all(offered.map(|part| async move { (part, ask(connection, part).await) }));
    let mut listing = Listing::default();
    let mut troubles = Vec::new();
    for (part, answer) in answers.await {
        *items_mut(&mut listing, part) = match answer {
            Ok(items) => items,
            Err(RequestError::Refused(error)) if error.code == code::METHOD_NOT_FOUND => Vec::new(),
            Err(error) => {
                // A page that makes no sense and a broken pipe look alike from here.
                if matches!(error, RequestError::Lost(_) | RequestError::Unusable(_)) {
                    ping(connection).await.map_err(|_| error.to_string())?;
                }
                troubles.push(format!("`{}` failed: {error}", part.method()));
                items(before, part).clone()
            }
        };
    }
    let trouble = (!troubles.is_empty()).then(|| troubles.join("; "));
    Ok(Listed { listing, trouble })
}

async fn ask(connection: &dyn Connection, part: List) -> Result<Vec<Box<RawValue>>, RequestError> {
    let asked = tokio::time::timeout(PATIENCE, list_all(connection, part));
    asked.await.unwrap_or_else(|_| {
        let message = format!("no answer within {} s", PATIENCE.as_secs());
        Err(RequestError::Refused(ErrorObject::new(code::INTERNAL_ERROR, message)))
    })
}

/// A server that declares nothing at all may still have tools.
fn offers(facts: &ServerFacts, part: List) -> bool {
    let silent = part == List::Tools && facts.capabilities.get() == "{}";
    silent || facts.offers(part.capability())
}

pub(super) fn items(listing: &Listing, part: List) -> &Vec<Box<RawValue>> {
    match part {
        List::Tools => &listing.tools,
        List::Resources => &listing.resources,
        List::ResourceTemplates => &listing.templates,
        List::Prompts => &listing.prompts,
    }
}

pub(super) fn items_mut(listing: &mut Listing, part: List) -> &mut Vec<Box<RawValue>> {
    match part {
        List::Tools => &mut listing.tools,
        List::Resources => &mut listing.resources,
        List::ResourceTemplates => &mut listing.templates,
        List::Prompts => &mut listing.prompts,
    }
}

/// Whether both offer the same, byte for byte and in the same order.
pub(super) fn same(one: &Listing, other: &Listing) -> bool {
    PARTS.into_iter().all(|part| {
        let (one, other) = (items(one, part), items(other, part));
        one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.get() == b.get())
    })
}
