//! The two tools, called as a model calls them.

use serde_json::{Value, json};

use super::book::RuleBook;
use super::{excerpt, tools};
use crate::builtin::{BuiltinReply, BuiltinToolContext, BuiltinToolError};

async fn call(name: &str, arguments: Value) -> Result<BuiltinReply, BuiltinToolError> {
    let tools = tools(&RuleBook::builtin());
    let tool = tools.iter().find(|tool| tool.definition()["name"] == name).unwrap();
    tool.call(arguments.as_object().unwrap(), &BuiltinToolContext::local()).await
}

#[tokio::test]
async fn a_search_gives_a_few_rules_with_a_short_text_and_their_source() {
    let reply = call("search_rules", json!({ "query": "fire" })).await.unwrap();
    let structured = reply.structured.unwrap();
    let rules = structured["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 5);
    for rule in rules {
        assert!(rule["text"].as_str().unwrap().len() <= 280);
        assert_eq!(rule["license"], "CC-BY-4.0");
        assert!(rule["source"].as_str().unwrap().contains("SRD"));
    }
    assert_eq!(reply.text.lines().count(), 5);
    assert!(reply.text.contains("(spell-fire-bolt): A cantrip with a range of 120 feet"));
}

#[tokio::test]
async fn a_rule_is_given_whole() {
    let reply = call("get_rule", json!({ "id": "condition-blinded" })).await.unwrap();
    assert!(reply.text.starts_with("Blinded. Whoever is blinded sees nothing"), "{}", reply.text);
    let structured = reply.structured.unwrap();
    assert_eq!(structured["category"], "condition");
    assert!(structured["text"].as_str().unwrap().ends_with("disadvantage."));
}

#[tokio::test]
async fn nothing_found_is_an_answer_that_helps() {
    let reply = call("search_rules", json!({ "query": "qqqq zzzz" })).await.unwrap();
    assert_eq!(
        reply.text,
        "No rule matches `qqqq zzzz`. Try the name of a condition, a spell or an action, in one or \
         two words."
    );
    assert_eq!(reply.structured.unwrap(), json!({ "rules": [], "nearest": [] }));
    let reply = call("search_rules", json!({ "query": "longrestt" })).await.unwrap();
    assert!(reply.text.contains("Long rest (general-long-rest)"), "{}", reply.text);
    assert_eq!(reply.structured.unwrap()["nearest"][0]["id"], "general-long-rest");
}

#[tokio::test]
async fn an_unknown_id_or_system_is_told_with_those_that_are_near() {
    for (name, arguments, expected) in [
        (
            "get_rule",
            json!({ "id": "condition-blindet" }),
            "there is no rule `condition-blindet`; did you mean `condition-blinded` or `condition-prone` or \
             `condition-stunned`?",
        ),
        (
            "get_rule",
            json!({ "id": "qqqqqqqq" }),
            "there is no rule `qqqqqqqq`; `search_rules` finds rules and their ids",
        ),
        (
            "search_rules",
            json!({ "query": "prone", "system": "pf2e" }),
            "there are no rules of the system `pf2e`; there are rules of `dnd5e`",
        ),
        (
            "search_rules",
            json!({ "query": "  " }),
            "`query` is empty; say what to look for, such as `grappled`",
        ),
    ] {
        let failure = call(name, arguments.clone()).await.unwrap_err();
        assert_eq!(failure.message, expected, "{arguments}");
    }
    let reply = call("search_rules", json!({ "query": "prone", "system": "DND5E" })).await.unwrap();
    assert!(reply.text.starts_with("Prone (condition-prone)"));
}

#[tokio::test]
async fn b_me_4_bad_input_gets_a_short_answer() {
    let long = "grapple ".repeat(12_800);
    for text in ["🎲🎲", "\u{0}", "\"", "*", "NEAR(", "a OR", "' OR 1=1 --", &long, "\u{202e}x"]
    {
        for (name, key) in [("search_rules", "query"), ("get_rule", "id")] {
            let answer = call(name, json!({ key: text })).await;
            let content = answer.map_or_else(|failure| failure.message, |reply| reply.text);
            assert!(!content.is_empty() && content.len() < 3_000, "{name} {text:.40}: {content}");
            assert!(!content.contains('\u{0}') && !content.contains('\u{202e}'), "{content}");
        }
    }
    for arguments in [json!({}), json!({ "query": 7 }), json!({ "query": null })] {
        let failure = call("search_rules", arguments).await.unwrap_err();
        assert_eq!(failure.message, "`query` is required and must be a string");
    }
}

#[test]
fn an_excerpt_ends_with_a_sentence_or_a_word() {
    for (text, expected) in [
        ("One. Two.", "One. Two."),
        ("One is short. Two is longer.", "One is short."),
        ("A sentence without an end in sight", "A sentence without"),
        ("ääääääääääääääääääää", "ääääääääää"),
    ] {
        assert_eq!(excerpt(text, 20), expected);
    }
}

#[test]
fn definitions_declare_latency_and_hints() {
    let tools = tools(&RuleBook::builtin());
    for (tool, latency) in tools.iter().zip([(30, 100), (5, 20)]) {
        let definition = tool.definition();
        assert_eq!(
            definition["_meta"]["dev.tollgate/latency"],
            json!({ "estimatedDurationMs": latency.0, "maxDurationMs": latency.1 })
        );
        assert_eq!(definition["annotations"]["readOnlyHint"], true);
        assert_eq!(definition["annotations"]["idempotentHint"], true);
    }
}
