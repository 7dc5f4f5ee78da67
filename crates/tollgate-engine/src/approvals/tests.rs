//! The queue of calls that wait for leave, without any gate.

use serde_json::{Value, json};
use tollgate_core::approval::Decision;
use tollgate_core::mask::Masker;

use super::*;

#[test]
fn arguments_that_are_too_long_say_how_long_they_are() {
    let masker = Masker::new(&["pin_code".to_owned()], Vec::new());
    let shown = |arguments: &Value| Shown::masked(Some(arguments), &masker);
    let whole = shown(&json!({"b": 1, "a": "x"}));
    assert_eq!((whole.text.as_str(), whole.is_cut()), (r#"{"a":"x","b":1}"#, false));
    let secret =
        shown(&json!({"password": "hunter2hunter2", "pin_code": "4711", "to": "Ada"})).text;
    assert!(secret.contains("[masked:") && secret.contains("Ada"), "{secret}");
    assert!(!secret.contains("hunter2") && !secret.contains("4711"), "{secret}");
    assert_eq!(Shown::masked(None, &masker).text, "{}");
    let long = Shown::whole(Some(&json!({"text": "ää".repeat(100)})), 10);
    assert!(long.is_cut() && long.text.len() <= 10 && long.bytes > 400, "{long:?}");
}

#[test]
fn requests_and_verdicts_have_words() {
    let ending = |decision| Ending::Decided(decision).as_str();
    assert_eq!([ending(Decision::Approve), ending(Decision::Deny)], ["approved", "denied"]);
    assert_eq!([Ending::Expired.as_str(), Ending::Withdrawn.as_str()], ["expired", "withdrawn"]);
    assert_eq!(
        Full.to_string(),
        "too many calls wait for a person's leave already; try again in 5 s"
    );
}
