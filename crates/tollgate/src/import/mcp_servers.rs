//! Imports `mcpServers`: Claude Code, Claude Desktop, Cursor, Copilot CLI, Gemini CLI, Windsurf and
//! Antigravity, Cline and Roo. `common_keys` knows the keys of all of them.

use super::collector::ImportCollector;
use super::common_keys;
use super::source_map::SourceMap;
use super::variable_syntax::VariableSyntax;
use crate::client_apps::ClientApp;

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    let servers = top.named_maps("mcpServers");
    if sheet.client.is_none() {
        sheet.client = servers.iter().find_map(|(_, server)| author(server));
    }
    if let Some(client) = sheet.client {
        sheet.format(client.name);
    }
    if sheet.is("gemini-cli") {
        sheet.spelling = VariableSyntax::Bare;
    }
    for (name, server) in servers {
        common_keys::server(&name, server, sheet);
    }
    // Claude Code stores settings of a folder under the name of the folder.
    for (folder, mut project) in top.named_maps("projects") {
        for (name, server) in project.named_maps("mcpServers") {
            common_keys::server(&name, server, sheet);
            sheet.last_note(format!("for the folder {} there", super::name::shorten_name(&folder)));
        }
        sheet.blame(project);
    }
    sheet.blame(top);
}

/// The program, where the keys reveal it.
fn author(server: &SourceMap) -> Option<&'static ClientApp> {
    let has = |keys: &[&str]| keys.iter().any(|key| server.has(key));
    let kind = server.peek("type").as_str().unwrap_or_default();
    let id = match () {
        () if has(&["httpUrl", "includeTools", "excludeTools"]) => "gemini-cli",
        () if has(&["serverUrl"]) => "windsurf",
        () if kind == "streamableHttp" || has(&["alwaysAllow", "autoApprove"]) => "cline",
        () if kind == "local" || server.peek("tools").is_array() => "copilot-cli",
        () => return None,
    };
    ClientApp::find(id)
}
