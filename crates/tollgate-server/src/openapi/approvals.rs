//! OpenAPI: calls that wait for approval.

use serde_json::json;

use super::OpenApiSection;
use super::operation::Operation;
use super::response_schemas::ResponseSchemas;
use super::schema::{body, one_of};
use crate::admin::approvals::{ApprovalDecisionJson, ApprovalRequestJson, ApprovalsJson};

pub(super) fn area(responses: &mut ResponseSchemas) -> OpenApiSection {
    let unknown = [(404, "`unknown_approval`: no call awaits approval under this id")];
    let note = json!({"type": "string", "maxLength": 1000, "description": "sent to the caller with \
                                                                           `deny`"});
    OpenApiSection {
        tag: "approvals",
        about: "Calls awaiting approval.",
        operations: vec![
            Operation::new(
                "get",
                "/api/approvals",
                "listApprovals",
                "Pending approvals, oldest first",
            )
            .needs("approve")
            .gives(200, "all pending approvals", responses.of::<ApprovalsJson<'_>>()),
            Operation::new("get", "/api/approvals/{id}", "showApproval", "One pending approval")
                .needs("approve")
                .gives(200, "the call", responses.of::<ApprovalRequestJson<'_>>())
                .refuses(&unknown),
            Operation::new(
                "post",
                "/api/approvals/{id}",
                "decideApproval",
                "Approves or denies it",
            )
            .needs("approve")
            .takes(body(&[("decision", one_of(&["approve", "deny"]))], &[("note", note)]))
            .gives(200, "the decision", responses.of::<ApprovalDecisionJson<'_>>())
            .refuses(&unknown)
            .refuses(&[(409, "`decided_already`")]),
        ],
        schemas: Vec::new(),
    }
}
