//! One neutral model of a conversation with a model. Every dialect reads into it and writes from it;
//! what it has no words for travels along as [`Extra`] or [`PartContent::Opaque`].

use serde_json::{Number, Value};

use crate::dialect::Dialect;
use crate::extra::Extra;

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// As the client named it: a model or an agent. Towards a provider: its own name of the model.
    pub model: String,
    /// System prompts are messages too, the first ones as a rule.
    pub messages: Vec<ChatMessage>,
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

/// Results of tools are parts of a user's message, whatever a dialect calls that role.
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
    /// What a model says instead of an answer.
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

/// By which a provider knows its own thoughts again. To all others it means nothing, and thoughts
/// that were signed by another are not to be sent to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThoughtSignature {
    pub maker: Dialect,
    pub text: String,
}

/// A picture, a sound, a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMedia {
    pub kind: MediaKind,
    pub source: MediaSource,
    /// Of the file, if it has one.
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
        /// Such as `image/png`.
        media_type: String,
        data: String,
    },
    /// A file that the provider keeps.
    File(String),
}

/// A tool call that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCall {
    pub id: String,
    pub name: String,
    /// The JSON as the model wrote it; it need not be JSON at all.
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    pub call_id: String,
    /// Of the tool. Some dialects answer by name.
    pub name: Option<String>,
    /// Text and media, and what only the dialect understands.
    pub parts: Vec<MessagePart>,
    pub end: CallEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    Well,
    Failed,
}

/// A tool that the client sent along, or that the gateway offers.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatTool {
    Function(Function),
    /// One that the provider runs itself, such as a web search.
    Hosted {
        dialect: Dialect,
        value: Value,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub name: String,
    pub description: Option<String>,
    /// A JSON Schema; `None`: it takes nothing.
    pub parameters: Option<Value>,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolChoice {
    /// Nothing was said.
    Unsaid,
    Auto,
    None,
    /// Any, but one.
    Required,
    Named(String),
    /// One that only its own dialect has.
    Opaque {
        dialect: Dialect,
        value: Value,
    },
}

/// How the answer is to be made. Nothing said is nothing sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GenerationOptions {
    /// Tokens.
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
    /// `minimal`, `low`, `medium`, `high`: how long the model may think.
    pub effort: Option<String>,
    /// Whom the answer is for, as the client names them.
    pub user: Option<String>,
    /// Answers to choose from; `None`: one.
    pub candidates: Option<u64>,
}

/// Whether a model may ask for several calls at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParallelCalls {
    Allowed,
    Forbidden,
}

/// The form that the text of an answer must have.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseFormat {
    Json,
    Schema { name: String, schema: Value, strict: Option<bool> },
}

/// What a model answered.
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
    /// It was said.
    End,
    /// One of the client's stop texts, if the dialect says which.
    Sequence(Option<String>),
    /// Out of tokens.
    Length,
    /// Calls wait for their results.
    Calls,
    /// The provider's filter.
    Filtered,
    /// The model would not.
    Refused,
    /// A reason that only its own dialect has.
    Other { dialect: Dialect, reason: String },
}

impl StopReason {
    /// Whether the model said all that it meant to: else its last call may be half of one.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::End | Self::Sequence(_) | Self::Calls => true,
            Self::Length | Self::Filtered | Self::Refused | Self::Other { .. } => false,
        }
    }
}

/// Tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// All of the prompt, what came from a cache included.
    pub input: u64,
    pub output: u64,
    /// Of the input, what came from the provider's cache.
    pub cache_read: u64,
    /// Of the input, what was written into it.
    pub cache_written: u64,
    /// Of the output, what was thought and not said.
    pub reasoning: u64,
}

