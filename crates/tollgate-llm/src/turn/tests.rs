use std::time::Duration;

use super::{Bounds, Ids, Leave, Offered, Refused, Sorted, Spent, Step, Then, next};
use crate::conversation::{Call, Content, Message, Part, Role};

const BOUNDS: Bounds = Bounds { depth: 3, calls: 4, tool_time: Some(Duration::from_secs(1)) };

/// `auto_*` run, `ask_*` are manual, `their_*` are the client's, `searchTools` searches.
fn check(calls: &str, spent: Spent, expected: &str) {
    let parts: Vec<Part> = calls.split_whitespace().map(part).collect();
    let mut offered = Offered::default();
    for (name, leave) in
        [("auto_a", Leave::Auto), ("auto_b", Leave::Auto), ("ask_a", Leave::Manual)]
    {
        offered.own.insert(name.to_owned(), leave);
    }
    offered.own.insert("searchTools".to_owned(), Leave::Search);
    offered.own.insert("their_twin".to_owned(), Leave::Auto);
    offered.theirs.extend(["their_a", "their_twin"].map(str::to_owned));
    let said = match next(&parts, &offered, &spent, &BOUNDS) {
        Step::Finish(ended) => format!("finish {}", ended.as_str()),
        Step::Deal { sorted, then } => format!("{}{}", shown(&sorted), after(then)),
    };
    assert_eq!(said, expected, "{calls} {spent:?}");
}

fn part(name: &str) -> Part {
    let (id, name) = (name.to_owned(), name.to_owned());
    Part::new(Content::Call(Call { id, name, arguments: "{}".to_owned() }))
}

fn shown(sorted: &Sorted) -> String {
    let mut out = String::new();
    for own in &sorted.run {
        out.push_str(&format!("run {}, ", own.call().name));
    }
    for call in &sorted.search {
        out.push_str(&format!("search {}, ", call.name));
    }
    for (call, why) in &sorted.refused {
        let why = match why {
            Refused::NotOffered => "unknown",
            Refused::Limit(limit) => limit.as_str(),
        };
        out.push_str(&format!("refuse {} {why}, ", call.name));
    }
    for call in &sorted.pending {
        out.push_str(&format!("return {}, ", call.name));
    }
    out
}

fn after(then: Then) -> String {
    match then {
        Then::Ask => "ask".to_owned(),
        Then::Conclude(limit) => format!("conclude {}", limit.as_str()),
        Then::Return => "return".to_owned(),
    }
}

#[test]
fn an_answer_without_calls_is_the_end() {
    check("", Spent::default(), "finish answered");
}

#[test]
fn each_call_goes_where_it_belongs() {
    let fresh = Spent::default();
    check("auto_a auto_b", fresh, "run auto_a, run auto_b, ask");
    check("ask_a", fresh, "return ask_a, return");
    check("their_a", fresh, "return their_a, return");
    check("auto_a their_a", fresh, "run auto_a, return their_a, return");
    check("searchTools", fresh, "search searchTools, ask");
}

#[test]
fn s_29_what_was_not_offered_is_refused_and_the_model_may_try_again() {
    check("hidden auto_a", Spent::default(), "run auto_a, refuse hidden unknown, ask");
    check("AUTO_A", Spent::default(), "refuse AUTO_A unknown, ask");
}

#[test]
fn b_ch_04_a_client_tool_of_the_same_name_stays_the_clients() {
    check("their_twin", Spent::default(), "return their_twin, return");
}

#[test]
fn s_33_a_turn_stops_at_exactly_its_limits() {
    let spent =
        |depth, calls, millis| Spent { depth, calls, tool_time: Duration::from_millis(millis) };
    check("auto_a", spent(2, 2, 999), "run auto_a, ask");
    check("auto_a", spent(3, 3, 0), "refuse auto_a max_depth, conclude max_depth");
    check("auto_a", spent(1, 4, 0), "refuse auto_a max_calls, conclude max_calls");
    check("auto_a", spent(1, 1, 1_000), "refuse auto_a deadline, conclude deadline");
    let five = "auto_a auto_b auto_a auto_b auto_a";
    let four = "run auto_a, run auto_b, run auto_a, run auto_b, refuse auto_a max_calls, ask";
    check(five, Spent::default(), four);
    check("their_a auto_a", spent(3, 3, 0), "refuse auto_a max_depth, return their_a, return");
    check("hidden", spent(3, 0, 0), "refuse hidden unknown, conclude max_depth");
}

#[test]
fn b_ch_08_no_two_calls_of_a_turn_have_one_id() {
    let earlier = Message::new(Role::Assistant, vec![part("a")]);
    let mut ids = Ids::behind(&[earlier]);
    let given: Vec<String> = ["a", "b", "b", "", "", "b_2"].map(|id| ids.distinct(id)).into();
    assert_eq!(given, ["a_2", "b", "b_2", "call", "call_2", "b_2_2"]);
}
