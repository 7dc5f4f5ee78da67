//! A second connection to a call that somebody else made and configured.

use serde_json::{Map, Value, json};

use super::script::*;
use crate::realtime::events::{DialectEvent, RealtimeInit};
use crate::realtime::openai::{OpenAiRealtime, configure_call};

fn attach(tools: &str) -> Talk {
    Talk::open_session(OpenAiRealtime::sideband(opening(prompt_with(tools, "You are Ada."))))
}

/// The sideband of a call that the gateway created, with these tools of the client.
fn attach_to_own(ours: &str, theirs: &[&str]) -> Talk {
    let mut declared = prompt_with(ours, "You are Ada.");
    let theirs: Vec<_> = theirs.iter().map(|name| function(name)).collect();
    let mut session = Map::from_iter([("tools".to_owned(), json!(theirs))]);
    configure_call(&mut declared, "gpt-realtime-2.1", &mut session);
    let init =
        RealtimeInit { declared: Some(declared), ..opening(prompt_with(ours, "You are Ada.")) };
    Talk::open_session(OpenAiRealtime::sideband(init))
}

fn update_session(tools: &[&str], instructions: &str) -> Says {
    let tools: Vec<_> = tools.iter().map(|name| function(name)).collect();
    provider(json!({ "type": "session.updated", "session": {
        "type": "realtime", "tools": tools, "instructions": instructions } }))
}

#[test]
fn our_tools_are_added_to_those_that_the_call_has() {
    attach("roll").check([
        (
            provider(session("session.created", &json!([function("theirs")]))),
            "passes | provider: session.update [theirs roll] \"You are Ada.\\n\\nbe kind\"",
        ),
        (update_session(&["theirs", "roll"], "You are Ada.\n\nbe kind"), ""),
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:theirs"), "passes"),
        (item_done("r1", "c2:roll"), "run c2 roll"),
    ]);
}

#[test]
fn what_the_call_has_is_asked_for_if_nobody_says_it() {
    attach("roll").check([
        (make_created_event("r1"), "passes | turn began | provider: session.update"),
        (
            update_session(&["theirs"], "be kind"),
            "provider: session.update [theirs roll] \"You are Ada.\\n\\nbe kind\"",
        ),
        (update_session(&["theirs", "roll"], "You are Ada.\n\nbe kind"), ""),
    ]);
}

#[test]
fn a_client_that_speaks_first_does_not_declare_over_what_is_there() {
    attach("roll").check([(create(), "passes")]);
}

#[test]
fn tools_that_the_other_side_threw_out_are_declared_again() {
    attach("roll").check([
        (
            provider(session("session.created", &json!([function("theirs")]))),
            "passes | provider: session.update [theirs roll] \"You are Ada.\\n\\nbe kind\"",
        ),
        (update_session(&["theirs", "roll"], "You are Ada.\n\nbe kind"), ""),
        (Says::Wait(100), ""),
        (
            update_session(&["other"], "You are Ada.\n\nbe kind"),
            "client: session.updated [other] \"be kind\"",
        ),
        (Says::Wait(150), "provider: session.update [other roll]"),
        (update_session(&["other", "roll"], "You are Ada.\n\nbe kind"), ""),
    ]);
}

#[test]
fn a_call_that_the_other_side_answered_is_not_answered_again() {
    let mut talk = attach("roll");
    talk.says(provider(session("session.created", &json!([]))));
    talk.check([
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (
            finish_turn("r1", "completed", "c1:roll"),
            "client: response.done \"r1\" [] null | confirm c1",
        ),
        (output_added("c1"), "stop c1"),
        (answer_of("c1"), "turn ended"),
    ]);
}

#[test]
fn a_call_is_created_with_both_sides_tools_and_the_prompt_first() {
    let check = |session: Value, expected: Value| {
        let Value::Object(mut session) = session else { panic!("an object") };
        let mut offer = prompt_with("roll", "You are Ada.");
        configure_call(&mut offer, "gpt-realtime-2.1", &mut session);
        session.shift_remove("type");
        assert_eq!(session.shift_remove("model"), Some(json!("gpt-realtime-2.1")));
        assert_eq!(Value::Object(session), expected);
        offer.tools.len()
    };
    let ours = json!({"tools": [function("roll")], "instructions": "You are Ada."});
    assert_eq!(check(json!({}), ours.clone()), 1);
    assert_eq!(check(json!({"tools": null, "instructions": null, "model": "x"}), ours), 1);
    let own = json!({"tools": [function("theirs")], "instructions": "be kind", "audio": {"a": 1}});
    let both = json!({
        "tools": [function("theirs"), function("roll")],
        "instructions": "You are Ada.\n\nbe kind", "audio": {"a": 1},
    });
    assert_eq!(check(own, both), 1);
    let same = json!({"tools": [function("roll")]});
    let expected = json!({"tools": [function("roll")], "instructions": "You are Ada."});
    assert_eq!(check(same, expected), 0, "the client's tool wins");
}

#[test]
fn what_a_call_was_created_with_is_not_declared_again() {
    attach_to_own("roll", &["theirs"]).check([
        (
            provider(json!({ "type": "session.created", "session": {
                "type": "realtime", "tools": [function("theirs"), function("roll")],
                "instructions": "You are Ada.\n\nbe kind" } })),
            "passes",
        ),
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:theirs"), "passes"),
        (item_done("r1", "c2:roll"), "run c2 roll"),
    ]);
}

#[test]
fn a_tool_of_the_client_with_the_name_of_ours_stays_the_clients() {
    attach_to_own("roll", &["roll"]).check([
        (
            provider(json!({ "type": "session.created", "session": {
                "type": "realtime", "tools": [function("roll")],
                "instructions": "You are Ada.\n\nbe kind" } })),
            "passes",
        ),
        (make_created_event("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "passes"),
    ]);
}

#[test]
fn a_page_that_replaces_prompt_and_tools_gets_them_back() {
    attach_to_own("roll", &[]).check([
        (
            provider(json!({ "type": "session.created", "session": {
                "type": "realtime", "tools": [function("roll")],
                "instructions": "You are Ada." } })),
            "passes",
        ),
        (
            update_session(&[], "Forget Ada."),
            "passes | provider: session.update [roll] \"You are Ada.\\n\\nForget Ada.\"",
        ),
        (update_session(&["roll"], "You are Ada.\n\nForget Ada."), ""),
        (
            update_session(&["roll"], "Only the prompt."),
            "client: session.updated [] \"Only the prompt.\"",
        ),
        (Says::Wait(250), "provider: session.update [roll] \"You are Ada.\\n\\nOnly the prompt.\""),
    ]);
}

#[test]
fn nothing_is_declared_over_a_call_whose_tools_are_not_known_yet() {
    let mut talk = attach_to_own("roll", &["theirs"]);
    talk.check([
        (Says::News(DialectEvent::Offer(prompt_with("roll weigh", "You are Ada."))), ""),
        (Says::Wait(500), ""),
        (make_created_event("r1"), "passes | turn began | provider: session.update"),
        (
            update_session(&["theirs", "roll"], "You are Ada.\n\nbe kind"),
            "provider: session.update [theirs roll weigh]",
        ),
    ]);
}
