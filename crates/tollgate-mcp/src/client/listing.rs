//! Reads the paginated lists of a server to the end. Items are kept unchanged.

use std::collections::HashSet;

use serde_json::value::RawValue;
use tollgate_core::json::Object;

use super::{McpConnection, OutgoingRequest, RequestError, handshake};
use crate::answer_budget::AnswerAccount;

/// The kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerListKind {
    Tools,
    Prompts,
    Resources,
    ResourceTemplates,
}

const MAX_ITEMS: usize = 10_000;
const MAX_PAGES: usize = 1_000;

impl ServerListKind {
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    /// The capability that a server declares if it has such a list.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::ResourceTemplates => "resources",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }
}

/// All items. A repeated cursor or endless pages are an error.
pub async fn list_all(
    connection: &dyn McpConnection,
    what: ServerListKind,
) -> Result<Vec<Box<RawValue>>, RequestError> {
    let account = AnswerAccount::for_part();
    account.scope(list_pages(connection, what, &account)).await
}

async fn list_pages(
    connection: &dyn McpConnection,
    what: ServerListKind,
    account: &AnswerAccount,
) -> Result<Vec<Box<RawValue>>, RequestError> {
    let client = handshake::identity();
    let mut items = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    let mut kept_bytes = 0;
    for _ in 0..MAX_PAGES {
        let mut params = Object::new();
        if let Some(cursor) = &cursor {
            params.set_string("cursor", cursor);
        }
        let method = what.method();
        let request = OutgoingRequest::plain(method, params, &client);
        let answer = connection.request(request).await?;
        cursor = read_page(&answer.result, what, &mut items)?;
        // Of a page only its items stay.
        kept_bytes += answer.result.get().len();
        account.shrink_to(kept_bytes);
        match &cursor {
            None => return Ok(items),
            Some(cursor) if !seen.insert(cursor.clone()) => {
                return Err(unusable_list_error(what, "a repeated cursor"));
            }
            Some(_) => {}
        }
    }
    Err(unusable_list_error(what, "too many pages"))
}

/// Appends the items of a page and returns the next cursor.
fn read_page(
    result: &RawValue,
    what: ServerListKind,
    items: &mut Vec<Box<RawValue>>,
) -> Result<Option<String>, RequestError> {
    let page =
        Object::parse(result.get()).map_err(|_| unusable_list_error(what, "an invalid page"))?;
    let listed =
        page.get(what.key()).ok_or_else(|| unusable_list_error(what, "a page without the list"))?;
    let listed: Vec<Box<RawValue>> = serde_json::from_str(listed.get())
        .map_err(|_| unusable_list_error(what, "a list of the wrong type"))?;
    if items.len() + listed.len() > MAX_ITEMS {
        return Err(unusable_list_error(what, "too many items"));
    }
    items.extend(listed);
    Ok(page.string("nextCursor").filter(|it| !it.is_empty()).map(std::borrow::Cow::into_owned))
}

fn unusable_list_error(what: ServerListKind, how: &str) -> RequestError {
    RequestError::Unusable(format!("`{}` gave {how}", what.method()))
}
