//! Requests that are passed through, and requests that are not.

use serde_json::json;

use super::*;

fn is_foreign(dialect: Dialect, model: &str, body: &Value) -> bool {
    has_foreign_history(dialect, model, body.to_string().as_bytes())
}

#[test]
fn signatures_and_ids_of_the_gateway_are_recognized() {
    let thinking = json!({"messages": [{"role": "assistant", "content": [
        {"type": "thinking", "thinking": "", "signature": "tollgate:gemini:Ci"}]}]});
    assert!(is_foreign(Dialect::Anthropic, "claude-opus-5-5", &thinking));
    let sealed = json!({"input": [{"type": "reasoning", "summary": [],
        "encrypted_content": "tollgate:anthropic:EqQB"}]});
    assert!(is_foreign(Dialect::OpenAiResponses, "gpt-6.1-sol", &sealed));
    let id = json!({"input": [{"type": "function_call", "id": "fc_tollgate_0_1"}]});
    assert!(is_foreign(Dialect::OpenAiResponses, "gpt-6.1-sol", &id));
    let packed =
        json!({"contents": [{"parts": [{"text": "", "thoughtSignature": "dG9sbGdhdGU6YQ=="}]}]});
    assert!(is_foreign(Dialect::Gemini, "gemini-2.5-flash", &packed));
    let details =
        json!({"messages": [{"reasoning_details": [{"signature": "tollgate:gemini:Ci"}]}]});
    assert!(is_foreign(Dialect::OpenAiChat, "gpt-6-sol", &details));
}

#[test]
fn pictures_in_results_are_not_for_openai() {
    let body = |role: &str, kind: &str| {
        let content = json!([{"type": "text", "text": "Here."}, {"type": kind, "image_url": {}}]);
        json!({"messages": [{"role": role, "tool_call_id": "c1", "content": content}]})
    };
    let is_chat = |model, body| is_foreign(Dialect::OpenAiChat, model, &body);
    assert!(is_chat("gpt-6-sol", body("tool", "image_url")));
    assert!(!is_chat("gpt-6-sol", body("tool", "text")));
    assert!(!is_chat("gpt-6-sol", body("user", "image_url")));
    assert!(!is_chat("qwen3-vl", body("tool", "image_url")), "others take them there");
    let words = json!({"messages": [{"role": "tool", "tool_call_id": "c1",
        "content": "\"image_url\" is a kind of part"}]});
    assert!(!is_chat("gpt-6-sol", words));
}

#[test]
fn words_about_the_gateway_are_passed_through() {
    let body = json!({"messages": [{"role": "user", "content": "What does tollgate: mean?"}],
        "input": "tollgate_ids", "contents": []});
    for dialect in Dialect::ALL {
        assert!(!is_foreign(dialect, "gemini-3.8-flash", &body), "{dialect}");
    }
}

#[test]
fn unsigned_calls_of_the_current_turn_are_not_for_gemini_3() {
    let call = |signature: Option<&str>| {
        let mut part = json!({"functionCall": {"name": "roll", "args": {}}});
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature.into();
        }
        json!({"role": "model", "parts": [part, {"functionCall": {"name": "roll", "args": {}}}]})
    };
    let result = json!({"role": "user", "parts": [{"functionResponse": {"name": "roll"}}]});
    let hello = json!({"role": "user", "parts": [{"text": "hello"}]});
    let body = |contents: Value| json!({"contents": contents});
    let unsigned = body(json!([hello, call(None), result]));
    assert!(is_foreign(Dialect::Gemini, "gemini-3.8-flash", &unsigned));
    assert!(is_foreign(Dialect::Gemini, "gemini-4-argon", &unsigned));
    assert!(!is_foreign(Dialect::Gemini, "gemini-2.5-flash", &unsigned));
    let second = body(json!([hello, call(Some("Ci")), result, call(None), result]));
    assert!(is_foreign(Dialect::Gemini, "gemini-3.8-flash", &second), "in every step");
    let signed = body(json!([hello, call(Some("Ci")), result]));
    assert!(!is_foreign(Dialect::Gemini, "gemini-3.8-flash", &signed), "only the first has one");
    let earlier = body(
        json!([hello, call(None), result, {"role": "model", "parts": [{"text": "42"}]}, hello]),
    );
    assert!(!is_foreign(Dialect::Gemini, "gemini-3.8-flash", &earlier), "an earlier turn");
    let snake = body(json!([{"role": "model", "parts": [
        {"function_call": {"name": "roll"}, "thought_signature": "Ci"}]}]));
    assert!(!is_foreign(Dialect::Gemini, "gemini-3.8-flash", &snake));
}

#[test]
fn a_turn_that_began_without_thinking_is_not_for_thinking_by_hand() {
    let body = |blocks: Value, thinking: Value| {
        json!({"thinking": thinking, "messages": [
            {"role": "user", "content": "hello"}, {"role": "assistant", "content": blocks},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]})
    };
    let call = json!({"type": "tool_use", "id": "a", "name": "roll", "input": {}});
    let by_hand = json!({"type": "enabled", "budget_tokens": 1024});
    let thought = json!({"type": "thinking", "thinking": "", "signature": "EqQB"});
    let model = "claude-haiku-4-5";
    assert!(is_foreign(Dialect::Anthropic, model, &body(json!([call]), by_hand.clone())));
    assert!(!is_foreign(Dialect::Anthropic, model, &body(json!([thought, call]), by_hand.clone())));
    assert!(!is_foreign(
        Dialect::Anthropic,
        model,
        &body(json!([call]), json!({"type": "adaptive"}))
    ));
    assert!(!is_foreign(Dialect::Anthropic, model, &body(json!("text"), by_hand)));
}
