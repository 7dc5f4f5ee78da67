//! Thoughts that a Claude binds to what was before them.

use serde_json::{Value, json};

use super::{ANTHROPIC, CHAT, convert};

const BETA: &str = "thinking-binding-controls-2026-08-01";

/// A question, an answer with thoughts, and `fields`.
fn with_thoughts(fields: &Value) -> Value {
    let mut all = fields.clone();
    all["messages"] = json!([
        {"role": "user", "content": "A"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "text", "text": "B"},
        ]},
        {"role": "user", "content": "C"},
    ]);
    all
}

#[test]
fn a_claude_leaves_out_thoughts_before_which_something_was_changed() {
    let none = json!({});
    for model in ["claude-opus-5-5", "claude-fable-5-2", "claude-sonnet-5-5"] {
        let (body, lost) = convert(ANTHROPIC, &with_thoughts(&none), ANTHROPIC, model);
        let binding = json!({"prefix_mismatch_behavior": "drop_block"});
        assert_eq!(body["thinking"], json!({"type": "adaptive", "block_binding": binding}));
        assert_eq!((&body["anthropic-beta"], lost.len()), (&json!(BETA), 0), "{model}");
    }
    for model in ["claude-opus-5", "claude-fable-5", "claude-haiku-5-5", "other"] {
        let (body, _) = convert(ANTHROPIC, &with_thoughts(&none), ANTHROPIC, model);
        assert_eq!((body.get("thinking"), body.get("anthropic-beta")), (None, None), "{model}");
    }
    let (body, _) = convert(CHAT, &none, ANTHROPIC, "claude-opus-5-5");
    assert_eq!((body.get("thinking"), body.get("anthropic-beta")), (None, None), "no thoughts");
}

#[test]
fn what_the_client_says_of_its_thoughts_goes_first() {
    let binding = json!({"prefix_mismatch_behavior": "error"});
    let thinking = json!({"type": "adaptive", "block_binding": binding});
    let own = with_thoughts(&json!({"thinking": thinking}));
    let body = convert(ANTHROPIC, &own, ANTHROPIC, "claude-opus-5-5").0;
    assert_eq!((&body["thinking"], body.get("anthropic-beta")), (&thinking, None));
    let shown = json!({"thinking": {"type": "adaptive", "display": "summarized"},
        "anthropic-beta": "new-thing-2026"});
    let body = convert(ANTHROPIC, &with_thoughts(&shown), ANTHROPIC, "claude-opus-5-5").0;
    assert_eq!(body["thinking"]["display"], "summarized");
    assert_eq!(body["thinking"]["block_binding"]["prefix_mismatch_behavior"], "drop_block");
    assert_eq!(body["anthropic-beta"], format!("new-thing-2026,{BETA}"));
    let between = json!({"thinking": {"type": "between_tools"}});
    let body = convert(ANTHROPIC, &with_thoughts(&between), ANTHROPIC, "claude-sonnet-5-5").0;
    assert_eq!((&body["thinking"], body.get("anthropic-beta")), (&between["thinking"], None));
}
