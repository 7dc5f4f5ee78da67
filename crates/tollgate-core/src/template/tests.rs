//! Placeholders are filled in, and nothing else happens to a text.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{MAX_PROMPT_BYTES, PlaceholderValues, is_name, render};
use crate::agent::{Agent, Persona};
use crate::id::AgentId;

fn table(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn render_with(template: &str, request: &[(&str, &str)], own: &[(&str, &str)]) -> String {
    let persona = Persona { variables: table(own), ..Persona::default() };
    let agent = Agent { id: AgentId::parse("sage").unwrap(), persona, ..Agent::implicit() };
    let request = table(request);
    render(template, &PlaceholderValues { request: &request, agent: &agent, call_id: "c-1" })
}

#[test]
fn the_request_goes_before_the_agent_and_the_agent_before_what_is_built_in() {
    for (template, request, own, expected) in [
        ("Hi {caller_name}!", &[][..], &[][..], "Hi there!"),
        ("Hi {caller_name}!", &[], &[("caller_name", "friend")], "Hi friend!"),
        ("Hi {caller_name}!", &[("caller_name", "Ada")], &[("caller_name", "x")], "Hi Ada!"),
        ("Hi {caller_name}!", &[("caller_name", "")], &[], "Hi !"),
        ("{realm}", &[], &[("realm", "Neverwinter")], "Neverwinter"),
        ("{caller_number} {call_direction}", &[], &[], "unknown inbound"),
        ("{call_id} {context_name}", &[], &[], "c-1 sage"),
        ("<{campaign_id}{lead_id}>", &[], &[], "<>"),
        ("{call_id}", &[("call_id", "theirs")], &[], "theirs"),
        ("{a}{a}{b}", &[("a", "1"), ("b", "2")], &[], "112"),
    ] {
        assert_eq!(render_with(template, request, own), expected, "{template}");
    }
}

#[test]
fn what_is_unknown_or_broken_stays_as_it_is() {
    for text in [
        "",
        "{unknown}",
        "{",
        "}",
        "{}",
        "{ caller_name }",
        "{caller_name",
        "caller_name}",
        "{{}}",
        "{caller-name}",
        "{Caller_Name}",
        "{%if x%}",
        "{0}",
        "{x:>5}",
        "{größe}",
        "a { b } c",
        "{\n}",
    ] {
        assert_eq!(render_with(text, &[], &[]), text);
    }
    assert_eq!(render_with("{{caller_name}}", &[], &[]), "{there}");
    assert_eq!(render_with("{caller_name{caller_name}", &[], &[]), "{caller_namethere");
    let json = r#"{"name": "{caller_name}"}"#;
    assert_eq!(render_with(json, &[], &[]), r#"{"name": "there"}"#);
}

#[test]
fn b_ch_12_values_bring_no_placeholders() {
    let request = [("a", "{b}"), ("b", "{a}{caller_name}"), ("c", "{"), ("d", "call_id}")];
    assert_eq!(render_with("{a} {b}", &request, &[]), "{b} {a}{caller_name}");
    assert_eq!(render_with("{c}{d}", &request, &[]), "{call_id}", "not even in two halves");
}

#[test]
fn a_text_has_an_end() {
    let long = "ö".repeat(MAX_PROMPT_BYTES / 2);
    let text = render_with(&"{a}".repeat(50), &[("a", &long)], &[]);
    assert_eq!(text.len(), MAX_PROMPT_BYTES);
    let odd = render_with("x{a}{a}", &[("a", &long)], &[]);
    assert_eq!(odd.len(), MAX_PROMPT_BYTES - 1, "whole characters");
}

#[test]
fn names_of_variables_are_words() {
    assert!(is_name("caller_name") && is_name("A1") && is_name(&"a".repeat(64)));
    assert!(!is_name("") && !is_name("a-b") && !is_name("ö") && !is_name(&"a".repeat(65)));
}

proptest! {
    #[test]
    fn no_text_breaks_and_none_grows_beyond_its_values(
        template in "[a-c{}\\ ö]{0,40}", a in "[{}ab]{0,9}", b in "[{}ab]{0,9}",
    ) {
        let found = render_with(&template, &[("a", &a), ("b", &b)], &[]);
        let left = template.replace("{a}", "\u{1}").replace("{b}", "\u{2}");
        let expected = left.replace('\u{1}', &a).replace('\u{2}', &b);
        // `c`, `ab` and so on are no variables, and stand as they are in both.
        prop_assert_eq!(found, expected);
    }
}
