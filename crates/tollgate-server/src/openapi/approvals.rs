//! OpenAPI: calls that wait for approval.

use serde_json::json;

use super::OpenApiSection;
use super::operation::Operation;
use super::schema::{
    any, body, list, object, one_of, schema_ref, text, time, whole, with_description,
};

pub(super) fn area() -> OpenApiSection {
    let unknown = [(404, "`unknown_approval`: no call awaits approval under this id")];
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
            ("reason", with_description(text(), "the reason as text")),
            ("since", time()),
            ("until", time()),
        ],
        &[("beginning", with_description(text(), "size of arguments that are too long"))],
    );
    let decided = object(
        &[("id", text()), ("name", text()), ("decision", one_of(&["approve", "deny"]))],
        &[],
    );
    let note = json!({"type": "string", "maxLength": 1000, "description": "sent to the caller with \
                                                                           `deny`"});
    OpenApiSection {
        tag: "approvals",
        about: "Calls awaiting approval.",
        operations: vec![
            Operation::new(
                ("get", "/api/approvals"),
                "listApprovals",
                "Pending approvals, oldest first",
            )
            .needs("approve")
            .gives(
                200,
                "all pending approvals",
                object(&[("approvals", list(schema_ref("Approval")))], &[]),
            ),
            Operation::new(("get", "/api/approvals/{id}"), "showApproval", "One pending approval")
                .needs("approve")
                .gives(200, "the call", schema_ref("Approval"))
                .refuses(&unknown),
            Operation::new(
                ("post", "/api/approvals/{id}"),
                "decideApproval",
                "Approves or denies it",
            )
            .needs("approve")
            .takes(body(&[("decision", one_of(&["approve", "deny"]))], &[("note", note)]))
            .gives(200, "the decision", decided)
            .refuses(&unknown)
            .refuses(&[(409, "`decided_already`")]),
        ],
        schemas: vec![("Approval", approval)],
    }
}
