//! Imports FrugalRoute: a list `mcpServers` whose entries have an `id`. `apiKey` is a bearer token.

use serde_json::json;

use super::collector::ImportCollector;
use super::common_keys;
use super::source_map::SourceMap;

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    for (name, mut server) in top.named_maps("mcpServers") {
        if let Some(key) = server.text("apiKey") {
            let bearer = json!(format!("Bearer {key}"));
            server.merge("headers", [("Authorization".to_owned(), bearer)]);
        }
        common_keys::server(&name, server, sheet);
    }
    top.drop("routes", "model selection is set by `models` of agents");
    sheet.leave(top);
}
