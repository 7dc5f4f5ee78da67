//! A second connection to a call that somebody else made and configured.

use serde_json::json;

use super::script::*;
use crate::realtime::openai::OpenAiRealtime;

fn attached(tools: &str) -> Talk {
    Talk::opened(OpenAiRealtime::sideband(opening(prompted(tools, "You are Ada."))))
}

fn updated(tools: &[&str], instructions: &str) -> Says {
    let tools: Vec<_> = tools.iter().map(|name| function(name)).collect();
    provider(json!({ "type": "session.updated", "session": {
        "type": "realtime", "tools": tools, "instructions": instructions } }))
}

#[test]
fn our_tools_are_added_to_those_that_the_call_has() {
    attached("roll").check([
        (
            provider(session("session.created", &json!([function("theirs")]))),
            "passes | provider: session.update [theirs roll] \"You are Ada.\\n\\nbe kind\"",
        ),
        (updated(&["theirs", "roll"], "You are Ada.\n\nbe kind"), ""),
        (created("r1"), "passes | turn began"),
        (item_done("r1", "c1:theirs"), "passes"),
        (item_done("r1", "c2:roll"), "run c2 roll"),
    ]);
}

#[test]
fn what_the_call_has_is_asked_for_if_nobody_says_it() {
    attached("roll").check([
        (created("r1"), "passes | turn began | provider: session.update"),
        (
            updated(&["theirs"], "be kind"),
            "provider: session.update [theirs roll] \"You are Ada.\\n\\nbe kind\"",
        ),
        (updated(&["theirs", "roll"], "You are Ada.\n\nbe kind"), ""),
    ]);
}

#[test]
fn a_client_that_speaks_first_does_not_declare_over_what_is_there() {
    attached("roll").check([(create(), "passes")]);
}

#[test]
fn tools_that_the_other_side_threw_out_are_declared_again() {
    attached("roll").check([
        (
            provider(session("session.created", &json!([function("theirs")]))),
            "passes | provider: session.update [theirs roll] \"You are Ada.\\n\\nbe kind\"",
        ),
        (updated(&["theirs", "roll"], "You are Ada.\n\nbe kind"), ""),
        (Says::Wait(100), ""),
        (
            updated(&["other"], "You are Ada.\n\nbe kind"),
            "client: session.updated [other] \"be kind\"",
        ),
        (Says::Wait(150), "provider: session.update [other roll]"),
        (updated(&["other", "roll"], "You are Ada.\n\nbe kind"), ""),
    ]);
}

#[test]
fn a_call_that_the_other_side_answered_is_not_answered_again() {
    let mut talk = attached("roll");
    talk.says(provider(session("session.created", &json!([]))));
    talk.check([
        (created("r1"), "passes | turn began"),
        (item_done("r1", "c1:roll"), "run c1 roll"),
        (done("r1", "completed", "c1:roll"), "client: response.done \"r1\" [] null | confirm c1"),
        (output_added("c1"), "stop c1"),
        (answered("c1"), "turn ended"),
    ]);
}
