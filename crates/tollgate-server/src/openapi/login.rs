//! OpenAPI: browser login.

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{body, object, or_null, schema_ref, text, texts, time, with_description};

pub(super) fn area() -> OpenApiSection {
    let visitor = object(
        &[
            ("principal", text()),
            ("rights", texts()),
            ("agents", with_description(or_null(texts()), "`null`: all of them")),
            (
                "csrf",
                with_description(or_null(text()), "for `x-tollgate-csrf`, where the cookie counts"),
            ),
            ("expires", or_null(time())),
        ],
        &[],
    );
    OpenApiSection {
        tag: "login",
        about: "A browser exchanges a key for a cookie.",
        operations: vec![
            Operation::new(("post", "/api/login"), "logIn", "A cookie for a key")
                .open()
                .takes(body(&[("key", text())], &[]))
                .gives(200, "who it is; the cookie is in `set-cookie`", schema_ref("Visitor"))
                .refuses(&[(401, "the key opens nothing")]),
            Operation::new(("get", "/api/login"), "whoAmI", "Who asks")
                .open()
                .gives(200, "who it is", schema_ref("Visitor"))
                .refuses(&[(401, "`no_key`: nobody")]),
            Operation::new(("delete", "/api/login"), "logOut", "Forgets the cookie")
                .open()
                .gives_nothing(204, "it counts no more"),
        ],
        schemas: vec![("Visitor", visitor)],
    }
}
