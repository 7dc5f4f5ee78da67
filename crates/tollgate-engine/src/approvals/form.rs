//! The approval question as an `elicitation/create` form for the client's user, and the decision
//! that an answer stands for.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tollgate_core::approval::{Decision, HeldRequest};
use tollgate_core::json::{self, Object};
use tollgate_mcp::meta::ClientFacts;

use super::ArgumentsPreview;
use crate::dialogue;

pub(crate) const METHOD: &str = "elicitation/create";
/// Key of the question in `inputRequests` and of its answer (modern clients).
pub(crate) const KEY: &str = "approval";
/// Bytes of arguments that a dialog shows.
const ARGUMENTS: usize = 4 << 10;

/// Whether this client supports form elicitation.
pub(crate) fn suits(client: &ClientFacts) -> bool {
    dialogue::missing_capability(client, METHOD, None).is_none()
}

pub(crate) async fn params(held: &HeldRequest<'_>) -> Box<RawValue> {
    let whole = |arguments: Option<&Value>| ArgumentsPreview::for_caller(arguments, ARGUMENTS);
    let ArgumentsPreview { text, bytes } =
        ArgumentsPreview::of(held.permitted_request(), whole).await;
    let rest = match bytes - text.len() {
        0 => String::new(),
        left => format!("… and {left} more bytes"),
    };
    let tool = &held.tool().exposed;
    let server = &held.tool().id.server;
    let message = format!(
        "Allow the call of `{tool}` on server `{server}`?\n\nArguments: {text}{rest}\n\nYou are \
         asked because {}.",
        held.why()
    );
    let approve = json!({
        "type": "boolean",
        "title": "Allow this call",
        "description": "Yes runs it once, with these arguments",
        "default": false,
    });
    let schema =
        json!({"type": "object", "properties": {"approve": approve}, "required": ["approve"]});
    json::raw_value(&json!({"message": message, "requestedSchema": schema}))
}

/// Approves only on an explicit yes.
pub(crate) fn decision(answer: &RawValue) -> Decision {
    let approves = || {
        let answer = Object::parse(answer.get()).ok()?;
        let content = answer.object("content")?;
        let is_yes = content.get("approve")?.get() == "true";
        (is_yes && answer.string("action").as_deref() == Some("accept")).then_some(())
    };
    approves().map_or(Decision::Deny, |()| Decision::Approve)
}

#[cfg(test)]
mod tests {
    use tollgate_core::approval::Decision;
    use tollgate_core::json::raw;

    #[test]
    fn only_a_clear_yes_lets_a_call_through() {
        for (answer, expected) in [
            (r#"{"action":"accept","content":{"approve":true}}"#, Decision::Approve),
            (r#"{"action":"accept","content":{"approve":false}}"#, Decision::Deny),
            (r#"{"action":"accept","content":{"approve":"true"}}"#, Decision::Deny),
            (r#"{"action":"accept","content":{}}"#, Decision::Deny),
            (r#"{"action":"accept"}"#, Decision::Deny),
            (r#"{"action":"decline"}"#, Decision::Deny),
            (r#"{"action":"cancel","content":{"approve":true}}"#, Decision::Deny),
            (r#"{"content":{"approve":true}}"#, Decision::Deny),
            ("null", Decision::Deny),
        ] {
            assert_eq!(super::decision(&raw(answer.to_owned())), expected, "{answer}");
        }
    }
}
