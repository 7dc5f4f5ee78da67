//! Imports a config of Tollgate itself, or a part of one: its servers unchanged.

use super::collector::ImportCollector;
use super::server_draft::ServerDraft;
use super::source_map::SourceMap;
use super::variable_syntax::VariableSyntax;

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    // Files of other programs may look the same: VS Code's `servers` without a `type`.
    if sheet.client.is_none() {
        sheet.spelling = VariableSyntax::Own;
    }
    for (name, mut server) in top.named_maps("servers") {
        let mut draft = ServerDraft::new(sheet, &name);
        server.forget(&["name"]);
        if let Some(token) = server.peek("auth").get("token").and_then(|it| it.as_str()) {
            let token = token.to_owned();
            if let Some(mut auth) = server.inner("auth") {
                auth.forget(&["token"]);
                auth.everything().into_iter().for_each(|(key, value)| draft.auth(&key, value));
            }
            draft.token(sheet, &token);
        }
        let env = server.table("env");
        let headers = server.table("headers");
        draft.env(sheet, env);
        draft.headers(sheet, headers);
        server.everything().into_iter().for_each(|(key, value)| draft.put(&key, value));
        sheet.leave(server);
        sheet.server(draft.into_found());
    }
    for key in ["agents", "providers", "models", "keys", "budget", "listen", "limits"] {
        top.drop(key, "only `servers` are imported from a Tollgate config; copy it by hand");
    }
    sheet.leave(top);
}
