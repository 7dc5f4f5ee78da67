//! Keeps keys that are restricted to agents away from the provider's account.

use tollgate_llm::conversation::{ChatRequest, ChatTool, MediaSource, MessagePart, PartContent};
use tollgate_llm::dialect::Dialect;
use tollgate_llm::error::{LlmError, LlmErrorKind};

/// Refuses features of the provider's account for keys that are restricted to some agents: hosted
/// tools, which run on the gateway's account, and stored objects, which may belong to others.
pub(super) fn keep_out(request: &ChatRequest) -> Result<(), LlmError> {
    let forbidden = |at: &str| {
        let message = format!("this key is for agents, which do not support `{at}`: remove it");
        LlmError { at: Some(at.to_owned()), ..LlmError::new(LlmErrorKind::Forbidden, message) }
    };
    if request.tools.iter().any(|tool| matches!(tool, ChatTool::Hosted { .. })) {
        return Err(forbidden("tools that the provider runs"));
    }
    for (dialect, key) in [
        (Dialect::OpenAiResponses, "conversation"),
        (Dialect::OpenAiResponses, "prompt"),
        (Dialect::Anthropic, "container"),
        (Dialect::Anthropic, "mcp_servers"),
        (Dialect::Gemini, "cachedContent"),
    ] {
        if request.extra.get(dialect, key).is_some_and(|value| !value.is_null()) {
            return Err(forbidden(key));
        }
    }
    let mut parts = request.messages.iter().flat_map(|message| &message.parts);
    let is_anothers = |part: &MessagePart| match &part.content {
        PartContent::Media(media) => matches!(media.source, MediaSource::File(_)),
        PartContent::Opaque { value, .. } => value["type"] == "item_reference",
        _ => false,
    };
    if parts.any(is_anothers) {
        Err(forbidden("file or item stored by the provider"))
    } else {
        Ok(())
    }
}
