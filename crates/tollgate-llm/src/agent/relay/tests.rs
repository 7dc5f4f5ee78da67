use tollgate_core::id::ExposedName;

use super::RoundRelay;
use crate::conversation::{
    ChatResponse, FunctionCall, MessagePart, PartContent, StopReason, ThoughtSignature, TokenUsage,
};
use crate::delta::{ResponseAssembly, ResponseDelta, steps};
use crate::dialect::Dialect;
use crate::extra::Extra;
use crate::turn::{OfferedTools, ToolRunMode};

fn make_offer() -> OfferedTools {
    let mut offered = OfferedTools::default();
    offered.own.insert("roll".to_owned(), ToolRunMode::Auto(ExposedName::parse("roll").unwrap()));
    offered.own.insert("ask".to_owned(), ToolRunMode::Manual);
    offered.theirs.insert("theirs".to_owned());
    offered
}

/// `!name` is a call, `?text` a thought, anything else words.
fn round(parts: &str) -> ChatResponse {
    let part = |said: &str| match (said.strip_prefix('!'), said.strip_prefix('?')) {
        (Some(name), _) => MessagePart::new(PartContent::Call(FunctionCall {
            id: name.to_owned(),
            name: name.to_owned(),
            arguments: "{}".to_owned(),
        })),
        (_, Some(text)) => {
            MessagePart::new(PartContent::Thinking { text: text.to_owned(), signature: None })
        }
        _ => MessagePart::text(said),
    };
    let parts = parts.split('|').filter(|said| !said.is_empty()).map(part).collect();
    let id = "r".to_owned();
    let model = "m".to_owned();
    let usage = TokenUsage::default();
    let extra = Extra::none();
    ChatResponse { id, model, created: 1, parts, stop: StopReason::End, usage, extra }
}

fn check(rounds: &[&str], expected: &str) {
    let mut relay = RoundRelay::default();
    let mut whole = ResponseAssembly::default();
    let mut starts = 0;
    for said in rounds {
        relay.next_round();
        for step in steps(&round(said)) {
            for passed in relay.pass(&step, &make_offer()) {
                starts += usize::from(matches!(passed, ResponseDelta::Start { .. }));
                whole.add(&passed);
            }
        }
    }
    whole.add(&relay.end(StopReason::End, TokenUsage::default()));
    let parts = whole.finish().unwrap().parts;
    let said = parts.iter().map(|part| match &part.content {
        PartContent::Call(call) => format!("!{}", call.name),
        PartContent::Thinking { text, .. } => format!("?{text}"),
        _ => part.as_text().unwrap_or("-").to_owned(),
    });
    assert_eq!(said.collect::<Vec<_>>().join("|"), expected, "{rounds:?}");
    assert_eq!(starts, 1, "one beginning");
}

#[test]
fn calls_that_are_run_here_are_left_out_and_the_others_are_not() {
    check(&["!roll", "nine"], "nine");
    check(&["!roll|!theirs|!ask|!unknown"], "!theirs|!ask");
    check(&["?hm|!roll", "?ah|nine"], "?hm|?ah|nine");
}

#[test]
fn words_of_different_rounds_do_not_run_into_each_other() {
    check(&["Let me see.|!roll", "nine"], "Let me see.|\n\nnine");
    check(&["Let me see. |!roll", "nine"], "Let me see. |nine");
    check(&["Let me see.|!roll", " nine"], "Let me see.| nine");
    check(&["a|b"], "a|b");
    check(&["!roll", "!roll", "c|d"], "c|d");
}

/// The thoughts that a client gets, each with the number of rounds that were hidden before it.
fn thoughts(maker: Dialect, rounds: &[&str]) -> Vec<(String, u32)> {
    let mut relay = RoundRelay::default();
    let mut whole = ResponseAssembly::default();
    for said in rounds {
        relay.next_round();
        let mut said = round(said);
        for part in &mut said.parts {
            if let PartContent::Thinking { signature, .. } = &mut part.content {
                *signature = Some(ThoughtSignature::new(maker, "sig"));
            }
        }
        for step in steps(&said) {
            relay.pass(&step, &make_offer()).iter().for_each(|passed| whole.add(passed));
        }
    }
    whole.add(&relay.end(StopReason::End, TokenUsage::default()));
    let parts = whole.finish().unwrap().parts;
    let thoughts = parts.into_iter().filter_map(|part| match part.content {
        PartContent::Thinking { text, signature: Some(signature) } => {
            let what = if signature.text.is_empty() { "mark".to_owned() } else { text };
            Some((what, signature.hidden_rounds))
        }
        _ => None,
    });
    thoughts.collect()
}

#[test]
fn signatures_tell_how_many_rounds_the_client_did_not_see() {
    let seen = |rounds: &[&str]| {
        let seen = thoughts(Dialect::Anthropic, rounds);
        seen.iter().map(|(what, hidden)| format!("{what}{hidden}")).collect::<Vec<_>>()
    };
    assert_eq!(seen(&["?a|nine"]), ["a0"]);
    assert_eq!(seen(&["?a|!theirs", "?b|nine"]), ["a0", "b0"], "nothing is hidden");
    assert_eq!(seen(&["?a|!roll", "?b|!roll", "?c|nine"]), ["a0", "b1", "c2"]);
    assert_eq!(seen(&["?a|!roll", "nine"]), ["a0", "mark1"]);
    assert_eq!(seen(&["?a|!roll", "!roll", "nine|ten"]), ["a0", "mark2"], "one mark is enough");
    assert_eq!(seen(&["!roll", "nine"]), <[&str; 0]>::default(), "there is nothing to mark");
    assert_eq!(seen(&["?a|!roll", "!theirs"]), ["a0", "mark1"]);
}

#[test]
fn a_signature_of_a_hidden_call_is_not_that_of_the_next_part() {
    let seen = |maker: Dialect, rounds: &[&str]| {
        let seen = thoughts(maker, rounds);
        seen.iter().map(|(what, hidden)| format!("{what}{hidden}")).collect::<Vec<_>>()
    };
    let gemini = |rounds: &[&str]| seen(Dialect::Gemini, rounds);
    assert_eq!(gemini(&["?|!theirs"]), ["0"]);
    assert_eq!(gemini(&["?|!theirs|!roll"]), ["0"], "it is on the client's own call");
    assert_eq!(gemini(&["?|!roll|!theirs"]), ["0", "mark1"]);
    assert_eq!(gemini(&["?|!roll|?|!theirs"]), ["0", "1"]);
    assert_eq!(gemini(&["?|!roll|!theirs|!theirs"]), ["0", "mark1"]);
    assert_eq!(gemini(&["?|!roll", "?|!roll|nine"]), ["0", "1", "mark2"]);
    assert_eq!(gemini(&["?|!roll|nine", "?|ten"]), ["0", "mark1", "1"]);
    assert_eq!(seen(Dialect::Anthropic, &["?a|!roll|!theirs"]), ["a0"], "it signs the thought");
}
