//! Install links for editors, to be opened by a person.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use tollgate_core::text::percent_encoded;

use super::{NAME, SnippetTarget, entry};
use crate::client_apps::ClientApp;

pub(super) fn of(client: &ClientApp, target: &SnippetTarget) -> Option<String> {
    let entry = entry(client, target);
    match client.id {
        "cursor" => {
            let config = percent_encoded(&BASE64_STANDARD.encode(entry.to_string()));
            let path = "cursor://anysphere.cursor-deeplink/mcp/install";
            Some(format!("{path}?name={NAME}&config={config}"))
        }
        "vscode" => {
            let mut named = json!({ "name": NAME });
            for (key, value) in entry.as_object().into_iter().flatten() {
                named[key] = value.clone();
            }
            Some(format!("vscode:mcp/install?{}", percent_encoded(&named.to_string())))
        }
        _ => None,
    }
}
