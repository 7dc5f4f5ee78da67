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
        about: "Live sessions: who talks, in which tier and why.",
        operations: vec![
            Operation::new(
                ("get", "/api/sessions"),
                "listSessions",
                "Live sessions, the oldest first",
            )
            .needs("observe")
            .gives(
                200,
                "all of them",
                object(&[("sessions", list(schema_ref("Session")))], &[]),
            ),
            Operation::new(("delete", "/api/sessions/{id}"), "closeSession", "Ends one")
                .gives_nothing(204, "it ends")
                .refuses(&unknown),
            Operation::new(
                ("post", "/api/sessions/{id}/tier"),
                "setSessionTier",
                "Insists on a tier; `null`: what is said decides again",
            )
            .takes(body(&[], &[("tier", tier())]))
            .gives(200, "the tier from now on", given)
            .refuses(&unknown),
        ],
        schemas: vec![("Session", session)],
    }
}
