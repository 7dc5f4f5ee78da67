//! The queue of calls that wait for approval, without any gate.

use serde_json::{Value, json};
use tollgate_core::approval::Decision;
use tollgate_core::mask::SecretMasker;

use super::*;

#[test]
fn arguments_that_are_too_long_say_how_long_they_are() {
    let masker = SecretMasker::new(&["pin_code".to_owned()], Vec::new());
    let shown = |arguments: &Value| ArgumentsPreview::for_approver(Some(arguments), &masker);
    let whole = shown(&json!({"b": 1, "a": "x"}));
    assert_eq!((whole.text.as_str(), whole.is_cut()), (r#"{"a":"x","b":1}"#, false));
    let secret =
        shown(&json!({"password": "hunter2hunter2", "pin_code": "4711", "to": "Ada"})).text;
    assert!(secret.contains("[masked:") && secret.contains("Ada"), "{secret}");
    assert!(!secret.contains("hunter2") && !secret.contains("4711"), "{secret}");
    assert_eq!(ArgumentsPreview::for_approver(None, &masker).text, "{}");
    let long = ArgumentsPreview::for_caller(Some(&json!({"text": "ää".repeat(100)})), 10);
    assert!(long.is_cut() && long.text.len() <= 10 && long.bytes > 400, "{long:?}");
}

#[test]
fn requests_and_verdicts_have_words() {
    let ending = |decision| ApprovalEnding::Decided(decision).as_str();
    assert_eq!([ending(Decision::Approve), ending(Decision::Deny)], ["approved", "denied"]);
    assert_eq!(
        [ApprovalEnding::Expired.as_str(), ApprovalEnding::Withdrawn.as_str()],
        ["expired", "withdrawn"]
    );
    assert_eq!(
        ApprovalQueueFullError.to_string(),
        "too many calls are awaiting approval; try again in 5 s"
    );
}
