//! The neutral conversation model. Every dialect decodes into it and encodes from it; what it
//! cannot express is carried along as [`Extra`] or [`PartContent::Opaque`].

use std::sync::Arc;

use serde_json::{Number, Value};

use crate::dialect::Dialect;
use crate::extra::Extra;

mod message_list;
pub mod readable_reasoning;
mod thought_signature;

pub use message_list::MessageList;
pub use thought_signature::{ENCODED_SIGNATURE_STARTS, ModelOrigin, ThoughtSignature};

/// A request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// From a client: the name of a model or an agent. To a provider: the provider's name of the
    /// model.
    pub model: String,
    /// Includes system prompts, usually first.
    pub messages: MessageList,
    pub tools: Vec<ChatTool>,
    pub tool_choice: ToolChoice,
    pub options: GenerationOptions,
    pub delivery: ResponseDelivery,
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseDelivery {
    Whole,
    Streamed,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    pub role: ChatRole,
    pub parts: Vec<MessagePart>,
    pub extra: Extra,
}

/// Tool results are parts of a user message, whatever a dialect calls that role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatRole {
    System,
    Developer,
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MessagePart {
    pub content: PartContent,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartContent {
    Text(String),
    /// A model's refusal to answer.
    Refusal(String),
    Thinking {
        text: String,
        signature: Option<ThoughtSignature>,
    },
    Media(ChatMedia),
    Call(FunctionCall),
    Result(CallResult),
    /// A whole part that only its own dialect understands.
    Opaque {
        dialect: Dialect,
        value: Value,
    },
}

/// An image, audio, or document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMedia {
    pub kind: MediaKind,
    pub source: MediaSource,
    /// File name, if there is one.
    pub name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    Image,
    Audio,
    Video,
    Document,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    Url(String),
    Base64 {
        /// For example `image/png`.
        media_type: String,
        data: String,
    },
    /// Id of a file stored at the provider.
    File(String),
}

/// A tool call requested by a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FunctionCall {
    pub id: String,
    pub name: String,
    /// Arguments as the model wrote them; not necessarily valid JSON.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    pub call_id: String,
    /// Name of the tool. Some dialects match results by name.
    pub name: Option<String>,
    /// Text, media, and parts that only the dialect understands.
    pub parts: Vec<MessagePart>,
    pub end: CallEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    Well,
    Failed,
}

/// A tool sent by the client or offered by the gateway.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatTool {
    Function(Function),
    /// Run by the provider itself, such as a web search.
    Hosted {
        dialect: Dialect,
        value: Value,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub name: String,
    pub description: Option<String>,
    /// A JSON Schema; `None`: no parameters.
    pub parameters: Option<Value>,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolChoice {
    /// Not specified.
    Unsaid,
    Auto,
    None,
    /// Some tool must be called.
    Required,
    Named(String),
    /// One that only its own dialect has.
    Opaque {
        dialect: Dialect,
        value: Value,
    },
}

/// Generation parameters. Unset options are not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerationOptions {
    /// In tokens.
    pub max_output: Option<u64>,
    pub temperature: Option<Number>,
    pub top_p: Option<Number>,
    pub top_k: Option<Number>,
    pub seed: Option<Number>,
    pub presence_penalty: Option<Number>,
    pub frequency_penalty: Option<Number>,
    pub stop: Vec<String>,
    pub parallel_calls: Option<ParallelCalls>,
    pub output: Option<ResponseFormat>,
    /// Reasoning effort: `minimal`, `low`, `medium`, `high`.
    pub effort: Option<String>,
    /// The end user, as named by the client.
    pub user: Option<String>,
    /// Number of alternative answers; `None`: one.
    pub candidates: Option<u64>,
    /// From a client: whether the answer is kept, so that a later request can continue it; `None`:
    /// not specified. To a provider: whether it may keep the conversation.
    pub store: Option<bool>,
    /// Name of the agent whose prompt and tools the request begins with, for providers that cache
    /// the beginning of requests. `None`: a model without an agent.
    pub cached_for: Option<String>,
    /// The last message is an instruction for this request alone: the prefix to cache ends before it.
    pub ends_in_aside: bool,
}

/// Whether a model may make several calls at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParallelCalls {
    Allowed,
    Forbidden,
}

/// Required format of the answer's text.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseFormat {
    Json,
    Schema { name: String, schema: Value, strict: Option<bool> },
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatResponse {
    pub id: String,
    pub model: String,
    /// Seconds since 1970; 0: unknown.
    pub created: u64,
    pub parts: Vec<MessagePart>,
    pub stop: StopReason,
    pub usage: TokenUsage,
    pub extra: Extra,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The answer is complete.
    End,
    /// One of the client's stop sequences, if the dialect says which.
    Sequence(Option<String>),
    /// The token limit was reached.
    Length,
    /// Calls wait for their results.
    Calls,
    /// Stopped by the provider's content filter.
    Filtered,
    /// The model refused.
    Refused,
    /// A reason that only its own dialect has.
    Other { dialect: Dialect, reason: String },
}

impl StopReason {
    /// Whether the model finished its answer; otherwise its last call may be incomplete.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::End | Self::Sequence(_) | Self::Calls => true,
            Self::Length | Self::Filtered | Self::Refused | Self::Other { .. } => false,
        }
    }
}

