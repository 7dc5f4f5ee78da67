//! Where models are served, and what they can take: the part of the config that this crate runs by.

use std::path::PathBuf;
use std::time::Duration;

use tollgate_core::agent::OFFLINE;
use tollgate_core::secret::Secret;

/// All of it. A model names one of the providers; whoever checks the config sees to that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LlmSettings {
    pub providers: Vec<ProviderSettings>,
    pub models: Vec<ModelSettings>,
}

impl LlmSettings {
    /// Whether there is such a model, and it can be asked nothing but live sessions.
    pub fn is_live(&self, name: &str) -> bool {
        let model = self.models.iter().find(|model| model.name == name);
        model.is_some_and(|model| {
            let provider =
                self.providers.iter().find(|it| Some(&it.name) == model.provider.as_ref());
            provider.is_some_and(|provider| model.is_live_at(provider.kind))
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    pub name: String,
    pub kind: ProviderKind,
    /// `None`: the vendor's own.
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
    /// Sent with every request, by lower-case names.
    pub headers: Vec<(String, Secret)>,
    pub patience: ProviderTimeouts,
    /// Requests that may be under way at the same time.
    pub concurrent: u32,
    /// Further attempts after one that failed and may be repeated.
    pub retries: u32,
}

impl ProviderSettings {
    /// How many requests at a time, where nothing else is said.
    pub const DEFAULT_CONCURRENCY: u32 = 256;
    pub const DEFAULT_RETRIES: u32 = 2;
}

/// How long a provider may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderTimeouts {
    /// Until an answer has come whole, or the first event of one that streams.
    pub answer: Duration,
    /// Between two events of a stream.
    pub silence: Duration,
}

impl Default for ProviderTimeouts {
    fn default() -> Self {
        Self { answer: Duration::from_secs(120), silence: Duration::from_secs(60) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// Any API that speaks like OpenAI's.
    OpenAi,
    Anthropic,
    Gemini,
    /// Live sessions only.
    Deepgram,
    /// Built in: no key, no network.
    Offline,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    pub name: String,
    /// What the provider calls it.
    pub id: String,
    /// `None`: the model is in this process.
    pub provider: Option<String>,
    /// Tokens.
    pub context_window: u32,
    /// Tokens reserved for the answer.
    pub max_output: u32,
    pub tool_mode: ToolMode,
    pub api: ProviderApi,
}

impl ModelSettings {
    /// The built-in one, which is there whatever the config says.
    pub fn offline() -> Self {
        Self {
            name: OFFLINE.to_owned(),
            id: OFFLINE.to_owned(),
            provider: None,
            context_window: 8_192,
            max_output: 2_048,
            tool_mode: ToolMode::Native,
            api: ProviderApi::Chat,
        }
    }

    /// Whether a provider of this kind can be asked nothing but live sessions for it.
    pub(crate) fn is_live_at(&self, kind: ProviderKind) -> bool {
        self.api == ProviderApi::Realtime || kind == ProviderKind::Deepgram
    }
}

/// Where the memory gets the meanings of texts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddingSettings {
    /// A model behind `/embeddings` of one of the providers, which is of kind `openai`.
    Served(RemoteEmbeddingSettings),
    /// A directory with a static model, read in this process.
    Local(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteEmbeddingSettings {
    /// One of the providers.
    pub provider: String,
    /// What the provider calls the model.
    pub model: String,
    /// How many numbers a vector has, for models that can do with fewer. `None`: the model's own.
    pub dimensions: Option<u32>,
    /// What some models want before a passage, such as `passage: `; mostly empty.
    pub passage_prefix: String,
    /// What they want before a question.
    pub question_prefix: String,
}

/// In which of its dialects a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderApi {
    Chat,
    Responses,
    /// Live sessions, of whatever provider; nothing else.
    Realtime,
}

/// How a model is given tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolMode {
    Native,
    /// Through constrained JSON, for models that cannot call tools reliably.
    Schema,
    /// Native; a call that the model writes as text is taken for one.
    Auto,
}
