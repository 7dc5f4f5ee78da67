//! OpenAPI: the event stream.

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{flag, object, text, whole};
use crate::admin::calls::call_json::CallJson;
use crate::admin::notice::realtime::{
    SessionClosedJson, SessionNoticeJson, SessionTierJson, SessionTurnJson,
};
use crate::admin::notice::{
    ApprovalDecidedJson, ApprovalRequestedJson, ConfigReloadedJson, DoubtedToolJson,
    LateResultJson, MusicNoticeJson, ServerStateJson, SlowCallJson, TierMovedJson,
    ToolDecisionJson,
};

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let events = [
        ("call_started", responses.of::<CallJson<'_>>()),
        ("call_done", responses.of::<CallJson<'_>>()),
        ("slow", responses.of::<SlowCallJson<'_>>()),
        ("late", responses.of::<LateResultJson<'_>>()),
        ("approval_requested", responses.of::<ApprovalRequestedJson<'_>>()),
        ("approval_decided", responses.of::<ApprovalDecidedJson<'_>>()),
        ("moved", responses.of::<TierMovedJson<'_>>()),
        ("doubted", responses.of::<DoubtedToolJson<'_>>()),
        ("judged", responses.of::<ToolDecisionJson<'_>>()),
        ("reloaded", responses.of::<ConfigReloadedJson<'_>>()),
        ("music", responses.of::<MusicNoticeJson<'_>>()),
        ("server_changed", responses.of::<ServerStateJson<'_>>()),
        ("missed", object(&[("count", whole())], &[])),
        ("stopping", object(&[], &[])),
        ("revoked", object(&[("code", text()), ("reason", text())], &[])),
        ("session_opened", responses.of::<SessionNoticeJson<'_>>()),
        ("session_tier", responses.of::<SessionTierJson<'_>>()),
        ("session_turn", responses.of::<SessionTurnJson<'_>>()),
        ("session_closed", responses.of::<SessionClosedJson<'_>>()),
    ];
    OpenApiSection {
        tag: "events",
        about: "Events of the gateway.",
        operations: vec![
            Operation::new("get", "/api/events", "events", "Streams all events from now on")
                .needs("observe")
                .query("calls", flag(), "also the start and end of calls")
                .streams("an endless stream", &events),
        ],
        schemas: Vec::new(),
    }
}
