//! Calls and their results, in order and out of it.

use std::time::Duration;

use tollgate_engine::clock::{Clock, SystemClock};

use super::CallPairing;
use crate::conversation::{CallEnd, CallResult, ChatRole, FunctionCall};
use crate::error::LlmError;

fn call(pairing: &mut CallPairing, id: &str, name: &str) -> Result<(), LlmError> {
    let call = FunctionCall { id: id.to_owned(), name: name.to_owned(), arguments: String::new() };
    pairing.call(&call, id)
}

/// The name of the tool that is answered.
fn result(pairing: &mut CallPairing, id: &str) -> Result<Option<String>, LlmError> {
    let call_id = id.to_owned();
    let mut result = CallResult { call_id, name: None, parts: Vec::new(), end: CallEnd::Well };
    let paired = pairing.result(&mut result, "result");
    paired.map(|()| result.name)
}

#[test]
fn the_oldest_call_of_a_name_is_answered_first_and_ids_may_be_used_again() {
    let mut pairing = CallPairing::default();
    for (id, name) in [("1", "roll"), ("2", "look"), ("3", "roll")] {
        call(&mut pairing, id, name).unwrap();
    }
    assert_eq!(
        call(&mut pairing, "3", "roll").unwrap_err().message,
        "`3`: call id `3` is already used by `3`"
    );
    let mut pairing = CallPairing::default();
    for (id, name) in [("1", "roll"), ("2", "look"), ("3", "roll")] {
        call(&mut pairing, id, name).unwrap();
    }
    assert_eq!((pairing.open_for("roll"), pairing.open_for("talk")), (Some("1"), None));
    assert_eq!(result(&mut pairing, "1"), Ok(Some("roll".to_owned())));
    assert!(result(&mut pairing, "1").unwrap_err().message.contains("already has its result"));
    assert_eq!(pairing.open_for("roll"), Some("3"));
    assert!(
        pairing
            .check_all_answered()
            .unwrap_err()
            .message
            .starts_with("`2`: call `2` has no result")
    );
    call(&mut pairing, "1", "talk").unwrap();
    assert_eq!(pairing.open_for("talk"), Some("1"));
    for id in ["3", "2", "1"] {
        result(&mut pairing, id).unwrap();
    }
    assert!(pairing.check_all_answered().is_ok() && pairing.knows("1") && !pairing.knows("4"));
    assert_eq!(pairing.open_for("roll"), None);
}

#[test]
fn b_ch_03_the_calls_of_a_long_conversation_are_not_looked_through_again() {
    let begun = SystemClock.now();
    let mut pairing = CallPairing::default();
    for number in 0..50_000 {
        let id = number.to_string();
        pairing.turn(ChatRole::User).unwrap();
        pairing.turn(ChatRole::Assistant).unwrap();
        call(&mut pairing, &id, "roll").unwrap();
        assert_eq!(pairing.open_for("roll"), Some(id.as_str()));
        result(&mut pairing, &id).unwrap();
    }
    let took = SystemClock.now() - begun;
    assert!(took < Duration::from_secs(20), "{took:?}");
}
