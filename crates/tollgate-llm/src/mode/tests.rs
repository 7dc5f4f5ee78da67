use super::prepare;
use crate::conversation::{
    ChatMessage, ChatRequest, ChatResponse, ChatRole, GenerationOptions, MessagePart,
    ResponseDelivery, StopReason, TokenUsage, ToolChoice,
};
use crate::extra::Extra;
use crate::settings::ToolMode;

#[test]
fn without_tools_every_mode_leaves_request_and_answer_alone() {
    let request = ChatRequest {
        model: "m".to_owned(),
        messages: vec![ChatMessage::text(ChatRole::User, "Hello")].into(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Unsaid,
        options: GenerationOptions::default(),
        delivery: ResponseDelivery::Whole,
        extra: Extra::none(),
    };
    let response = ChatResponse {
        id: "a1".to_owned(),
        model: "m".to_owned(),
        created: 7,
        parts: vec![MessagePart::text(r#"{"name": "roll", "arguments": {}}"#)],
        stop: StopReason::End,
        usage: TokenUsage::default(),
        extra: Extra::none(),
    };
    for mode in [ToolMode::Native, ToolMode::Schema, ToolMode::Auto] {
        let (same, reading) = prepare(request.clone(), mode);
        assert_eq!(same, request, "{mode:?}");
        assert_eq!(reading.whole(response.clone()), response, "{mode:?}");
    }
}
