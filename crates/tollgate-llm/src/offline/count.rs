//! How many tokens the offline model takes something for: one for every four characters begun.

use crate::conversation::{CallResult, Content, Part, Request, Tool};

/// Of one token.
pub(super) const CHARACTERS: u64 = 4;

pub(super) fn of_request(request: &Request) -> u64 {
    let messages = request.messages.iter().map(|message| of_parts(&message.parts));
    let tools = request.tools.iter().map(|tool| match tool {
        Tool::Function(function) => {
            let parameters = function.parameters.as_ref().map_or(0, |it| of(&it.to_string()));
            let description = of(function.description.as_deref().unwrap_or_default());
            of(&function.name) + description + parameters
        }
        Tool::Hosted { value, .. } => of(&value.to_string()),
    });
    messages.chain(tools).sum()
}

pub(super) fn of_parts(parts: &[Part]) -> u64 {
    parts.iter().map(of_part).sum()
}

fn of_part(part: &Part) -> u64 {
    match &part.content {
        Content::Text(text) | Content::Refusal(text) | Content::Thinking { text, .. } => of(text),
        Content::Call(call) => of(&call.name) + of(&call.arguments),
        Content::Result(CallResult { parts, .. }) => of_parts(parts),
        // Nobody here looks at them.
        Content::Media(_) | Content::Opaque { .. } => 0,
    }
}

fn of(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(CHARACTERS)
}
