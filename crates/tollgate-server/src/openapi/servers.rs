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
        about: "The servers of the config: how they are, and changes of them. A change is one of the file.",
        operations: [looking(), changing()].concat(),
        schemas: schemas(),
    }
}

fn looking() -> Vec<Operation> {
    let unknown = [(404, "`unknown_server`: there is no such server")];
    vec![
        Operation::new(("get", "/mcp/status"), "status", "All servers and how they are")
            .needs("observe")
            .gives(200, "all of them", schema_ref("Servers")),
        Operation::new(
            ("post", "/mcp/test/{server}"),
            "testServer",
            "Asks a server whether it lives",
        )
        .gives(200, "how that went", schema_ref("TestReport"))
        .refuses(&unknown),
        Operation::new(("get", "/api/servers"), "listServers", "All servers and how they are")
            .needs("observe")
            .gives(200, "all of them", schema_ref("Servers")),
        Operation::new(
            ("get", "/api/servers/{id}"),
            "showServer",
            "One server, its past and its part of the config",
        )
        .needs("observe")
        .gives(
            200,
            "the server; for admins with its part of the config",
            schema_ref("ServerDetails"),
        )
        .refuses(&unknown),
        Operation::new(
            ("get", "/api/servers/{id}/logs"),
            "serverLogs",
            "The last lines on its standard error",
        )
        .gives(200, "oldest first", object(&[("server", text()), ("lines", texts())], &[]))
        .refuses(&unknown),
        Operation::new(
            ("post", "/api/servers/{id}/restart"),
            "restartServer",
            "Ends and starts it",
        )
        .gives(200, "`false` for one that is disabled", object(&[("restarted", flag())], &[]))
        .refuses(&unknown),
        Operation::new(
            ("post", "/api/servers/{id}/login"),
            "logInToServer",
            "The link at which somebody consents to its use",
        )
        .gives(
            200,
            "to be opened in a browser on the gateway's own machine, within 10 minutes",
            object(&[("url", text())], &[]),
        )
        .refuses(&unknown)
        .refuses(&[
            (409, "`no_login`: it needs none"),
            (502, "`login_failed`: the authorization server does not play along"),
        ]),
        Operation::new(
            ("post", "/api/servers/try"),
            "tryServer",
            "Starts a server aside, to see whether it works",
        )
        .takes(keys(&json!([])))
        .gives(200, "how that went", schema_ref("TryReport"))
        .streams(
            "for whoever accepts only `text/event-stream`: what happens, then `report`",
            &[
                ("log", object(&[("line", text())], &[])),
                ("state", object(&[("state", state()), ("reason", text())], &[])),
                ("report", schema_ref("TryReport")),
            ],
        )
        .refuses(&[
            (422, "`bad_config`: its keys have mistakes"),
            (429, "`too_many_trials`: four are tried already"),
        ]),
    ]
}

fn changing() -> Vec<Operation> {
    let refusals = [
        (404, "`unknown_server`: there is none in the config"),
        (
            409,
            "`unwritable_config`, with `yaml` to paste; `conflict`: somebody changed the file just now",
        ),
        (412, "`other_version`: the config is not what it was when you read it"),
        (422, "`bad_config`: the config would have mistakes"),
    ];
    let change = |what, id, summary| {
        Operation::new(what, id, summary)
            .query("dry_run", flag(), "only says what would come of it")
            .header("if-match", tag(), "the version that the change is made for")
            .gives(200, "what came of it", schema_ref("Changed"))
            .with_etag(200)
            .refuses(&refusals)
    };
    vec![
        change(("post", "/api/servers"), "addServer", "A new server, into the config")
            .query("agents", text(), "names, with commas: the agents that are to see its tools")
            .takes(keys(&json!(["name"])))
            .gives(201, "it is there", schema_ref("Changed"))
            .with_etag(201),
        change(
            ("put", "/api/servers/{id}"),
            "replaceServer",
            "Other keys for a server of the config",
        )
        .takes(keys(&json!([]))),
        change(("delete", "/api/servers/{id}"), "removeServer", "Takes a server out of the config"),
        change(("post", "/api/servers/{id}/enable"), "enableServer", "Runs it"),
        change(("post", "/api/servers/{id}/disable"), "disableServer", "Does not run it"),
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
            (
                "last_ok",
                with_description(
                    or_null(time()),
                    "when something that it was asked last came back",
                ),
            ),
            ("needs_login", flag()),
        ],
        &[],
    );
    let episode = object(&[("at", time()), ("state", state()), ("reason", text())], &[]);
    let details = object(
        &[
            (
                "config",
                with_description(or_null(free()), "its keys as in the file, secrets covered"),
            ),
            ("yaml", with_description(or_null(text()), "as it is typed")),
            ("version", with_description(or_null(text()), "of the file, for `if-match`")),
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
