//! OpenAPI: the tier of a turn.

use serde_json::json;

use super::OpenApiSection;
use super::calling::with_context_headers;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{body, flag, text, tier, whole};
use crate::rest::tier::ChosenTierJson;

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let count = json!({"type": "integer", "minimum": 0, "maximum": u32::MAX});
    let request = body(
        &[("text", text())],
        &[
            ("agent", text()),
            ("conversation", text()),
            ("queue_depth", count),
            ("override", tier()),
            ("partial", flag()),
        ],
    );
    OpenApiSection {
        tag: "turns",
        about: "Latency tiers of turns.",
        operations: vec![
            with_context_headers(Operation::new(
                "post",
                "/v1/tier",
                "chooseTier",
                "Selects the tier of a turn from its text",
            ))
            .header("x-tollgate-conversation", text(), "if the body names none")
            .header("x-tollgate-queue-depth", whole(), "if the body names none")
            .needs("execute")
            .takes(request)
            .gives(200, "the tier, the reason and the tools", responses.of::<ChosenTierJson>())
            .refuses(&[(404, "`unknown_agent`")]),
        ],
        schemas: Vec::new(),
    }
}
