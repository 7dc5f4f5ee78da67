//! OpenAPI: import of other programs' configs, and setup of client programs.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{body, flag, free, list, map, object, or_null, text, texts, with_description};

pub(super) fn area() -> OpenApiSection {
    let word = || json!({"type": "string", "maxLength": 2048});
    OpenApiSection {
        tag: "joining",
        about: "Servers that others configured or published, and programs that use this gateway. Changes nothing.",
        operations: vec![
            Operation::new(
                ("post", "/api/import"),
                "readImport",
                "What a command line, a URL or a file of another program would be in the config",
            )
            .takes(body(&[("text", text())], &[("name", text())]))
            .gives(200, "what `POST /api/servers` would take", import_preview())
            .refuses(&[(422, "`unreadable_text`: nothing of it is understood")]),
            Operation::new(
                ("get", "/api/connect"),
                "connect",
                "What other programs need to use this gateway",
            )
            .needs("observe")
            .query("agent", text(), "as this agent; the default one without it")
            .gives(
                200,
                "a text for each program, with `TOLLGATE_KEY` where a key belongs",
                client_setups(),
            )
            .refuses(&[(404, "`unknown_agent`")]),
            Operation::new(
                ("get", "/api/registry"),
                "searchRegistry",
                "MCP servers that others published",
            )
            .query("q", word(), "words of their names")
            .query("cursor", word(), "the `next` of the page before")
            .gives(200, "a page of them", registry_page())
            .refuses(&[(502, "`registry_failed`: the registry cannot be asked")]),
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
                    "of other sections of the config",
                ),
            ),
            ("dropped", list(dropped)),
            (
                "given",
                with_description(
                    map(text()),
                    "secrets of the text, by the variables that stand for them",
                ),
            ),
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