/// Token counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// The whole prompt, including the cached part.
    pub input: u64,
    pub output: u64,
    /// The part of the input that was read from the provider's cache.
    pub cache_read: u64,
    /// The part of the input that was written into it.
    pub cache_written: u64,
    /// The part of the output that was reasoning.
    pub reasoning: u64,
}

impl TokenUsage {
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Sum over the rounds of a turn.
    #[must_use]
    pub fn and(&self, more: &Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cache_read: self.cache_read.saturating_add(more.cache_read),
            cache_written: self.cache_written.saturating_add(more.cache_written),
            reasoning: self.reasoning.saturating_add(more.reasoning),
        }
    }
}

impl ChatMessage {
    /// Whether this is a user message without tool results: results belong to the previous turn.
    fn begins_turn(&self) -> bool {
        let has_results =
            || self.parts.iter().any(|it| matches!(it.content, PartContent::Result(_)));
        self.role == ChatRole::User && !has_results()
    }

    pub fn new(role: ChatRole, parts: Vec<MessagePart>) -> Self {
        Self { role, parts, extra: Extra::none() }
    }

    pub fn text(role: ChatRole, text: impl Into<String>) -> Self {
        Self::new(role, vec![MessagePart::text(text)])
    }
}

impl MessagePart {
    pub fn new(content: PartContent) -> Self {
        Self { content, extra: Extra::none() }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartContent::Text(text.into()))
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            PartContent::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Approximate size in bytes.
    pub fn bytes(&self) -> usize {
        const PART_OVERHEAD_BYTES: usize = 256;
        let own = match &self.content {
            PartContent::Text(text) | PartContent::Refusal(text) => text.len(),
            PartContent::Thinking { text, signature } => {
                text.len() + signature.as_ref().map_or(0, |signature| signature.text.len())
            }
            PartContent::Media(media) => match &media.source {
                MediaSource::Url(text) | MediaSource::File(text) => text.len(),
                MediaSource::Base64 { data, .. } => data.len(),
            },
            PartContent::Call(call) => call.name.len() + call.arguments.len(),
            PartContent::Result(result) => result.parts.iter().map(Self::bytes).sum(),
            PartContent::Opaque { value, .. } => value.to_string().len(),
        };
        own + PART_OVERHEAD_BYTES
    }

    pub fn as_call(&self) -> Option<&FunctionCall> {
        match &self.content {
            PartContent::Call(call) => Some(call),
            _ => None,
        }
    }
}

impl ChatResponse {
    pub fn calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.parts.iter().filter_map(MessagePart::as_call)
    }

    /// All text, without thoughts.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(MessagePart::as_text).collect()
    }

    /// The message for the history.
    pub fn into_message(self) -> ChatMessage {
        ChatMessage { role: ChatRole::Assistant, parts: self.parts, extra: Extra::none() }
    }
}

impl ChatRequest {
    /// Number of leading system messages: the instructions.
    pub fn leading_system_messages(&self) -> usize {
        self.messages.iter().take_while(|message| message.role == ChatRole::System).count()
    }

    /// Everything except the messages after the instructions: the fields of a request that its
    /// answer repeats.
    pub fn without_history(&self) -> Self {
        let Self { model, messages, tools, tool_choice, options, delivery, extra } = self;
        Self {
            model: model.clone(),
            messages: messages[..self.leading_system_messages()].into(),
            tools: tools.clone(),
            tool_choice: tool_choice.clone(),
            options: options.clone(),
            delivery: *delivery,
            extra: extra.clone(),
        }
    }

    /// The last user text: the utterance of this turn.
    pub fn utterance(&self) -> String {
        let last = self.messages.iter().rev().find(|message| {
            message.role == ChatRole::User
                && message.parts.iter().any(|part| part.as_text().is_some())
        });
        let parts = last.map_or(&[][..], |message| &message.parts);
        let texts: Vec<&str> = parts.iter().filter_map(MessagePart::as_text).collect();
        texts.join("\n")
    }

    /// Tools whose results arrived since the last user message, by the names under which they were
    /// called: the model reads their output in this turn.
    pub fn answered_tools(&self) -> Vec<&str> {
        let from = self.messages.iter().rposition(|it| it.begins_turn()).map_or(0, |at| at + 1);
        let parts = self.messages[from..].iter().flat_map(|message| &message.parts);
        let results = parts.filter_map(|part| match &part.content {
            PartContent::Result(result) => Some(result),
            _ => None,
        });
        results
            .filter_map(|it| it.name.as_deref().or_else(|| self.tool_name_of_call(&it.call_id)))
            .collect()
    }

    /// Whether the last message is the user's, and not a tool result.
    pub fn begins_turn(&self) -> bool {
        let spoken =
            |it: &&Arc<ChatMessage>| matches!(it.role, ChatRole::User | ChatRole::Assistant);
        self.messages.iter().rev().find(spoken).is_some_and(|it| it.begins_turn())
    }

    fn tool_name_of_call(&self, id: &str) -> Option<&str> {
        let parts = self.messages.iter().rev().flat_map(|message| &message.parts);
        parts.into_iter().find_map(|part| match &part.content {
            PartContent::Call(call) if call.id == id => Some(call.name.as_str()),
            _ => None,
        })
    }

    /// Names of the client's tools.
    pub fn client_tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter_map(|tool| match tool {
            ChatTool::Function(function) => Some(function.name.as_str()),
            ChatTool::Hosted { .. } => None,
        })
    }
}
