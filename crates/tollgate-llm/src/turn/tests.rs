use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::id::ExposedName;

use super::{
    AfterCalls, CallRefusalReason, OfferedTools, SortedCalls, ToolRunMode, TurnBounds, TurnCallIds,
    TurnSpending, TurnStep, next, relax_choice,
};
use crate::conversation::{
    ChatMessage, ChatResponse, ChatRole, FunctionCall, MessagePart, PartContent, StopReason,
    TokenUsage, ToolChoice,
};
use crate::dialect::Dialect;
use crate::extra::Extra;

const BOUNDS: TurnBounds =
    TurnBounds { depth: 3, calls: 4, tool_time: Some(Duration::from_secs(1)) };

/// `auto_*` run, `ask_*` are manual, `their_*` are the client's, `searchTools` searches.
fn check(calls: &str, spent: TurnSpending, expected: &str) {
    check_stopped(calls, StopReason::Calls, spent, expected);
}

fn check_stopped(calls: &str, stop: StopReason, spent: TurnSpending, expected: &str) {
    let parts: Vec<MessagePart> = calls.split_whitespace().map(part).collect();
    let id = String::new();
    let model = String::new();
    let usage = TokenUsage::default();
    let extra = Extra::none();
    let response = ChatResponse { id, model, created: 0, parts, stop, usage, extra };
    let mut offered = OfferedTools::default();
    let auto = |name: &str| ToolRunMode::Auto(ExposedName::passed_through(name).unwrap());
    for (name, leave) in
        [("auto_a", auto("auto_a")), ("auto_b", auto("auto.b")), ("ask_a", ToolRunMode::Manual)]
    {
        offered.own.insert(name.to_owned(), leave);
    }
    offered.own.insert("searchTools".to_owned(), ToolRunMode::Search);
    offered.own.insert("their_twin".to_owned(), auto("their_twin"));
    offered.theirs.extend(["their_a", "their_twin"].map(str::to_owned));
    let text = match next(&response, &offered, &spent, &BOUNDS) {
        TurnStep::Finish(ended) => format!("finish {}", ended.as_str()),
        TurnStep::Deal { sorted, then } => format!("{}{}", render(&sorted), after(then)),
    };
    assert_eq!(text, expected, "{calls} {spent:?}");
}

fn part(name: &str) -> MessagePart {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let id = match name {
        "a" => "a".to_owned(),
        _ => NUMBER.fetch_add(1, Ordering::Relaxed).to_string(),
    };
    let name = name.to_owned();
    MessagePart::new(PartContent::Call(FunctionCall { id, name, arguments: "{}".to_owned() }))
}

fn render(sorted: &SortedCalls) -> String {
    let mut out = String::new();
    for own in &sorted.run {
        out.push_str(&format!("run {}, ", own.call().name));
    }
    for call in &sorted.search {
        out.push_str(&format!("search {}, ", call.name));
    }
    for (call, why) in &sorted.refused {
        let why = match why {
            CallRefusalReason::NotOffered => "unknown",
            CallRefusalReason::CutOff => "cut",
            CallRefusalReason::Limit(limit) => limit.as_str(),
        };
        out.push_str(&format!("refuse {} {why}, ", call.name));
    }
    for call in &sorted.pending {
        out.push_str(&format!("return {}, ", call.name));
    }
    out
}

fn after(then: AfterCalls) -> String {
    match then {
        AfterCalls::Ask => "ask".to_owned(),
        AfterCalls::Conclude(limit) => format!("conclude {}", limit.as_str()),
        AfterCalls::Return => "return".to_owned(),
    }
}

#[test]
fn an_answer_without_calls_is_the_end() {
    check("", TurnSpending::default(), "finish answered");
}

#[test]
fn each_call_goes_where_it_belongs() {
    let fresh = TurnSpending::default();
    check("auto_a auto_b", fresh, "run auto_a, run auto_b, ask");
    check("ask_a", fresh, "return ask_a, return");
    check("their_a", fresh, "return their_a, return");
    check("auto_a their_a", fresh, "run auto_a, return their_a, return");
    check("searchTools", fresh, "search searchTools, ask");
}

