//! OpenAPI: calls that wait for approval.

use serde_json::json;

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    any, body, list, object, one_of, schema_ref, text, time, whole, with_description,
};

pub(super) fn area() -> OpenApiSection {
    let unknown = [(404, "`unknown_approval`: nothing waits under this id")];
    let approval = object(
        &[
            ("id", text()),
            ("principal", text()),
            ("agent", text()),
            ("name", text()),
            ("server", text()),
            ("tool", text()),
            ("arguments", with_description(any(), "`null` over 64 KiB")),
            ("arguments_bytes", whole()),
            ("why", text()),
            ("reason", with_description(text(), "why in words")),
            ("since", time()),
            ("until", time()),
        ],
        &[("beginning", with_description(text(), "of arguments that are too long"))],
    );
    let decided = object(
        &[("id", text()), ("name", text()), ("decision", one_of(&["approve", "deny"]))],
        &[],
    );
    let note = json!({"type": "string", "maxLength": 1000, "description": "told to the caller with `deny`"});
    OpenApiSection {
        tag: "approvals",
        about: "Calls that wait for a person's leave.",
        operations: vec![
            Operation::new(
                ("get", "/api/approvals"),
                "listApprovals",
                "What waits, the longest first",
            )
            .needs("approve")
            .gives(
                200,
                "all that waits",
                object(&[("approvals", list(schema_ref("Approval")))], &[]),
            ),
            Operation::new(("get", "/api/approvals/{id}"), "showApproval", "One of them")
                .needs("approve")
                .gives(200, "the call", schema_ref("Approval"))
                .refuses(&unknown),
            Operation::new(
                ("post", "/api/approvals/{id}"),
                "decideApproval",
                "Agrees to it, or does not",
            )
            .needs("approve")
            .takes(body(&[("decision", one_of(&["approve", "deny"]))], &[("note", note)]))
            .gives(200, "what was decided", decided)
            .refuses(&unknown)
            .refuses(&[(409, "`decided_already`")]),
        ],
        schemas: vec![("Approval", approval)],
    }
}
