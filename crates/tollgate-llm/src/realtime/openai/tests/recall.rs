//! Notes of the agent's memory: the model gets them, and the client never sees them.

use std::time::Instant;

use serde_json::{Value, json};

use super::script::{offer, opening};
use crate::realtime::events::{
    DialectAction, MessageFate, RealtimeDialect, RealtimeFrame, RecallChannel,
};
use crate::realtime::openai::OpenAiRealtime;

const NOTE: &str = "From your memory: the silver key is in her boot.";

#[expect(clippy::disallowed_methods, reason = "any moment will do")]
fn fate(machine: &mut OpenAiRealtime, event: &Value) -> MessageFate {
    machine.on_provider_message(RealtimeFrame::Text(&event.to_string()), Instant::now()).fate
}

fn echo(kind: &str, item: &Value) -> Value {
    json!({"type": format!("conversation.item.{kind}"), "event_id": "e", "item": item,
           "previous_item_id": null})
}

fn message(id: &str, role: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "role": role,
           "content": [{"type": "input_text", "text": text}]})
}

#[test]
fn a_note_is_an_item_that_the_client_does_not_see() {
    let mut machine = OpenAiRealtime::new(opening(offer("roll")));
    assert_eq!(machine.recall_channel(), RecallChannel::Item);
    let actions = machine.on_recalled(NOTE);
    let [DialectAction::ToProvider(sent)] = &actions[..] else { panic!("{actions:?}") };
    let sent: Value = serde_json::from_str(sent).unwrap();
    assert_eq!(sent["type"], "conversation.item.create");
    let item = &sent["item"];
    assert_eq!((&item["role"], &item["content"][0]["text"]), (&json!("system"), &json!(NOTE)));
    assert!(item["id"].as_str().unwrap().len() <= 32);
    for kind in ["added", "done", "retrieved"] {
        assert_eq!(fate(&mut machine, &echo(kind, item)), MessageFate::Swallow, "{kind}");
    }
    // Compatible servers may name items themselves.
    let renamed = message("item_9", "system", NOTE);
    assert_eq!(fate(&mut machine, &echo("added", &renamed)), MessageFate::Swallow);
    for theirs in [message("a", "system", "Be brief."), message("b", "user", NOTE)] {
        assert_eq!(fate(&mut machine, &echo("added", &theirs)), MessageFate::Forward, "{theirs}");
    }
    // What follows does not refer to it.
    let next = json!({"type": "conversation.item.added", "item": message("c", "user", "hi"),
                      "previous_item_id": item["id"]});
    let MessageFate::Replace(seen) = fate(&mut machine, &next) else { panic!("it is named") };
    assert!(!seen.contains(item["id"].as_str().unwrap()), "{seen}");
}
