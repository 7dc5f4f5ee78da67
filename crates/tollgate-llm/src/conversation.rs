//! One neutral model of a conversation with a model. Every dialect reads into it and writes from it;
//! what it has no words for travels along as [`Extra`] or [`Content::Opaque`].

use serde_json::{Number, Value};

use crate::dialect::Dialect;
use crate::extra::Extra;

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// As the client named it: a model or an agent. Towards a provider: its own name of the model.
    pub model: String,
    /// System prompts are messages too, the first ones as a rule.
    pub messages: Vec<Message>,
    pub tools: Vec<Tool>,
    pub tool_choice: ToolChoice,
    pub options: Options,
    pub delivery: Delivery,
    pub extra: Extra,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Whole,
    Streamed,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
    pub extra: Extra,
}

/// Results of tools are parts of a user's message, whatever a dialect calls that role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub content: Content,
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    /// What a model says instead of an answer.
    Refusal(String),
    Thinking {
        text: String,
        signature: Option<Signature>,
    },
    Media(Media),
    Call(Call),
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
pub struct Signature {
    pub maker: Dialect,
    pub text: String,
}

/// A picture, a sound, a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
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
pub struct Call {
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
    pub parts: Vec<Part>,
    pub end: CallEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    Well,
    Failed,
}

/// A tool that the client sent along, or that the gateway offers.
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
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
pub struct Options {
    /// Tokens.
    pub max_output: Option<u64>,
    pub temperature: Option<Number>,
    pub top_p: Option<Number>,
    pub top_k: Option<Number>,
    pub seed: Option<Number>,
    pub presence_penalty: Option<Number>,
    pub frequency_penalty: Option<Number>,
    pub stop: Vec<String>,
    pub parallel_calls: Option<Parallel>,
    pub output: Option<OutputForm>,
    /// `minimal`, `low`, `medium`, `high`: how long the model may think.
    pub effort: Option<String>,
    /// Whom the answer is for, as the client names them.
    pub user: Option<String>,
    /// Answers to choose from; `None`: one.
    pub candidates: Option<u64>,
}

/// Whether a model may ask for several calls at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parallel {
    Allowed,
    Forbidden,
}

/// The form that the text of an answer must have.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputForm {
    Json,
    Schema { name: String, schema: Value, strict: Option<bool> },
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub id: String,
    pub model: String,
    /// Seconds since 1970; 0: unknown.
    pub created: u64,
    pub parts: Vec<Part>,
    pub stop: Stop,
    pub usage: Usage,
    pub extra: Extra,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
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

impl Stop {
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
pub struct Usage {
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

impl Usage {
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
const SIGNED: &str = "tollgate:";

impl Signature {
    /// As clients of `dialect` keep it: it names its maker, unless that is their own dialect.
    pub fn for_client(&self, dialect: Dialect) -> String {
        let Self { maker, text } = self;
        if *maker == dialect { text.clone() } else { format!("{SIGNED}{maker}:{text}") }
    }

    /// As a client of `dialect` gave it back.
    pub fn from_client(dialect: Dialect, kept: String) -> Self {
        let named = kept.strip_prefix(SIGNED).and_then(|rest| rest.split_once(':'));
        let made = named.and_then(|(maker, text)| {
            let maker = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == maker)?;
            Some(Self { maker, text: text.to_owned() })
        });
        made.unwrap_or(Self { maker: dialect, text: kept })
    }
}

impl Message {
    /// Whether it is the user's, without results of tools: those belong to what was asked before.
    fn begins_turn(&self) -> bool {
        let has_results = || self.parts.iter().any(|it| matches!(it.content, Content::Result(_)));
        self.role == Role::User && !has_results()
    }

    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self { role, parts, extra: Extra::none() }
    }

    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Part::text(text)])
    }
}

impl Part {
    pub fn new(content: Content) -> Self {
        Self { content, extra: Extra::none() }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// About as many as it holds.
    pub fn bytes(&self) -> usize {
        const AROUND: usize = 256;
        let own = match &self.content {
            Content::Text(text) | Content::Refusal(text) => text.len(),
            Content::Thinking { text, signature } => {
                text.len() + signature.as_ref().map_or(0, |signature| signature.text.len())
            }
            Content::Media(media) => match &media.source {
                MediaSource::Url(text) | MediaSource::File(text) => text.len(),
                MediaSource::Base64 { data, .. } => data.len(),
            },
            Content::Call(call) => call.name.len() + call.arguments.len(),
            Content::Result(result) => result.parts.iter().map(Self::bytes).sum(),
            Content::Opaque { value, .. } => value.to_string().len(),
        };
        own + AROUND
    }

    pub fn as_call(&self) -> Option<&Call> {
        match &self.content {
            Content::Call(call) => Some(call),
            _ => None,
        }
    }
}

impl Response {
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(Part::as_call)
    }

    /// All that was said, thoughts left out.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// What goes into the history.
    pub fn into_message(self) -> Message {
        Message { role: Role::Assistant, parts: self.parts, extra: Extra::none() }
    }
}

impl Request {
    /// Those before all others: the instructions.
    pub fn leading_system_messages(&self) -> usize {
        self.messages.iter().take_while(|message| message.role == Role::System).count()
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
            message.role == Role::User && message.parts.iter().any(|part| part.as_text().is_some())
        });
        let parts = last.map_or(&[][..], |message| &message.parts);
        let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
        texts.join("\n")
    }

    /// The tools whose results were given since the user spoke last, by the names under which they
    /// were called: what they said is read in this turn.
    pub fn answered_tools(&self) -> Vec<&str> {
        let from = self.messages.iter().rposition(Message::begins_turn).map_or(0, |at| at + 1);
        let parts = self.messages[from..].iter().flat_map(|message| &message.parts);
        let results = parts.filter_map(|part| match &part.content {
            Content::Result(result) => Some(result),
            _ => None,
        });
        results.filter_map(|it| it.name.as_deref().or_else(|| self.called(&it.call_id))).collect()
    }

    /// Whether the user spoke last, and not a tool.
    pub fn begins_turn(&self) -> bool {
        let spoken = |it: &&Message| matches!(it.role, Role::User | Role::Assistant);
        self.messages.iter().rev().find(spoken).is_some_and(Message::begins_turn)
    }

    fn called(&self, id: &str) -> Option<&str> {
        let parts = self.messages.iter().rev().flat_map(|message| &message.parts);
        parts.into_iter().find_map(|part| match &part.content {
            Content::Call(call) if call.id == id => Some(call.name.as_str()),
            _ => None,
        })
    }

    /// The names of the tools that the client sent along.
    pub fn client_tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter_map(|tool| match tool {
            Tool::Function(function) => Some(function.name.as_str()),
            Tool::Hosted { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests;
