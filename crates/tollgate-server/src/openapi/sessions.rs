//! OpenAPI: realtime sessions.

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{body, tier};
use crate::admin::sessions::{ForcedTierJson, SessionDetailJson, SessionsJson};

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let unknown = [(404, "`unknown_session`")];
    OpenApiSection {
        tag: "sessions",
        about: "Live sessions: their principal, tier and the reason for it.",
        operations: vec![
            Operation::new("get", "/api/sessions", "listSessions", "Live sessions, oldest first")
                .needs("observe")
                .gives(200, "all", responses.of::<SessionsJson<'_>>()),
            Operation::new(
                "get",
                "/api/sessions/{id}",
                "getSession",
                "A session, with the silences before its last answers",
            )
            .needs("observe")
            .gives(200, "the session", responses.of::<SessionDetailJson<'_>>())
            .refuses(&unknown),
            Operation::new("delete", "/api/sessions/{id}", "closeSession", "Closes a session")
                .gives_nothing(204, "it is closed")
                .refuses(&unknown),
            Operation::new(
                "post",
                "/api/sessions/{id}/tier",
                "setSessionTier",
                "Forces a tier; `null`: automatic selection",
            )
            .takes(body(&[], &[("tier", tier())]))
            .gives(200, "the new tier", responses.of::<ForcedTierJson>())
            .refuses(&unknown),
        ],
        schemas: Vec::new(),
    }
}
