//! OpenAPI: realtime sessions.

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{body, list, object, or_null, schema_ref, text, tier, time, whole};

pub(super) fn area() -> OpenApiSection {
    let unknown = [(404, "`unknown_session`")];
    let session = object(
        &[
            ("id", text()),
            ("principal", text()),
            ("agent", text()),
            ("dialect", text()),
            ("model", text()),
            ("tier", or_null(tier())),
            ("tier_reason", text()),
            ("tools", whole()),
            ("since", time()),
            ("turns", whole()),
            ("calls", whole()),
        ],
        &[],
    );
    let given = object(&[("id", text()), ("tier", or_null(tier()))], &[]);
    OpenApiSection {
        tag: "sessions",
        about: "Live sessions: their principal, tier and the reason for it.",
        operations: vec![
            Operation::new(("get", "/api/sessions"), "listSessions", "Live sessions, oldest first")
                .needs("observe")
                .gives(200, "all", object(&[("sessions", list(schema_ref("Session")))], &[])),
            Operation::new(("delete", "/api/sessions/{id}"), "closeSession", "Closes a session")
                .gives_nothing(204, "it is closed")
                .refuses(&unknown),
            Operation::new(
                ("post", "/api/sessions/{id}/tier"),
                "setSessionTier",
                "Forces a tier; `null`: automatic selection",
            )
            .takes(body(&[], &[("tier", tier())]))
            .gives(200, "the new tier", given)
            .refuses(&unknown),
        ],
        schemas: vec![("Session", session)],
    }
}
