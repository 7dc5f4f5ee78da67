//! OpenAPI: import of other programs' configs, and setup of client programs.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{body, flag, free, list, map, object, or_null, text, texts, with_description};

pub(super) fn area() -> OpenApiSection {
    let word = || json!({"type": "string", "maxLength": 2048});
    OpenApiSection {
        tag: "joining",
        about: "Import of servers from other programs and registries, and client configuration. \
                Read-only.",
        operations: vec![
            Operation::new(
                "post",
                "/api/import",
                "readImport",
                "Converts a command line, a URL or another program's file to config entries",
            )
            .takes(body(&[("text", text())], &[("name", text())]))
            .gives(200, "the body for `POST /api/servers`", import_preview())
            .refuses(&[(422, "`unreadable_text`: the format is unknown")]),
            Operation::new(
                "get",
                "/api/connect",
                "connect",
                "Client configurations for this gateway",
            )
            .needs("observe")
            .query("agent", text(), "the agent; default: the default agent")
            .gives(
                200,
                "a text for each program, with `TOLLGATE_KEY` in place of a key",
                client_setups(),
            )
            .refuses(&[(404, "`unknown_agent`")]),
            Operation::new("get", "/api/registry", "searchRegistry", "Servers of the MCP registry")
                .query("q", word(), "words in their names")
                .query("cursor", word(), "the `next` of the previous page")
                .gives(200, "a page of servers", registry_page())
                .refuses(&[(502, "`registry_failed`: the registry is unavailable")]),
        ],
        schemas: Vec::new(),
    }
}

fn import_preview() -> Value {
    let entry = |keys: &str, more: &[(&str, Value)]| {
        let own = [("name", text()), ("clash", flag()), ("notes", texts()), (keys, free())];
        object(&[&own[..], more].concat(), &[])
    };
    let dropped = object(&[("what", text()), ("why", text())], &[]);
    object(
        &[
            ("format", text()),
            ("servers", list(entry("server", &[]))),
            (
                "others",
                with_description(
                    list(entry("keys", &[("section", text())])),
                    "entries for other sections of the config",
                ),
            ),
            ("dropped", list(dropped)),
            ("given", with_description(map(text()), "secrets found in the text, by variable name")),
        ],
        &[],
    )
}

fn client_setups() -> Value {
    let client = object(
        &[
            ("id", text()),
            ("name", text()),
            ("file", or_null(text())),
            ("language", text()),
            ("text", text()),
            ("link", or_null(text())),
            ("note", or_null(text())),
        ],
        &[],
    );
    object(&[("clients", list(client)), ("url", text()), ("needs_key", flag())], &[])
}

fn registry_page() -> Value {
    let need =
        object(&[("name", text()), ("description", or_null(text())), ("secret", flag())], &[]);
    let choice = object(
        &[("kind", text()), ("label", text()), ("server", free()), ("needs", list(need))],
        &[],
    );
    let server = object(
        &[
            ("name", text()),
            ("title", or_null(text())),
            ("description", or_null(text())),
            ("version", or_null(text())),
            ("website", or_null(text())),
            ("choices", list(choice)),
        ],
        &[],
    );
    object(&[("servers", list(server)), ("next", or_null(text()))], &[])
}
