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
                with_description(or_null(text()), "for `x-tollgate-csrf`, if the cookie is used"),
            ),
            ("expires", or_null(time())),
        ],
        &[],
    );
    OpenApiSection {
        tag: "login",
        about: "Browser login with a key and a cookie.",
        operations: vec![
            Operation::new("post", "/api/login", "logIn", "Logs in with a key")
                .open()
                .takes(body(&[("key", text())], &[]))
                .gives(200, "the login; the cookie is in `set-cookie`", schema_ref("Visitor"))
                .refuses(&[(401, "the key is invalid")]),
            Operation::new("get", "/api/login", "whoAmI", "The current login")
                .open()
                .gives(200, "the login", schema_ref("Visitor"))
                .refuses(&[(401, "`no_key`: not logged in")]),
            Operation::new("delete", "/api/login", "logOut", "Logs out")
                .open()
                .gives_nothing(204, "logged out"),
        ],
        schemas: vec![("Visitor", visitor)],
    }
}