impl TokenUsage {
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The rounds of a turn together.
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

/// Stands before a signature that a client keeps for the maker of another dialect.
const FOREIGN_SIGNATURE_PREFIX: &str = "tollgate:";

impl ThoughtSignature {
    /// As clients of `dialect` keep it: it names its maker, unless that is their own dialect.
    pub fn for_client(&self, dialect: Dialect) -> String {
        let Self { maker, text } = self;
        if *maker == dialect {
            text.clone()
        } else {
            format!("{FOREIGN_SIGNATURE_PREFIX}{maker}:{text}")
        }
    }

    /// As a client of `dialect` gave it back.
    pub fn from_client(dialect: Dialect, kept: String) -> Self {
        let named =
            kept.strip_prefix(FOREIGN_SIGNATURE_PREFIX).and_then(|rest| rest.split_once(':'));
        let made = named.and_then(|(maker, text)| {
            let maker = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == maker)?;
            Some(Self { maker, text: text.to_owned() })
        });
        made.unwrap_or(Self { maker: dialect, text: kept })
    }
}

impl ChatMessage {
    /// Whether it is the user's, without results of tools: those belong to what was asked before.
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

    /// About as many as it holds.
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

    /// All that was said, thoughts left out.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(MessagePart::as_text).collect()
    }

    /// What goes into the history.
    pub fn into_message(self) -> ChatMessage {
        ChatMessage { role: ChatRole::Assistant, parts: self.parts, extra: Extra::none() }
    }
}

impl ChatRequest {
    /// Those before all others: the instructions.
    pub fn leading_system_messages(&self) -> usize {
        self.messages.iter().take_while(|message| message.role == ChatRole::System).count()
    }

    /// All but the messages after the instructions: what an answer repeats of its request.
    pub fn without_history(&self) -> Self {
        let Self { model, messages, tools, tool_choice, options, delivery, extra } = self;
        Self {
            model: model.clone(),
            messages: messages[..self.leading_system_messages()].to_vec(),
            tools: tools.clone(),
            tool_choice: tool_choice.clone(),
            options: options.clone(),
            delivery: *delivery,
            extra: extra.clone(),
        }
    }

    /// What the user said last: the utterance that the turn is about.
    pub fn utterance(&self) -> String {
        let last = self.messages.iter().rev().find(|message| {
            message.role == ChatRole::User
                && message.parts.iter().any(|part| part.as_text().is_some())
        });
        let parts = last.map_or(&[][..], |message| &message.parts);
        let texts: Vec<&str> = parts.iter().filter_map(MessagePart::as_text).collect();
        texts.join("\n")
    }

    /// The tools whose results were given since the user spoke last, by the names under which they
    /// were called: what they said is read in this turn.
    pub fn answered_tools(&self) -> Vec<&str> {
        let from = self.messages.iter().rposition(ChatMessage::begins_turn).map_or(0, |at| at + 1);
        let parts = self.messages[from..].iter().flat_map(|message| &message.parts);
        let results = parts.filter_map(|part| match &part.content {
            PartContent::Result(result) => Some(result),
            _ => None,
        });
        results
            .filter_map(|it| it.name.as_deref().or_else(|| self.tool_name_of_call(&it.call_id)))
            .collect()
    }

    /// Whether the user spoke last, and not a tool.
    pub fn begins_turn(&self) -> bool {
        let spoken = |it: &&ChatMessage| matches!(it.role, ChatRole::User | ChatRole::Assistant);
        self.messages.iter().rev().find(spoken).is_some_and(ChatMessage::begins_turn)
    }

    fn tool_name_of_call(&self, id: &str) -> Option<&str> {
        let parts = self.messages.iter().rev().flat_map(|message| &message.parts);
        parts.into_iter().find_map(|part| match &part.content {
            PartContent::Call(call) if call.id == id => Some(call.name.as_str()),
            _ => None,
        })
    }

    /// The names of the tools that the client sent along.
    pub fn client_tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter_map(|tool| match tool {
            ChatTool::Function(function) => Some(function.name.as_str()),
            ChatTool::Hosted { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests;
