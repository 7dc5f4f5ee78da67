//! The config file, and reading it again.

use serde_json::{Value, json};

use super::Area;
use super::operation::Operation;
use super::schema::{
    any, flag, list, named, object, one_of, or_null, text, texts, time, told, whole,
};
use super::servers::tag;

pub(super) fn area() -> Area {
    let yaml = || told(text(), "the whole config, YAML");
    let refusals = [
        (
            409,
            "`unwritable_config`, with `yaml` to paste; `conflict`: somebody changed the file just now",
        ),
        (412, "`other_version`: the config is not what it was when you read it"),
        (422, "`bad_config`: the config would have mistakes"),
    ];
    Area {
        tag: "config",
        about: "The config file: shown with its secrets covered, checked before anything is touched.",
        operations: vec![
            Operation::new(("get", "/api/config"), "readConfig", "The config, secrets covered")
                .query("format", one_of(&["yaml", "json"]), "as it is typed, or as values")
                .gives(200, "the config", named("Config"))
                .gives_media(
                    (200, "application/yaml"),
                    "the config",
                    told(any(), "the config, YAML"),
                )
                .tagged(200),
            Operation::new(
                ("put", "/api/config"),
                "writeConfig",
                "Another config: checked, written, applied",
            )
            .header("if-match", tag(), "the version that it is made for")
            .needed("if-match")
            .takes_media("application/yaml", yaml())
            .gives(200, "what came of it", named("Changed"))
            .tagged(200)
            .refuses(&refusals)
            .refuses(&[(428, "`no_version`: without `if-match`")]),
            Operation::new(
                ("post", "/api/config/check"),
                "checkConfig",
                "What would come of a config",
            )
            .header("if-match", tag(), "the version that it is made for")
            .takes_media("application/yaml", yaml())
            .gives(200, "what would come of it", named("Changed"))
            .tagged(200)
            .refuses(&refusals),
            Operation::new(("post", "/api/reload"), "reloadConfig", "Reads the file again").gives(
                200,
                "how that went",
                named("Attempt"),
            ),
            Operation::new(("get", "/api/reload"), "lastReload", "How the last reading went")
                .gives(200, "the last one, and how often each", named("Reloads")),
        ],
        schemas: schemas(),
    }
}

fn schemas() -> Vec<(&'static str, Value)> {
    let report = or_null(object(
        &[("file", text()), ("ok", flag()), ("diagnostics", list(named("Diagnostic")))],
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
            ("diff", told(text(), "as `diff -u` shows it, secrets covered")),
            ("servers", servers.clone()),
            ("needs_restart", told(texts(), "keys that count from the next start on")),
            ("report", told(report.clone(), "what is odd about the new config")),
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
            ("last", json!({"anyOf": [named("Attempt"), {"type": "null"}]})),
            ("applied", whole()),
            ("refused", whole()),
        ],
        &[],
    );
    let config = object(
        &[
            ("file", told(or_null(text()), "`null` while what is built in runs")),
            ("version", text()),
            ("writable", flag()),
            ("config", any()),
        ],
        &[],
    );
    vec![("Changed", changed), ("Attempt", attempt), ("Reloads", reloads), ("Config", config)]
}
