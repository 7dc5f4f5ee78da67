use tollgate_core::call::RequestKind;
use tollgate_core::json;
use tollgate_core::policy::PermitError;
use tollgate_engine::caller::CallError;
use tollgate_mcp::Era;
use tollgate_mcp::error_code::JsonRpcError;

use super::{McpErrorReply, call_error};

/// `status code` of the error, or `result` where the tool answers.
fn describe(era: Era, kind: RequestKind, error: CallError) -> String {
    match call_error(era, kind, error) {
        McpErrorReply::Error(refused) => {
            format!("{} {}", refused.status.as_u16(), refused.error.code)
        }
        McpErrorReply::Failure(_) => "result".to_owned(),
    }
}

fn check(kind: RequestKind, error: fn() -> CallError, modern: &str, legacy: &str) {
    assert_eq!(describe(Era::Modern, kind, error()), modern, "modern: {}", error());
    assert_eq!(describe(Era::Legacy, kind, error()), legacy, "legacy: {}", error());
}

fn upstream<const CODE: i64>() -> CallError {
    CallError::Upstream(JsonRpcError::new(CODE, "no"))
}

#[test]
fn refusals_of_the_gate_have_the_code_of_each_era() {
    let tool = || PermitError::UnknownTool { name: "x".into(), nearest: vec![] }.into();
    check(RequestKind::CallTool, tool, "200 -32602", "200 -32602");
    let resource = || PermitError::UnknownResource { uri: "x:y".into() }.into();
    check(RequestKind::ReadResource, resource, "200 -32602", "200 -32002");
    check(
        RequestKind::GetPrompt,
        || PermitError::BadParams("no".into()).into(),
        "200 -32602",
        "200 -32602",
    );
    check(RequestKind::CallTool, || CallError::BadState("no"), "200 -32602", "200 -32602");
    let unanswered = || CallError::Unanswered { message: "no".into() };
    check(RequestKind::GetPrompt, unanswered, "200 -32603", "200 -32603");
    let capability = || CallError::MissingCapability {
        capability: "sampling".into(),
        required: json::raw("{\"sampling\":{}}".into()),
    };
    check(RequestKind::CallTool, capability, "400 -32021", "result");
    check(RequestKind::GetPrompt, capability, "400 -32021", "200 -32600");
}

#[test]
fn errors_of_servers_are_put_into_the_codes_of_the_client() {
    check(RequestKind::ReadResource, upstream::<-32002>, "200 -32602", "200 -32002");
    check(RequestKind::ReadResource, upstream::<-32602>, "200 -32602", "200 -32002");
    check(RequestKind::GetPrompt, upstream::<-32602>, "200 -32602", "200 -32602");
    check(RequestKind::CallTool, upstream::<-32042>, "200 -32603", "200 -32042");
    check(RequestKind::CallTool, upstream::<-32020>, "200 -32603", "200 -32603");
    check(RequestKind::CallTool, upstream::<-32021>, "400 -32021", "200 -32603");
    check(RequestKind::CallTool, upstream::<-32022>, "200 -32603", "200 -32603");
    check(RequestKind::Complete, upstream::<-32601>, "404 -32601", "200 -32601");
    check(RequestKind::CallTool, upstream::<7>, "200 7", "200 7");
}
