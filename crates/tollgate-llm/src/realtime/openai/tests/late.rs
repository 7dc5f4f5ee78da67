//! Late results, whatever the provider says of the items that it was sent.

use serde_json::{Value, json};
use tollgate_core::tool::ResultDelivery::Wait;

use super::script::*;
use crate::realtime::events::{
    AnswerStage, CallAnswer, DialectAction, DialectEvent, RealtimeDialect,
};

/// A call that was answered as pending; returns our output item.
fn pending_call() -> (Talk, Value) {
    let mut talk = Talk::with("roll");
    talk.says(make_created_event("r1"));
    talk.says(item_done("r1", "c1:roll"));
    talk.says(finish_turn("r1", "completed", "c1:roll"));
    let item = sent_items(&mut talk, AnswerStage::Pending).remove(0);
    (talk, item)
}

/// The items that an answer sends, and how many late results it counts.
fn post(talk: &mut Talk, answered: AnswerStage) -> (Vec<Value>, usize) {
    let outcome = "the result".to_owned();
    let answer = CallAnswer { id: "c1".to_owned(), answered, outcome, delivery: Wait };
    let actions = talk.machine.on_event(DialectEvent::Answer(answer), talk.now);
    let told = actions.iter().filter(|action| **action == DialectAction::LateTold).count();
    (items(&actions), told)
}

fn items(actions: &[DialectAction]) -> Vec<Value> {
    let events = actions.iter().filter_map(|action| match action {
        DialectAction::ToProvider(text) => serde_json::from_str(text).ok(),
        _ => None,
    });
    let created = events.filter(|event: &Value| event["type"] == "conversation.item.create");
    created
        .map(|mut event| {
            event["item"]["event_id"] = event["event_id"].take();
            event["item"].take()
        })
        .collect()
}

fn sent_items(talk: &mut Talk, answered: AnswerStage) -> Vec<Value> {
    post(talk, answered).0
}

/// The same item under an id of the provider.
fn renamed(item: &Value) -> Value {
    let mut item = item.clone();
    item["id"] = json!("item_of_the_provider");
    item
}

/// The items by which a provider confirms one of ours.
type EchoedItems = fn(&Value) -> Vec<Value>;

#[test]
fn a_late_result_is_told_once_whatever_is_said_of_the_pending_one() {
    let echoes: [(&str, EchoedItems); 5] = [
        ("never", |_| Vec::new()),
        ("once", |item| vec![item.clone()]),
        ("twice", |item| vec![item.clone(), item.clone()]),
        ("under another id", |item| vec![renamed(item)]),
        ("under another id, twice", |item| vec![renamed(item), renamed(item)]),
    ];
    for (how, echo) in echoes {
        for is_before in [true, false] {
            let (mut talk, item) = pending_call();
            let says = |talk: &mut Talk| {
                for item in echo(&item) {
                    assert_eq!(talk.says(item_added(&item, None)), "", "{how}");
                }
            };
            if is_before {
                says(&mut talk);
            }
            let (sent, told) = post(&mut talk, AnswerStage::Late);
            if !is_before {
                says(&mut talk);
            }
            let kinds: Vec<&str> = sent.iter().filter_map(|item| item["type"].as_str()).collect();
            assert_eq!(kinds, ["function_call", "function_call_output"], "{how}");
            assert_eq!(sent[1]["output"], "the result", "{how}");
            assert_eq!(told, 1, "{how}");
            for item in &sent {
                assert_eq!(talk.says(item_added(item, None)), "", "{how}: it is hidden");
            }
            assert_eq!(post(&mut talk, AnswerStage::Late), (Vec::new(), 0), "{how}");
        }
    }
}

#[test]
fn our_items_have_ids_of_their_own_that_a_provider_accepts() {
    let (mut talk, pending) = pending_call();
    let mut ids = vec![pending["id"].clone()];
    ids.extend(sent_items(&mut talk, AnswerStage::Late).iter().map(|item| item["id"].clone()));
    for id in &ids {
        let id = id.as_str().expect("an id");
        assert!(id.starts_with("tg_") && id.len() <= 32, "{id}");
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn what_another_side_answered_after_us_is_not_told_by_us_as_well() {
    let (mut talk, item) = pending_call();
    talk.says(item_added(&item, None));
    talk.says(output_added("c1"));
    assert_eq!(post(&mut talk, AnswerStage::Late), (Vec::new(), 0));
}

#[test]
fn what_another_side_answered_while_it_ran_is_stopped() {
    let mut talk = Talk::with("roll");
    talk.says(make_created_event("r1"));
    talk.says(item_done("r1", "c1:roll"));
    talk.says(finish_turn("r1", "completed", "c1:roll"));
    assert_eq!(talk.says(output_added("c1")), "stop c1");
    assert_eq!(post(&mut talk, AnswerStage::Pending), (Vec::new(), 0));
    assert_eq!(post(&mut talk, AnswerStage::Late), (Vec::new(), 0));
}

#[test]
fn a_refused_late_result_is_told_once_more_under_another_id() {
    for refused in [0, 1] {
        let (mut talk, item) = pending_call();
        talk.says(item_added(&item, None));
        let (sent, told) = post(&mut talk, AnswerStage::Late);
        assert_eq!(told, 1);
        let event = sent[refused]["event_id"].as_str().expect("an event id");
        let again = talk.says(error(event, "invalid_value"));
        assert!(again.starts_with("provider: function_call call_tg"), "{again}");
        assert!(again.contains(" | provider: function_call_output call_tg"), "{again}");
        assert!(!again.contains(sent[1]["call_id"].as_str().expect("a call id")), "{again}");
        assert!(!again.contains("late told"), "{again}");
        let other = sent[1 - refused]["event_id"].as_str().expect("an event id");
        assert_eq!(talk.says(error(other, "invalid_tool_call_id")), "");
    }
}

#[test]
fn a_late_result_that_the_provider_has_is_not_told_again() {
    let (mut talk, item) = pending_call();
    talk.says(item_added(&item, None));
    let sent = sent_items(&mut talk, AnswerStage::Late);
    for item in &sent {
        talk.says(item_added(item, None));
    }
    let event = sent[1]["event_id"].as_str().expect("an event id");
    assert_eq!(talk.says(error(event, "server_error")), "");
}
