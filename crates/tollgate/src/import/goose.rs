//! Goose: `extensions` in YAML, with `cmd`, `envs`, names of secrets in `env_keys`, and seconds.

use serde_json::json;

use super::plain;
use super::sheet::Sheet;
use super::source::Source;
use crate::clients::Client;

pub(super) fn read(mut top: Source, sheet: &mut Sheet<'_>) {
    sheet.client = Client::find("goose");
    for (name, mut extension) in top.named("extensions") {
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
        let known = secrets.into_iter().filter(|name| crate::config::is_variable(name));
        let reference = |name: String| (name.clone(), json!(format!("${{{name}}}")));
        extension.merge("env", known.map(reference));
        if let Some(seconds) = extension.number("timeout") {
            extension.put("timeout", json!(seconds * 1_000.0));
        }
        extension.forget(&["name", "display_name", "description", "bundled"]);
        if !extension.has("command") {
            extension.forget(&["env"]);
        }
        plain::server(&name, extension, sheet);
    }
    sheet.blame(top);
}
