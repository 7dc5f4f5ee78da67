//! What a round of a turn copies of the conversation before it.

use std::sync::Arc;

use tollgate_core::lease::RevocableLease;
use tollgate_engine::Parts;
use tollgate_engine::clock::SystemClock;
use tollgate_engine::settings::EngineSettings;

use super::CompletionRun;
use tollgate_engine::model_usage::ModelCaller;

use crate::agent::{ChatService, CompletionRequest};
use crate::conversation::{
    ChatMessage, ChatRequest, ChatResponse, ChatRole, GenerationOptions, MessagePart,
    ResponseDelivery, StopReason, TokenUsage, ToolChoice,
};
use crate::extra::Extra;

const ROUNDS: usize = 10;

fn answer(number: usize) -> ChatResponse {
    ChatResponse {
        id: format!("answer-{number}"),
        model: "offline".to_owned(),
        created: 0,
        parts: vec![MessagePart::text(format!("answer {number}"))],
        stop: StopReason::End,
        usage: TokenUsage::default(),
        extra: Extra::none(),
    }
}

/// A history of 1 MB, in 64 messages.
fn long_request() -> ChatRequest {
    let text = "x".repeat(16 << 10);
    ChatRequest {
        model: "offline".to_owned(),
        messages: (0..64).map(|_| ChatMessage::text(ChatRole::User, text.as_str())).collect(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    }
}

#[tokio::test]
async fn the_rounds_of_a_turn_share_the_messages_before_them() {
    let directory = tempfile::tempdir().unwrap();
    let settings = EngineSettings::new(directory.path().to_owned());
    let running = tollgate_engine::start(&settings, Parts::default()).unwrap();
    let chat = ChatService::offline(Arc::clone(&running.gate), Arc::new(SystemClock));
    let chat = Arc::new(chat);
    let request = long_request();
    let said: Vec<*const ChatMessage> = request.messages.iter().map(Arc::as_ptr).collect();
    let prepared = chat.prepare(CompletionRequest {
        request,
        acting: None,
        chain: vec![chat.models().find("offline").unwrap()],
        lease: RevocableLease::endless(),
        trace: None,
        caller: ModelCaller::local(),
    });
    let mut run = CompletionRun::new(prepared.unwrap(), None);
    for number in 0..ROUNDS {
        let query = run.model_query();
        let written = query.offer.round(&query.request, &query.models[0]).unwrap().request;
        assert_eq!(written.messages.len(), said.len() + number);
        let sent: Vec<*const ChatMessage> = written.messages.iter().map(Arc::as_ptr).collect();
        let own: Vec<*const ChatMessage> = run.request.messages.iter().map(Arc::as_ptr).collect();
        assert_eq!(sent, own, "round {number} copies nothing");
        assert_eq!(sent[..said.len()], said, "round {number}");
        run.keep(answer(number), Vec::new());
    }
}
