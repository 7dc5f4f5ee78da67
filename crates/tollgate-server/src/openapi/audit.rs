//! OpenAPI: the audit ledger.

use serde_json::json;

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{one_of, text, whole, with_description};
use crate::admin::audit::row::AuditRowJson;
use crate::admin::audit::{AuditPageJson, AuditVerificationJson};

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let lines = || with_description(text(), "all rows, oldest first");
    OpenApiSection {
        tag: "audit",
        about: "The audit trail: calls and decisions, in a hash chain.",
        operations: vec![
            with_filters(Operation::new(
                "get",
                "/api/audit",
                "readAudit",
                "Rows of the audit trail",
            ))
            .query("format", one_of(&["json", "jsonl", "csv"]), "a page, or all rows as a download")
            .gives(200, "a page, newest first", responses.of::<AuditPageJson<'_>>())
            .gives_media(200, "application/x-ndjson", "all rows", lines())
            .gives_media(200, "text/csv", "all rows", lines())
            .refuses(&[(503, "`audit_unreadable`")]),
            with_filters(Operation::new(
                "get",
                "/api/audit/tail",
                "followAudit",
                "Rows as they are written",
            ))
            .query("format", one_of(&["json"]), "as for `/api/audit`")
            .header("last-event-id", whole(), "continues after this row")
            .streams("an endless stream", &[("row", responses.of::<AuditRowJson<'_>>())]),
            Operation::new("get", "/api/audit/verify", "verifyAudit", "Recomputes every hash")
                .gives(200, "whether the chain is intact", responses.of::<AuditVerificationJson>())
                .refuses(&[(404, "`no_audit`"), (503, "`audit_unreadable`")]),
        ],
        schemas: Vec::new(),
    }
}

fn with_filters(operation: Operation) -> Operation {
    let word = || json!({"type": "string", "maxLength": 256});
    let moment = "a time, or a duration before now (`15m`, `7d`)";
    operation
        .query("since", word(), moment)
        .query("until", word(), moment)
        .query(
            "kind",
            word(),
            "call, approval, pin, key, server, reload, memory, login, session, refused, lost",
        )
        .query("principal", word(), "who asked")
        .query("agent", word(), "by agent")
        .query("server", word(), "by server")
        .query("tool", word(), "the server's name of the tool")
        .query("name", word(), "a glob of exposed names")
        .query("outcome", word(), "by outcome")
        .query("call", word(), "by call id")
        .query("after", whole(), "the `next` of the previous page")
        .query(
            "limit",
            json!({"type": "integer", "minimum": 1, "maximum": 1000}),
            "rows per page; default 100",
        )
        .query("order", one_of(&["newest", "oldest"]), "the sort order")
}