#[test]
fn s_29_what_was_not_offered_is_refused_and_the_model_may_try_again() {
    check("hidden auto_a", TurnSpending::default(), "run auto_a, refuse hidden unknown, ask");
    check("AUTO_A", TurnSpending::default(), "refuse AUTO_A unknown, ask");
}

#[test]
fn b_ch_04_a_client_tool_of_the_same_name_stays_the_clients() {
    check("their_twin", TurnSpending::default(), "return their_twin, return");
}

#[test]
fn s_33_a_turn_stops_at_exactly_its_limits() {
    let spent = |depth, calls, millis| TurnSpending {
        depth,
        calls,
        tool_time: Duration::from_millis(millis),
    };
    check("auto_a", spent(2, 2, 999), "run auto_a, ask");
    check("auto_a", spent(3, 3, 0), "refuse auto_a max_depth, conclude max_depth");
    check("auto_a", spent(1, 4, 0), "refuse auto_a max_calls, conclude max_calls");
    check("auto_a", spent(1, 1, 1_000), "refuse auto_a deadline, conclude deadline");
    let five = "auto_a auto_b auto_a auto_b auto_a";
    let four = "run auto_a, run auto_b, run auto_a, run auto_b, refuse auto_a max_calls, conclude max_calls";
    check(five, TurnSpending::default(), four);
    check("their_a auto_a", spent(3, 3, 0), "refuse auto_a max_depth, return their_a, return");
    check("hidden", spent(3, 0, 0), "refuse hidden max_depth, conclude max_depth");
}

#[test]
fn s_33_calls_that_are_not_run_are_counted_too() {
    let many = "hidden searchTools hidden searchTools hidden searchTools";
    let sorted = "search searchTools, search searchTools, refuse hidden unknown, refuse hidden \
                  unknown, refuse hidden max_calls, refuse searchTools max_calls, conclude max_calls";
    check(many, TurnSpending::default(), sorted);
}

#[test]
fn b_ch_06_a_call_that_may_be_half_of_one_is_not_run() {
    let cut = |calls: &str, expected: &str| {
        check_stopped(calls, StopReason::Length, TurnSpending::default(), expected);
    };
    cut("auto_a auto_b", "run auto_a, refuse auto_b cut, ask");
    cut("searchTools", "refuse searchTools cut, ask");
    cut("auto_a their_a", "run auto_a, return their_a, return");
}

#[test]
fn what_was_insisted_on_is_asked_for_once_and_what_was_allowed_stays() {
    let opaque = |value: Value| ToolChoice::Opaque { dialect: Dialect::OpenAiChat, value };
    for (choice, expected) in [
        (ToolChoice::Required, ToolChoice::Auto),
        (ToolChoice::Named("x".to_owned()), ToolChoice::Auto),
        (ToolChoice::None, ToolChoice::None),
        (
            opaque(json!({"allowed_tools": {"mode": "required", "tools": ["x"]}})),
            opaque(json!({"allowed_tools": {"mode": "auto", "tools": ["x"]}})),
        ),
        (
            opaque(json!({"mode": "ANY", "allowedFunctionNames": ["x"]})),
            opaque(json!({"mode": "AUTO", "allowedFunctionNames": ["x"]})),
        ),
    ] {
        assert_eq!(relax_choice(&choice), expected);
    }
}

#[test]
fn b_ch_08_no_two_calls_of_a_turn_have_one_id() {
    let earlier = ChatMessage::new(ChatRole::Assistant, vec![part("a")]);
    let mut ids = TurnCallIds::behind(&[earlier.into()]);
    let given: Vec<String> = ["a", "b", "b", "", "", "b_2"].map(|id| ids.distinct(id)).into();
    assert_eq!(given, ["a_2", "b", "b_2", "call", "call_2", "b_2_2"]);
}
