//! OpenAPI: the config file and its reload.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    any, flag, list, object, one_of, or_null, schema_ref, text, texts, time, whole,
    with_description,
};
use super::servers::tag;

pub(super) fn area() -> OpenApiSection {
    let yaml = || with_description(text(), "the whole config, YAML");
    let refusals = [
        (
            409,
            "`unwritable_config`, with `yaml` to paste; `conflict`: the file was changed at the \
             same time",
        ),
        (412, "`other_version`: the config was changed after you read it"),
        (422, "`bad_config`: the config would be invalid"),
    ];
    OpenApiSection {
        tag: "config",
        about: "The config file. Secrets are masked; changes are validated first.",
        operations: vec![
            Operation::new("get", "/api/config", "readConfig", "The config, with secrets masked")
                .query("format", one_of(&["yaml", "json"]), "as text, or as JSON")
                .gives(200, "the config", schema_ref("Config"))
                .gives_media(
                    200,
                    "application/yaml",
                    "the config",
                    with_description(any(), "the config, YAML"),
                )
                .with_etag(200),
            Operation::new(
                "put",
                "/api/config",
                "writeConfig",
                "Replaces the config: validates, writes and applies it",
            )
            .header("if-match", tag(), "the version it is based on")
            .require("if-match")
            .takes_media("application/yaml", yaml())
            .gives(200, "the result", schema_ref("Changed"))
            .with_etag(200)
            .refuses(&refusals)
            .refuses(&[(428, "`no_version`: without `if-match`")]),
            Operation::new(
                "post",
                "/api/config/check",
                "checkConfig",
                "Validates a config without applying it",
            )
            .header("if-match", tag(), "the version it is based on")
            .takes_media("application/yaml", yaml())
            .gives(200, "the result", schema_ref("Changed"))
            .with_etag(200)
            .refuses(&refusals),
            Operation::new("post", "/api/reload", "reloadConfig", "Reloads the file").gives(
                200,
                "the result",
                schema_ref("Attempt"),
            ),
            Operation::new("get", "/api/reload", "lastReload", "The result of the last reload")
                .gives(200, "the last result, and counts by result", schema_ref("Reloads")),
        ],
        schemas: schemas(),
    }
}

fn schemas() -> Vec<(&'static str, Value)> {
    let report = or_null(object(
        &[("file", text()), ("ok", flag()), ("diagnostics", list(schema_ref("Diagnostic")))],
        &[],
    ));
    let servers = object(
        &[("added", texts()), ("removed", texts()), ("restarted", texts()), ("kept", texts())],
        &[],
    );
    let changed = object(
        &[
            ("applied", flag()),
            ("version", text()),
            ("diff", with_description(text(), "as `diff -u`, with secrets masked")),
            ("servers", servers.clone()),
            ("needs_restart", with_description(texts(), "keys that take effect at the next start")),
            ("report", with_description(report.clone(), "warnings about the new config")),
        ],
        &[],
    );
    let attempt = object(
        &[
            ("at", time()),
            ("by", text()),
            ("outcome", one_of(&["applied", "unchanged", "refused"])),
            ("report", report),
        ],
        &[("error", text()), ("servers", servers), ("needs_restart", texts())],
    );
    let reloads = object(
        &[
            ("last", json!({"anyOf": [schema_ref("Attempt"), {"type": "null"}]})),
            ("applied", whole()),
            ("refused", whole()),
        ],
        &[],
    );
    let config = object(
        &[
            ("file", with_description(or_null(text()), "`null` for the built-in config")),
            ("version", text()),
            ("writable", flag()),
            ("config", any()),
        ],
        &[],
    );
    vec![("Changed", changed), ("Attempt", attempt), ("Reloads", reloads), ("Config", config)]
}
