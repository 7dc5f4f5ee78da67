//! Parts common to all OpenAPI operations: error responses and security.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::schema::{
    free, list, object, one_of, or_null, schema_ref, text, texts, whole, with_description,
};

pub(super) fn area() -> OpenApiSection {
    let place = or_null(whole());
    let diagnostic = object(
        &[("severity", one_of(&["error", "warning"])), ("message", text())],
        &[
            ("key", or_null(text())),
            ("line", place.clone()),
            ("column", place.clone()),
            ("end_line", place.clone()),
            ("end_column", place),
            ("flag", or_null(text())),
            ("help", texts()),
        ],
    );
    let problem = object(
        &[
            ("type", text()),
            ("title", text()),
            ("status", whole()),
            ("code", with_description(text(), "stable, for programs; all are in docs/errors.md")),
            ("detail", with_description(text(), "what is wrong and what to do, as text")),
        ],
        &[
            (
                "errors",
                with_description(
                    list(schema_ref("Diagnostic")),
                    "of a config: every error and its position",
                ),
            ),
            ("yaml", with_description(text(), "text to add to the config by hand")),
            ("line", with_description(whole(), "of an import: the line where it stopped")),
            (
                "kept",
                with_description(schema_ref("Counts"), "of an import: the items imported before"),
            ),
        ],
    );
    let error = object(
        &[
            ("message", text()),
            ("type", text()),
            ("param", json!({"type": "null"})),
            ("code", text()),
        ],
        &[],
    );
    OpenApiSection {
        tag: "",
        about: "",
        operations: Vec::new(),
        schemas: vec![
            ("Problem", with_description(problem, "RFC 9457")),
            ("Diagnostic", diagnostic),
            ("Error", with_description(object(&[("error", error)], &[]), "in OpenAI's format")),
        ],
    }
}

/// Error response of a path. Below `/v1` it has the format that clients expect there.
pub(super) fn answer(path: &str, about: &str) -> Value {
    let (media, schema) = match path {
        // The format depends on the requested dialect.
        "/v1/mcp/tool/execute" => ("application/json", free()),
        path if path.starts_with("/v1/") => ("application/json", schema_ref("Error")),
        _ => ("application/problem+json", schema_ref("Problem")),
    };
    json!({"description": about, "content": {media: {"schema": schema}}})
}

pub(super) fn security() -> Value {
    json!({
        "bearer": {"type": "http", "scheme": "bearer", "description": "a key, or a token of the issuer in the config"},
        "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "tollgate-PORT",
            "description": "of `POST /api/login`; all methods but GET need its `csrf` in \
                            `x-tollgate-csrf`"},
    })
}

/// While there are no keys, `/v1` is open on loopback.
pub(super) fn security_for(path: &str, right: Option<&str>) -> Value {
    match (right, path.starts_with("/v1/")) {
        (None, _) => json!([]),
        (Some(_), true) => json!([{"bearer": []}, {"key": []}, {"cookie": []}, {}]),
        (Some(_), false) => json!([{"bearer": []}, {"key": []}, {"cookie": []}]),
    }
}
