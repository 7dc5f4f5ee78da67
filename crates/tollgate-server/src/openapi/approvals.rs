//! Calls that wait for a person's leave.

use serde_json::json;

use super::Area;
use super::operation::Operation;
use super::schema::{any, body, list, named, object, one_of, text, time, told, whole};

pub(super) fn area() -> Area {
    let unknown = [(404, "`unknown_approval`: nothing waits under this id")];
    let approval = object(
        &[
            ("id", text()),
            ("principal", text()),
            ("agent", text()),
            ("name", text()),
            ("server", text()),
            ("tool", text()),
            ("arguments", told(any(), "`null` over 64 KiB")),
            ("arguments_bytes", whole()),
            ("why", text()),
            ("reason", told(text(), "why in words")),
            ("since", time()),
            ("until", time()),
        ],
        &[("beginning", told(text(), "of arguments that are too long"))],
    );
    let decided = object(
        &[("id", text()), ("name", text()), ("decision", one_of(&["approve", "deny"]))],
        &[],
    );
    let note = json!({"type": "string", "maxLength": 1000, "description": "told to the caller with `deny`"});
    Area {
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
                object(&[("approvals", list(named("Approval")))], &[]),
            ),
            Operation::new(("get", "/api/approvals/{id}"), "showApproval", "One of them")
                .needs("approve")
                .gives(200, "the call", named("Approval"))
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
