//! Reasoning that is sealed for the account of one endpoint: the conversation goes on there, and
//! elsewhere without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tollgate_llm::conversation::{ChatMessage, ChatRequest, ChatResponse, ChatRole};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::settings::{ProviderApi, ProviderKind, RoutePolicy};

use crate::fake::{Act, Fake, Seen, json as whole};
use crate::pools_stage::{Pool, endpoints, route};
use crate::stage::request;

/// Refuses what another account has sealed, as the vendor does.
fn answer(asked: &Seen) -> Vec<Act> {
    let sealed_here = format!("sealed for {}", asked.header("authorization").unwrap());
    let body = asked.json();
    let sealed = reasoning(&body);
    if sealed.iter().any(|it| **it != sealed_here) {
        let message = "The encrypted content could not be verified.";
        let error = json!({"message": message, "type": "invalid_request_error", "param": null,
                           "code": "invalid_encrypted_content"});
        return whole(400, &json!({ "error": error }).to_string());
    }
    let text = json!({"type": "output_text", "text": "Hello there", "annotations": []});
    let answer = json!({
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed",
        "model": "m-id",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": sealed_here},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
             "content": [text]}
        ],
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    });
    whole(200, &answer.to_string())
}

/// What is sealed in a request.
fn reasoning(body: &Value) -> Vec<&str> {
    let items = body["input"].as_array().into_iter().flatten();
    let items = items.filter(|item| item["type"] == "reasoning");
    items.map(|item| item["encrypted_content"].as_str().unwrap_or_default()).collect()
}

/// An account that is down while the switch is on.
async fn account(down: bool) -> (Fake, Arc<AtomicBool>) {
    let is_down = Arc::new(AtomicBool::new(down));
    let switch = Arc::clone(&is_down);
    let fake = Fake::answering(move |asked| {
        if is_down.load(Ordering::Relaxed) { whole(500, "{}") } else { answer(asked) }
    });
    (fake.await, switch)
}

fn pool(fakes: &[&Fake]) -> Pool {
    let mut settings = endpoints(fakes, route(RoutePolicy::Order));
    settings.providers[0].kind = ProviderKind::OpenAi;
    settings.models[0].api = ProviderApi::Responses;
    Pool::new(&settings)
}

fn continued(before: &ChatRequest, response: ChatResponse) -> ChatRequest {
    let mut request = before.clone();
    request.messages.push(response.into_message());
    request.messages.push(ChatMessage::text(ChatRole::User, "and now?"));
    request
}

#[tokio::test]
async fn a_conversation_goes_on_at_the_account_that_made_its_reasoning() {
    let (first, first_down) = account(true).await;
    let (second, second_down) = account(false).await;
    let pool = pool(&[&first, &second]);
    let begun = request("hello");
    let response = pool.model().ask(&begun).await.unwrap();
    first_down.store(false, Ordering::Relaxed);

    // The first one is back, and comes first in the list.
    let second_turn = continued(&begun, response);
    let response = pool.model().ask(&second_turn).await.unwrap();
    let seen = second.requests_seen();
    assert_eq!((first.requests_seen().len(), seen.len()), (1, 2));
    assert_eq!(reasoning(&seen[1].json()).len(), 1, "it gets its own reasoning back");

    // A new conversation goes where the list says.
    pool.model().ask(&begun).await.unwrap();
    assert_eq!((first.requests_seen().len(), second.requests_seen().len()), (2, 2));

    // Without its account, it goes on without the reasoning.
    second_down.store(true, Ordering::Relaxed);
    let third_turn = continued(&second_turn, response);
    let answer = pool.model().ask(&third_turn).await.unwrap();
    assert_eq!(answer.text(), "Hello there");
    let tried = second.requests_seen();
    let moved = first.requests_seen();
    assert_eq!((tried.len(), moved.len()), (3, 3));
    assert_eq!(reasoning(&tried[2].json()).len(), 2);
    let sent = moved[2].json();
    assert!(reasoning(&sent).is_empty(), "{sent}");
    assert!(sent.to_string().contains("and now?") && sent.to_string().contains("Hello there"));
}

#[tokio::test]
async fn endpoints_with_one_key_are_one_account() {
    let (first, first_down) = account(true).await;
    let (second, second_down) = account(false).await;
    let mut settings = endpoints(&[&first, &second], route(RoutePolicy::Order));
    settings.providers[0].kind = ProviderKind::OpenAi;
    settings.models[0].api = ProviderApi::Responses;
    let key = settings.providers[0].endpoints[0].api_key.clone();
    settings.providers[0].endpoints[1].api_key = key;
    let pool = Pool::new(&settings);
    assert!(pool.model().may_pass(Dialect::OpenAiResponses));
    let begun = request("hello");
    let response = pool.model().ask(&begun).await.unwrap();
    first_down.store(false, Ordering::Relaxed);
    second_down.store(true, Ordering::Relaxed);
    pool.model().ask(&continued(&begun, response)).await.unwrap();
    let seen = first.requests_seen();
    assert_eq!(reasoning(&seen[1].json()).len(), 1, "any of them reads it");
}

#[tokio::test]
async fn what_would_name_no_account_is_not_passed_through() {
    let (first, _) = account(false).await;
    let (second, _) = account(false).await;
    assert!(!pool(&[&first, &second]).model().may_pass(Dialect::OpenAiResponses));
    let others = Pool::new(&endpoints(&[&first, &second], route(RoutePolicy::Order)));
    assert!(others.model().may_pass(Dialect::Anthropic), "its reasoning is bound to no account");
}
