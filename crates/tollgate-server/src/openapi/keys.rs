//! OpenAPI: API keys. Secrets are shown once.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{body, list, one_of, text, texts, with_description};
use crate::admin::keys::{IssuedKeyJson, KeysJson};

const RIGHTS: &[&str] = &["execute", "override_tier", "approve", "observe", "any_model", "admin"];
const ROLES: &[&str] = &["admin", "operator", "caller"];

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let unknown = [(404, "`unknown_key`")];
    let of_config = [(409, "`key_of_config`: it is in the config; `no_keyring`")];
    let grace = json!({"type": "integer", "minimum": 0, "maximum": 2_592_000});
    OpenApiSection {
        tag: "keys",
        about: "API keys of clients. A secret is shown only once.",
        operations: vec![
            Operation::new("get", "/api/keys", "listKeys", "All keys").gives(
                200,
                "keys of the config and created keys",
                responses.of::<KeysJson>(),
            ),
            Operation::new("post", "/api/keys", "makeKey", "A new key")
                .takes(new_key())
                .gives(
                    201,
                    "the key with its secret, shown only once",
                    responses.of::<IssuedKeyJson<'_>>(),
                )
                .refuses(&[(409, "`key_exists`, `key_of_config` or `no_keyring`")]),
            Operation::new(
                "delete",
                "/api/keys/{name}",
                "revokeKey",
                "Revokes it; everything running under it stops within a second",
            )
            .gives_nothing(204, "revoked")
            .refuses(&unknown)
            .refuses(&of_config),
            Operation::new("post", "/api/keys/{name}/rotate", "rotateKey", "Rotates its secret")
                .takes(body(
                    &[],
                    &[(
                        "grace_s",
                        with_description(grace, "how long the previous secret remains valid"),
                    )],
                ))
                .gives(
                    200,
                    "the key with its new secret, shown only once",
                    responses.of::<IssuedKeyJson<'_>>(),
                )
                .refuses(&unknown)
                .refuses(&of_config),
        ],
        schemas: Vec::new(),
    }
}

fn new_key() -> Value {
    let name = json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9@._-]{0,63}$"});
    body(
        &[("name", name)],
        &[
            ("role", one_of(ROLES)),
            ("agents", json!({"type": "array", "items": {"type": "string"}, "minItems": 1})),
            ("rights", list(one_of(RIGHTS))),
            (
                "tools",
                json!({"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 256}, "maxItems": 256}),
            ),
            ("rate_limit", with_description(text(), "like `100/min`")),
            ("model_limits", with_description(texts(), "like `60 requests/min`, `5 USD/day`")),
            ("concurrent", json!({"type": "integer", "minimum": 1, "maximum": 1_000_000})),
            ("tenant", text()),
            ("expires", with_description(text(), "like `2027-01-31` or `2027-01-31T12:00:00Z`")),
        ],
    )
}
