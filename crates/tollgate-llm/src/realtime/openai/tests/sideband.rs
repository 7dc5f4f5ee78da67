//! A second connection to a call that somebody else made and configured.

use serde_json::json;

use super::script::*;
use crate::realtime::openai::OpenAiRealtime;

fn attach(tools: &str) -> Talk {
    Talk::open_session(OpenAiRealtime::sideband(opening(prompt_with(tools, "You are Ada."))))
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
