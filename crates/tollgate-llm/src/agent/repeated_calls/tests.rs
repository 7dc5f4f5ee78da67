use super::RepeatedCallFilter;
use crate::conversation::{PartContent, StopReason, TokenUsage};
use crate::delta::{PartOpening, ResponseAssembly, ResponseDelta};
use crate::extra::Extra;

fn open(index: usize, opening: PartOpening) -> ResponseDelta {
    ResponseDelta::Open { index, opening, extra: Extra::none() }
}

fn open_call(index: usize, id: &str) -> ResponseDelta {
    open(index, PartOpening::Call { id: id.into(), name: "roll".into() })
}

fn grow(index: usize, text: &str) -> ResponseDelta {
    ResponseDelta::Grow { index, text: text.into(), extra: Extra::none() }
}

fn close(index: usize) -> ResponseDelta {
    ResponseDelta::Close { index }
}

/// What is left of the answer. The assembly checks that its parts have no gaps.
fn filter(deltas: Vec<ResponseDelta>) -> Vec<String> {
    let mut filter = RepeatedCallFilter::default();
    let mut whole = ResponseAssembly::default();
    let end = ResponseDelta::End {
        stop: StopReason::Calls,
        usage: TokenUsage::default(),
        extra: Extra::none(),
    };
    for delta in deltas.into_iter().chain([end]) {
        filter.pass(delta).iter().for_each(|delta| whole.add(delta));
    }
    let shown = |content| match content {
        PartContent::Text(text) => text,
        PartContent::Call(call) => format!("{} {}{}", call.id, call.name, call.arguments),
        other => format!("{other:?}"),
    };
    whole.finish().unwrap().parts.into_iter().map(|part| shown(part.content)).collect()
}

fn call(index: usize, id: &str, arguments: &str) -> Vec<ResponseDelta> {
    vec![open_call(index, id), grow(index, arguments), close(index)]
}

#[test]
fn a_call_that_comes_twice_is_left_out_once() {
    let text = vec![open(2, PartOpening::Text), grow(2, "well"), close(2)];
    let deltas = [call(0, "a", "{}"), call(1, "a", "{}"), text, call(3, "b", "{}")].concat();
    assert_eq!(filter(deltas), ["a roll{}", "well", "b roll{}"]);
}

#[test]
fn calls_that_stay_open_until_the_end_are_compared_too() {
    let begun = vec![open_call(0, "a"), grow(0, "{"), open_call(1, "a"), grow(1, "{}")];
    let ended = vec![open_call(2, "b"), grow(0, "}"), close(0), close(1), grow(2, "[]"), close(2)];
    assert_eq!(filter([begun, ended].concat()), ["a roll{}", "b roll[]"]);
}

#[test]
fn b_ch_08_a_call_is_the_same_however_its_arguments_are_written() {
    let written = [r#"{"a":1,"b":[2]}"#, r#"{ "b": [2],"a":1 }"#, r#"{"b":[2],"a":1}"#];
    let deltas = written.iter().enumerate().flat_map(|(at, text)| call(at, "a", text));
    assert_eq!(filter(deltas.collect()), [format!("a roll{}", written[0])]);
    let empty = ["", "{}", " "].iter().enumerate().flat_map(|(at, text)| call(at, "a", text));
    assert_eq!(filter(empty.collect()).len(), 1);
    let torn = [call(0, "a", "{"), call(1, "a", "{ ")].concat();
    assert_eq!(filter(torn).len(), 2, "what is no JSON is compared as it is");
}

#[test]
fn b_ch_08_calls_that_only_share_their_id_are_all_kept() {
    let deltas = [call(0, "a", "{}"), call(1, "a", "[]"), call(2, "", "{}"), call(3, "", "{}")];
    assert_eq!(filter(deltas.concat()), ["a roll{}", "a roll[]", " roll{}", " roll{}"]);
}
