//! FrugalRoute: a list `mcpServers` whose entries have an `id`; `apiKey` is a bearer token.

use serde_json::json;

use super::plain;
use super::sheet::Sheet;
use super::source::Source;

pub(super) fn read(mut top: Source, sheet: &mut Sheet<'_>) {
    for (name, mut server) in top.named("mcpServers") {
        if let Some(key) = server.text("apiKey") {
            let bearer = json!(format!("Bearer {key}"));
            server.merge("headers", [("Authorization".to_owned(), bearer)]);
        }
        plain::server(&name, server, sheet);
    }
    top.drop("routes", "how models are chosen is said by `models` of agents");
    sheet.leave(top);
}
