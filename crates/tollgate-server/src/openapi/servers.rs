//! OpenAPI: upstream servers, their status and their config entries.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{flag, schema_ref, text};
use crate::admin::servers::details::ServerDetailsJson;
use crate::admin::servers::trial::{TrialLineJson, TrialReportJson, TrialStateJson};
use crate::admin::servers::{LoginLinkJson, RestartJson, ServerLogJson};
use crate::ops::{ServerTestJson, StatusJson};

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    OpenApiSection {
        tag: "servers",
        about: "The servers of the config: state and changes. Changes are written to the config \
                file.",
        operations: [looking(responses), changing()].concat(),
        schemas: Vec::new(),
    }
}

fn looking(responses: &mut ResponseSchemas) -> Vec<Operation> {
    let unknown = [(404, "`unknown_server`: there is no such server")];
    vec![
        Operation::new("get", "/mcp/status", "status", "All servers with their state")
            .needs("observe")
            .gives(200, "all", responses.of::<StatusJson>()),
        Operation::new("post", "/mcp/test/{server}", "testServer", "Pings a server")
            .gives(200, "the result", responses.of::<ServerTestJson>())
            .refuses(&unknown),
        Operation::new("get", "/api/servers", "listServers", "All servers with their state")
            .needs("observe")
            .gives(200, "all", responses.of::<StatusJson>()),
        Operation::new(
            "get",
            "/api/servers/{id}",
            "showServer",
            "One server, its history and its config",
        )
        .needs("observe")
        .gives(200, "the server; for admins with its config", responses.of::<ServerDetailsJson>())
        .refuses(&unknown),
        Operation::new(
            "get",
            "/api/servers/{id}/logs",
            "serverLogs",
            "The last lines of its stderr",
        )
        .gives(200, "oldest first", responses.of::<ServerLogJson>())
        .refuses(&unknown),
        Operation::new("post", "/api/servers/{id}/restart", "restartServer", "Restarts it")
            .gives(200, "`false` if it is disabled", responses.of::<RestartJson>())
            .refuses(&unknown),
        Operation::new(
            "post",
            "/api/servers/{id}/login",
            "logInToServer",
            "Starts an OAuth login and returns its link",
        )
        .gives(
            200,
            "to open in a browser on the gateway's machine, within 10 minutes",
            responses.of::<LoginLinkJson>(),
        )
        .refuses(&unknown)
        .refuses(&[
            (409, "`no_login`: it needs none"),
            (502, "`login_failed`: the authorization server failed or refused"),
        ]),
        Operation::new("post", "/api/servers/try", "tryServer", "Tests a server without adding it")
            .takes(keys(&json!([])))
            .gives(200, "the result", responses.of::<TrialReportJson>())
            .streams(
                "with `accept: text/event-stream` only: progress events, then `report`",
                &[
                    ("log", responses.of::<TrialLineJson>()),
                    ("state", responses.of::<TrialStateJson>()),
                    ("report", responses.of::<TrialReportJson>()),
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
    let change = |method, path, id, summary| {
        Operation::new(method, path, id, summary)
            .query("dry_run", flag(), "only validates and returns the result")
            .header("if-match", tag(), "the version the change is based on")
            .gives(200, "the result", schema_ref("Changed"))
            .with_etag(200)
            .refuses(&refusals)
    };
    vec![
        change("post", "/api/servers", "addServer", "Adds a server to the config")
            .query("agents", text(), "comma-separated names of the agents that may use its tools")
            .takes(keys(&json!(["name"])))
            .gives(201, "created", schema_ref("Changed"))
            .with_etag(201),
        change("put", "/api/servers/{id}", "replaceServer", "Changes a server of the config")
            .takes(keys(&json!([]))),
        change("delete", "/api/servers/{id}", "removeServer", "Removes a server from the config"),
        change("post", "/api/servers/{id}/enable", "enableServer", "Enables it"),
        change("post", "/api/servers/{id}/disable", "disableServer", "Disables it"),
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
