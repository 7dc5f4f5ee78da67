//! What is told of a request that had to be cut.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tollgate_engine::clock::{Clock, SystemClock};

use super::{EncodingLosses, MAX_LISTED_LOSSES};
use crate::conversation::{ChatMessage, ChatRole};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::format::test_fixtures;

fn losses(fields: impl Iterator<Item = String>) -> EncodingLosses {
    let mut request = test_fixtures::request(vec![ChatMessage::text(ChatRole::User, "hi")]);
    let fields: Map<String, Value> = fields.map(|field| (field, true.into())).collect();
    request.extra = Extra::new(Dialect::Gemini, fields);
    EncodingLosses::of(&request, Dialect::Anthropic)
}

#[test]
fn each_thing_is_told_once_and_what_found_its_place_is_not() {
    let mut lost = losses(["a", "b"].map(str::to_owned).into_iter());
    lost.say("field `a`");
    lost.retract("b");
    lost.retract("never there");
    lost.say("a refusal");
    assert_eq!(lost.into_list(), ["field `a`", "a refusal"]);
}

#[test]
fn b_ch_03_a_hundred_thousand_unknown_fields_cost_no_more_than_reading_them() {
    let begun = SystemClock.now();
    let mut lost = losses((0..100_000).map(|number| format!("x{number}")));
    lost.retract("x0");
    lost.retract("x99999");
    let took = SystemClock.now() - begun;
    assert!(took < Duration::from_secs(60), "{took:?}");
    let said = lost.into_list();
    assert_eq!(said.len(), MAX_LISTED_LOSSES);
    assert_eq!(said[0], "field `x1`");
    assert_eq!(said[MAX_LISTED_LOSSES - 1], "and 99967 more");
}

#[test]
fn lost_fields_are_named_with_their_place() {
    let mut request = test_fixtures::request(vec![ChatMessage::text(ChatRole::User, "hi")]);
    let fields = json!({
        "text": {"verbosity": "low", "format": {"description": "d"}},
        "metadata": {"a": "b"},
        "reasoning": {"summary": "auto", "context": null},
    });
    request.extra = Extra::new(Dialect::OpenAiResponses, fields.as_object().unwrap().clone());
    let mark = json!({"cache_control": {"type": "ephemeral"}});
    let mark = Extra::new(Dialect::OpenAiResponses, mark.as_object().unwrap().clone());
    let mut message = ChatMessage::text(ChatRole::User, "hi");
    message.parts[0].extra = mark;
    request.messages.push(message);
    let said = EncodingLosses::of(&request, Dialect::Anthropic).into_list();
    let expected = [
        "field `text.verbosity`",
        "field `text.format.description`",
        "field `metadata`",
        "field `reasoning.summary`",
        "field `messages[].content[].cache_control`",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_long_name_is_told_by_its_beginning() {
    let said = losses(std::iter::once("x".repeat(1 << 20))).into_list();
    assert_eq!(said, [format!("field `{}…`", "x".repeat(80))]);
}
