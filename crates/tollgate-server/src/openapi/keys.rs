//! OpenAPI: API keys. Secrets are shown once.

use serde_json::{Value, json};

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    body, extend, list, object, one_of, or_null, schema_ref, text, texts, time, whole,
    with_description,
};

const RIGHTS: &[&str] = &["execute", "override_tier", "approve", "observe", "admin"];
const ROLES: &[&str] = &["admin", "operator", "caller"];

pub(super) fn area() -> OpenApiSection {
    let unknown = [(404, "`unknown_key`")];
    let of_config = [(409, "`key_of_config`: it is in the config; `no_keyring`")];
    let grace = json!({"type": "integer", "minimum": 0, "maximum": 2_592_000});
    OpenApiSection {
        tag: "keys",
        about: "API keys of clients. A secret is shown only once.",
        operations: vec![
            Operation::new(("get", "/api/keys"), "listKeys", "All keys").gives(
                200,
                "keys of the config and created keys",
                object(&[("keys", list(schema_ref("Key")))], &[]),
            ),
            Operation::new(("post", "/api/keys"), "makeKey", "A new key")
                .takes(new_key())
                .gives(201, "the key with its secret, shown only once", schema_ref("MadeKey"))
                .refuses(&[(409, "`key_exists`, `key_of_config` or `no_keyring`")]),
            Operation::new(
                ("delete", "/api/keys/{name}"),
                "revokeKey",
                "Revokes it; everything running under it stops within a second",
            )
            .gives_nothing(204, "revoked")
            .refuses(&unknown)
            .refuses(&of_config),
            Operation::new(("post", "/api/keys/{name}/rotate"), "rotateKey", "Rotates its secret")
                .takes(body(
                    &[],
                    &[(
                        "grace_s",
                        with_description(grace, "how long the previous secret remains valid"),
                    )],
                ))
                .gives(200, "the key with its new secret, shown only once", schema_ref("MadeKey"))
                .refuses(&unknown)
                .refuses(&of_config),
        ],
        schemas: schemas(),
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
            ("concurrent", json!({"type": "integer", "minimum": 1, "maximum": 1_000_000})),
            ("tenant", text()),
            ("expires", with_description(text(), "like `2027-01-31` or `2027-01-31T12:00:00Z`")),
        ],
    )
}

fn schemas() -> Vec<(&'static str, Value)> {
    let key = object(
        &[
            ("name", text()),
            ("origin", one_of(&["config", "made"])),
            ("role", one_of(ROLES)),
            ("agents", with_description(or_null(texts()), "`null`: all of them")),
            ("rights", list(one_of(RIGHTS))),
            ("tools", with_description(or_null(texts()), "`null`: no restriction")),
            ("rate_limit", or_null(text())),
            ("concurrent", or_null(whole())),
            ("tenant", or_null(text())),
            ("made", or_null(time())),
            ("expires", or_null(time())),
            ("last_used", or_null(time())),
            (
                "former_until",
                with_description(or_null(time()), "until then the previous secret remains valid"),
            ),
            ("revoked", or_null(time())),
        ],
        &[],
    );
    let made = extend(
        &key,
        object(&[("key", with_description(text(), "the secret, shown only once"))], &[]),
    );
    vec![("Key", key), ("MadeKey", made)]
}
