//! OpenAPI: upstream servers, their status and their config entries.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    extend, flag, free, list, object, one_of, or_null, schema_ref, text, texts, time, whole,
    with_description,
};

pub(super) fn area() -> OpenApiSection {
    OpenApiSection {
        tag: "servers",
        about: "The servers of the config: state and changes. Changes are written to the config \
                file.",
        operations: [looking(), changing()].concat(),
        schemas: schemas(),
    }
}

fn looking() -> Vec<Operation> {
    let unknown = [(404, "`unknown_server`: there is no such server")];
    vec![
        Operation::new(("get", "/mcp/status"), "status", "All servers with their state")
            .needs("observe")
            .gives(200, "all", schema_ref("Servers")),
        Operation::new(("post", "/mcp/test/{server}"), "testServer", "Pings a server")
            .gives(200, "the result", schema_ref("TestReport"))
            .refuses(&unknown),
        Operation::new(("get", "/api/servers"), "listServers", "All servers with their state")
            .needs("observe")
            .gives(200, "all", schema_ref("Servers")),
        Operation::new(
            ("get", "/api/servers/{id}"),
            "showServer",
            "One server, its history and its config",
        )
        .needs("observe")
        .gives(200, "the server; for admins with its config", schema_ref("ServerDetails"))
        .refuses(&unknown),
        Operation::new(
            ("get", "/api/servers/{id}/logs"),
            "serverLogs",
            "The last lines of its stderr",
        )
        .gives(200, "oldest first", object(&[("server", text()), ("lines", texts())], &[]))
        .refuses(&unknown),
        Operation::new(("post", "/api/servers/{id}/restart"), "restartServer", "Restarts it")
            .gives(200, "`false` if it is disabled", object(&[("restarted", flag())], &[]))
            .refuses(&unknown),
        Operation::new(
            ("post", "/api/servers/{id}/login"),
            "logInToServer",
            "Starts an OAuth login and returns its link",
        )
        .gives(
            200,
            "to open in a browser on the gateway's machine, within 10 minutes",
            object(&[("url", text())], &[]),
        )
        .refuses(&unknown)
        .refuses(&[
            (409, "`no_login`: it needs none"),
            (502, "`login_failed`: the authorization server failed or refused"),
        ]),
        Operation::new(
            ("post", "/api/servers/try"),
            "tryServer",
            "Tests a server without adding it",
        )
        .takes(keys(&json!([])))
        .gives(200, "the result", schema_ref("TryReport"))
        .streams(
            "with `accept: text/event-stream` only: progress events, then `report`",
            &[
                ("log", object(&[("line", text())], &[])),
                ("state", object(&[("state", state()), ("reason", text())], &[])),
                ("report", schema_ref("TryReport")),
            ],
        )
        .refuses(&[
            (422, "`bad_config`: its config is invalid"),
            (429, "`too_many_trials`: four tests are already running"),
        ]),
    ]
}

fn changing() -> Vec<Operation> {
    let refusals = [
        (404, "`unknown_server`: it is not in the config"),
        (
            409,
            "`unwritable_config`, with `yaml` to paste; `conflict`: the file was changed at the \
             same time",
        ),
        (412, "`other_version`: the config was changed after you read it"),
        (422, "`bad_config`: the config would be invalid"),
    ];
    let change = |what, id, summary| {
        Operation::new(what, id, summary)
            .query("dry_run", flag(), "only validates and returns the result")
            .header("if-match", tag(), "the version the change is based on")
            .gives(200, "the result", schema_ref("Changed"))
            .with_etag(200)
            .refuses(&refusals)
    };
    vec![
        change(("post", "/api/servers"), "addServer", "Adds a server to the config")
            .query("agents", text(), "comma-separated names of the agents that may use its tools")
            .takes(keys(&json!(["name"])))
            .gives(201, "created", schema_ref("Changed"))
            .with_etag(201),
        change(("put", "/api/servers/{id}"), "replaceServer", "Changes a server of the config")
            .takes(keys(&json!([]))),
        change(("delete", "/api/servers/{id}"), "removeServer", "Removes a server from the config"),
        change(("post", "/api/servers/{id}/enable"), "enableServer", "Enables it"),
        change(("post", "/api/servers/{id}/disable"), "disableServer", "Disables it"),
    ]
}

pub(super) fn tag() -> Value {
    json!({"type": "string", "pattern": "^(\\*|\"[^\"]+\")$"})
}

/// A server entry of the config. `docs/configuration.md` documents its keys.
fn keys(needed: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 64},
            "command": {"type": ["array", "null"], "items": {"type": "string"}},
            "url": {"type": ["string", "null"]},
        },
        "required": needed,
        "additionalProperties": true,
    })
}

pub(super) fn state() -> Value {
    one_of(&["starting", "ready", "degraded", "offline", "failed", "disabled"])
}

fn schemas() -> Vec<(&'static str, Value)> {
    let server = object(
        &[
            ("id", text()),
            ("transport", one_of(&["stdio", "streamable-http", "sse", "in-process"])),
            ("enabled", flag()),
            ("state", state()),
            ("reason", text()),
            ("since", time()),
            ("restarts", whole()),
            ("late_answers", whole()),
            ("protocol", or_null(text())),
            ("tools", whole()),
            ("last_error", or_null(text())),
            ("pid", or_null(whole())),
            ("category", or_null(text())),
            ("trusted", flag()),
            ("last_ok", with_description(or_null(time()), "time of its last response")),
            ("needs_login", flag()),
        ],
        &[],
    );
    let episode = object(&[("at", time()), ("state", state()), ("reason", text())], &[]);
    let details = object(
        &[
            (
                "config",
                with_description(or_null(free()), "its config as in the file, with secrets masked"),
            ),
            ("yaml", with_description(or_null(text()), "as text")),
            ("version", with_description(or_null(text()), "version of the file, for `if-match`")),
            ("writable", or_null(flag())),
            ("history", with_description(list(episode), "the last 50 states, newest first")),
        ],
        &[],
    );
    let offered = object(
        &[("name", text()), ("title", or_null(text())), ("description", or_null(text()))],
        &[],
    );
    let report =
        [("ok", flag()), ("message", text()), ("protocol", or_null(text())), ("took_ms", whole())];
    let with = |tools: Value| {
        let all: Vec<(&str, Value)> = report.iter().cloned().chain([("tools", tools)]).collect();
        object(&all, &[])
    };
    vec![
        ("Servers", object(&[("servers", list(schema_ref("Server")))], &[])),
        ("ServerDetails", extend(&server, details)),
        ("Server", server),
        ("TestReport", with(whole())),
        ("TryReport", with(list(offered))),
    ]
}
