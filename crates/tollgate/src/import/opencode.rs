//! Imports opencode: `mcp`, with `local` and `remote` servers and `{env:NAME}`.

use super::collector::ImportCollector;
use super::common_keys;
use super::source_map::SourceMap;
use super::variable_syntax::VariableSyntax;
use crate::client_apps::ClientApp;

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    sheet.spelling = VariableSyntax::Braces;
    sheet.client = ClientApp::find("opencode");
    for (name, mut server) in top.named_maps("mcp") {
        server.rename("environment", "env");
        // `false` only means that OAuth is not tried.
        if server.peek("oauth").as_bool() == Some(false) {
            server.forget(&["oauth"]);
        }
        common_keys::server(&name, server, sheet);
    }
    sheet.blame(top);
}
