//! Reasoning that goes back to a model, and reasoning that does not.

use serde_json::json;

use super::*;
use crate::conversation::{FunctionCall, ThoughtSignature};

fn sol() -> ModelOrigin {
    ModelOrigin::new("openai", "gpt-6.1-sol")
}

fn thought(dialect: Dialect, model: ModelOrigin, hidden_rounds: u32) -> MessagePart {
    let signature = ThoughtSignature::new(dialect, "sig").with_origin(dialect, model);
    let signature = Some(ThoughtSignature { hidden_rounds, ..signature });
    MessagePart::new(PartContent::Thinking { text: format!("round {hidden_rounds}"), signature })
}

fn mark(dialect: Dialect, hidden_rounds: u32) -> MessagePart {
    let signature = Some(ThoughtSignature { hidden_rounds, ..ThoughtSignature::new(dialect, "") });
    MessagePart::new(PartContent::Thinking { text: String::new(), signature })
}

fn redacted() -> MessagePart {
    let value = json!({"type": "redacted_thinking", "data": "EmwK"});
    MessagePart::new(PartContent::Opaque { dialect: Dialect::Anthropic, value })
}

fn call() -> MessagePart {
    let id = "a".to_owned();
    let name = "roll".to_owned();
    MessagePart::new(PartContent::Call(FunctionCall { id, name, arguments: "{}".to_owned() }))
}

fn history(parts: Vec<MessagePart>) -> MessageList {
    let hello = ChatMessage::text(ChatRole::User, "hello");
    [hello, ChatMessage::new(ChatRole::Assistant, parts)].into_iter().collect()
}

/// The thoughts that a model gets of an answer, and what is reported.
fn texts(
    parts: Vec<MessagePart>,
    dialect: Dialect,
    model: ModelOrigin,
) -> (Vec<String>, Vec<String>) {
    let messages = history(parts);
    let (messages, lost) = match for_model(&messages, dialect, model) {
        Some(readable) => (readable.messages, readable.lost),
        None => (messages, Vec::new()),
    };
    let parts = messages.iter().skip(1).flat_map(|message| &message.parts);
    let thoughts = parts.filter_map(|part| match &part.content {
        PartContent::Thinking { text, .. } => Some(text.clone()),
        PartContent::Opaque { .. } => Some("redacted".to_owned()),
        _ => None,
    });
    (thoughts.collect(), lost)
}

#[test]
fn a_conversation_without_foreign_reasoning_is_shared_as_it_is() {
    for dialect in Dialect::ALL {
        let own = history(vec![thought(dialect, sol(), 0), redacted(), call()]);
        assert!(for_model(&own, dialect, sol()).is_none());
    }
}

#[test]
fn another_model_of_the_same_vendor_gets_no_reasoning_that_it_refuses() {
    let other = ModelOrigin::new("openai", "gpt-5.5");
    for dialect in Dialect::ALL {
        let (retained, lost) = texts(vec![thought(dialect, sol(), 0), call()], dialect, other);
        if dialect == Dialect::Anthropic {
            assert_eq!(retained, ["round 0"], "Claudes read each other's");
        } else {
            assert_eq!(lost, ["reasoning of another model"], "{dialect}");
            assert!(retained.is_empty());
        }
    }
}

#[test]
fn redacted_thoughts_of_another_provider_go_with_the_signed_ones() {
    let elsewhere = ModelOrigin::new("proxy", "claude");
    let parts = vec![thought(Dialect::Anthropic, elsewhere, 0), redacted(), call()];
    assert_eq!(texts(parts, Dialect::Anthropic, sol()).0, <[&str; 0]>::default());
}

#[test]
fn reasoning_between_hidden_calls_is_left_out() {
    for dialect in Dialect::ALL {
        let answer = || {
            let rounds = [0, 1, 2].map(|round| thought(dialect, sol(), round));
            let parts: Vec<MessagePart> =
                rounds.into_iter().chain([redacted(), MessagePart::text("42")]).collect();
            parts
        };
        let (retained, lost) = texts(answer(), dialect, sol());
        assert_eq!(lost, ["reasoning about tool calls that are not in the conversation"]);
        match dialect {
            Dialect::Anthropic => assert!(retained.is_empty(), "it is bound to what came before"),
            _ => assert_eq!(retained, ["round 2", "redacted"]),
        }
    }
}

#[test]
fn a_mark_tells_that_later_rounds_had_no_reasoning() {
    for dialect in Dialect::ALL {
        let parts = vec![thought(dialect, sol(), 0), mark(dialect, 1), MessagePart::text("42")];
        let (retained, lost) = texts(parts, dialect, sol());
        assert!(retained.is_empty() && lost.len() == 1, "{dialect}: {retained:?}");
    }
}

#[test]
fn an_answer_of_nothing_but_unreadable_reasoning_is_left_out() {
    let messages = history(vec![mark(Dialect::Gemini, 1)]);
    let readable = for_model(&messages, Dialect::OpenAiResponses, sol()).unwrap();
    assert_eq!(readable.messages.len(), 1);
    assert!(readable.lost.is_empty());
}
