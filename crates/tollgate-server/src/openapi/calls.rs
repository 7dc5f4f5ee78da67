//! OpenAPI: running and recent calls.

use serde_json::json;

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{flag, whole};
use crate::admin::calls::CallPageJson;

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let word = || json!({"type": "string", "maxLength": 256});
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 500});
    OpenApiSection {
        tag: "calls",
        about: "Running and recent calls, from memory. Older ones are in the audit trail.",
        operations: vec![
            Operation::new("get", "/api/calls", "listCalls", "Running and recent calls")
                .needs("observe")
                .query("turn", word(), "by turn")
                .query("agent", word(), "by agent")
                .query("server", word(), "by server")
                .query("tool", word(), "the server's name of the tool")
                .query("name", word(), "a glob of exposed names")
                .query("principal", word(), "who asked")
                .query("outcome", word(), "by outcome")
                .query("probes", flag(), "`false` omits the gateway's own probes")
                .query("after", whole(), "the `next` of the previous page")
                .query("limit", limit, "calls per page; default 100")
                .gives(200, "a page", responses.of::<CallPageJson<'_>>()),
        ],
        schemas: Vec::new(),
    }
}
