//! A browser exchanges a key for a cookie.

use super::Area;
use super::operation::Operation;
use super::schema::{body, named, object, or_null, text, texts, time, told};

pub(super) fn area() -> Area {
    let visitor = object(
        &[
            ("principal", text()),
            ("rights", texts()),
            ("agents", told(or_null(texts()), "`null`: all of them")),
            ("csrf", told(or_null(text()), "for `x-tollgate-csrf`, where the cookie counts")),
            ("expires", or_null(time())),
        ],
        &[],
    );
    Area {
        tag: "login",
        about: "A browser exchanges a key for a cookie.",
        operations: vec![
            Operation::new(("post", "/api/login"), "logIn", "A cookie for a key")
                .open()
                .takes(body(&[("key", text())], &[]))
                .gives(200, "who it is; the cookie is in `set-cookie`", named("Visitor"))
                .refuses(&[(401, "the key opens nothing")]),
            Operation::new(("get", "/api/login"), "whoAmI", "Who asks")
                .open()
                .gives(200, "who it is", named("Visitor"))
                .refuses(&[(401, "`no_key`: nobody")]),
            Operation::new(("delete", "/api/login"), "logOut", "Forgets the cookie")
                .open()
                .gives_nothing(204, "it counts no more"),
        ],
        schemas: vec![("Visitor", visitor)],
    }
}
