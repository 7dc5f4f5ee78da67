//! Token counting of the offline model: one token per four characters, rounded up.

use crate::conversation::{CallResult, ChatRequest, ChatTool, MessagePart, PartContent};

/// Characters per token.
pub(super) const CHARS_PER_TOKEN: u64 = 4;

pub(super) fn of_request(request: &ChatRequest) -> u64 {
    let messages = request.messages.iter().map(|message| of_parts(&message.parts));
    let tools = request.tools.iter().map(|tool| match tool {
        ChatTool::Function(function) => {
            let parameters = function.parameters.as_ref().map_or(0, |it| of(&it.to_string()));
            let description = of(function.description.as_deref().unwrap_or_default());
            of(&function.name) + description + parameters
        }
        ChatTool::Hosted { value, .. } => of(&value.to_string()),
    });
    messages.chain(tools).sum()
}

pub(super) fn of_parts(parts: &[MessagePart]) -> u64 {
    parts.iter().map(of_part).sum()
}

fn of_part(part: &MessagePart) -> u64 {
    match &part.content {
        PartContent::Text(text)
        | PartContent::Refusal(text)
        | PartContent::Thinking { text, .. } => of(text),
        PartContent::Call(call) => of(&call.name) + of(&call.arguments),
        PartContent::Result(CallResult { parts, .. }) => of_parts(parts),
        // Not counted: the offline model ignores them.
        PartContent::Media(_) | PartContent::Opaque { .. } => 0,
    }
}

fn of(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(CHARS_PER_TOKEN)
}
