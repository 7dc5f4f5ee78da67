//! Imports Goose: `extensions` in YAML, with `cmd`, `envs`, names of secrets in `env_keys`, and
//! timeouts in seconds.

use serde_json::json;

use super::collector::ImportCollector;
use super::common_keys;
use super::source_map::SourceMap;
use crate::client_apps::ClientApp;

pub(super) fn read(mut top: SourceMap, sheet: &mut ImportCollector<'_>) {
    sheet.client = ClientApp::find("goose");
    for (name, mut extension) in top.named_maps("extensions") {
        let kind = extension.peek("type").as_str().unwrap_or_default().to_owned();
        if ["builtin", "platform", "frontend", "inline_python"].contains(&kind.as_str()) {
            sheet.drop(extension.at, format!("`{kind}` is a part of Goose"));
            continue;
        }
        extension.rename("cmd", "command");
        extension.rename("envs", "env");
        extension.forget_empty("available_tools");
        extension.rename("available_tools", "includeTools");
        let secrets = extension.texts("env_keys").unwrap_or_default();
        let known = secrets.into_iter().filter(|name| tollgate_config::is_variable(name));
        let reference = |name: String| (name.clone(), json!(format!("${{{name}}}")));
        extension.merge("env", known.map(reference));
        if let Some(seconds) = extension.number("timeout") {
            extension.put("timeout", json!(seconds * 1_000.0));
        }
        extension.forget(&["name", "display_name", "description", "bundled"]);
        if !extension.has("command") {
            extension.forget(&["env"]);
        }
        common_keys::server(&name, extension, sheet);
    }
    sheet.blame(top);
}
