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
            "`unwritable_config`, with `yaml` to paste; `conflict`: somebody changed the file just now",
        ),
        (412, "`other_version`: the config is not what it was when you read it"),
        (422, "`bad_config`: the config would have mistakes"),
    ];
    OpenApiSection {
        tag: "config",
        about: "The config file: shown with its secrets covered, checked before anything is touched.",
        operations: vec![
            Operation::new(("get", "/api/config"), "readConfig", "The config, secrets covered")
                .query("format", one_of(&["yaml", "json"]), "as it is typed, or as values")
                .gives(200, "the config", schema_ref("Config"))
                .gives_media(
                    (200, "application/yaml"),
                    "the config",
                    with_description(any(), "the config, YAML"),
                )
                .with_etag(200),
            Operation::new(
                ("put", "/api/config"),
                "writeConfig",
                "Another config: checked, written, applied",
            )
            .header("if-match", tag(), "the version that it is made for")
            .require("if-match")
            .takes_media("application/yaml", yaml())
            .gives(200, "what came of it", schema_ref("Changed"))
            .with_etag(200)
            .refuses(&refusals)
            .refuses(&[(428, "`no_version`: without `if-match`")]),
            Operation::new(
                ("post", "/api/config/check"),
                "checkConfig",
                "What would come of a config",
            )
            .header("if-match", tag(), "the version that it is made for")
            .takes_media("application/yaml", yaml())
            .gives(200, "what would come of it", schema_ref("Changed"))
            .with_etag(200)
            .refuses(&refusals),
            Operation::new(("post", "/api/reload"), "reloadConfig", "Reads the file again").gives(
                200,
                "how that went",
                schema_ref("Attempt"),
            ),
            Operation::new(("get", "/api/reload"), "lastReload", "How the last reading went")
                .gives(200, "the last one, and how often each", schema_ref("Reloads")),
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
            ("diff", with_description(text(), "as `diff -u` shows it, secrets covered")),
            ("servers", servers.clone()),
            ("needs_restart", with_description(texts(), "keys that count from the next start on")),
            ("report", with_description(report.clone(), "what is odd about the new config")),
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
            ("file", with_description(or_null(text()), "`null` while what is built in runs")),
            ("version", text()),
            ("writable", flag()),
            ("config", any()),
        ],
        &[],
    );
    vec![("Changed", changed), ("Attempt", attempt), ("Reloads", reloads), ("Config", config)]
}
