//! Settings of this crate: providers, models and their limits, as configured.

use std::path::PathBuf;
use std::time::Duration;

use tollgate_core::agent::OFFLINE;
use tollgate_core::secret::Secret;

/// All settings. Each model names one of the providers; config validation ensures that it exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LlmSettings {
    pub providers: Vec<ProviderSettings>,
    pub models: Vec<ModelSettings>,
}

impl LlmSettings {
    /// Whether a model of this name exists and only supports realtime sessions.
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
    /// `None`: the vendor's default.
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
    /// A cloud that serves this API at addresses and with credentials of its own.
    pub cloud: Option<CloudSettings>,
    /// Several keys or regions. Empty: the one above.
    pub endpoints: Vec<EndpointSettings>,
    /// Sent with every request; names in lower case.
    pub headers: Vec<(String, Secret)>,
    pub patience: ProviderTimeouts,
    /// Maximum concurrent requests.
    pub concurrent: u32,
    /// Retries after a failed attempt that may be repeated.
    pub retries: u32,
}

impl ProviderSettings {
    /// Default of the maximum of concurrent requests.
    pub const DEFAULT_CONCURRENCY: u32 = 256;
    pub const DEFAULT_RETRIES: u32 = 2;
}

/// How a cloud differs from the vendor of its models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloudSettings {
    Azure(AzureSettings),
    /// For providers of kind [`ProviderKind::Gemini`] and [`ProviderKind::Anthropic`].
    Vertex(VertexSettings),
    /// For providers of kind [`ProviderKind::Anthropic`] and [`ProviderKind::OpenAi`].
    Bedrock(BedrockSettings),
}

impl CloudSettings {
    /// The key of its section in the config.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Azure(_) => "azure",
            Self::Vertex(_) => "vertex",
            Self::Bedrock(_) => "bedrock",
        }
    }

    pub fn label(&self) -> &'static str {
        match self {
            Self::Azure(_) => "Azure OpenAI",
            Self::Vertex(_) => "Vertex AI",
            Self::Bedrock(_) => "Amazon Bedrock",
        }
    }

    /// The same account in another region.
    #[must_use]
    pub fn in_region(&self, region: &str) -> Self {
        let region = region.to_owned();
        match self {
            Self::Azure(_) => self.clone(),
            Self::Vertex(vertex) => {
                Self::Vertex(VertexSettings { location: region, ..vertex.clone() })
            }
            Self::Bedrock(bedrock) => Self::Bedrock(BedrockSettings { region, ..bedrock.clone() }),
        }
    }

    /// Secrets that must not be shown.
    pub(crate) fn secrets(&self) -> Vec<&Secret> {
        match self {
            Self::Azure(azure) => azure.entra.iter().map(|entra| &entra.client_secret).collect(),
            Self::Vertex(vertex) => match &vertex.credentials {
                GoogleCredentials::AccessToken(token) => vec![token],
                GoogleCredentials::ServiceAccount(account) => vec![&account.private_key],
                GoogleCredentials::Metadata { .. } => Vec::new(),
            },
            Self::Bedrock(bedrock) => match &bedrock.credentials {
                AwsCredentials::ApiKey(key) => vec![key],
                AwsCredentials::AccessKey { secret_access_key, session_token, .. } => {
                    [secret_access_key].into_iter().chain(session_token).collect()
                }
                AwsCredentials::Role(AwsRoleSource::Container {
                    token: Some(ContainerToken::Text(token)),
                    ..
                }) => vec![token],
                AwsCredentials::Role(_) => Vec::new(),
            },
        }
    }
}

/// Google's Vertex AI: Gemini, or Claude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VertexSettings {
    pub project: String,
    /// A region, or `global`.
    pub location: String,
    pub credentials: GoogleCredentials,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoogleCredentials {
    /// Never renewed.
    AccessToken(Secret),
    ServiceAccount(ServiceAccountKey),
    /// The account of the machine. `url`: of its token, `None`: that of the metadata server.
    Metadata {
        url: Option<String>,
    },
}

/// Key of a service account of Google.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccountKey {
    pub client_email: String,
    pub private_key_id: Option<String>,
    /// PKCS #8 in PEM.
    pub private_key: Secret,
    pub token_url: String,
}

/// Amazon Bedrock: Claude by `InvokeModel`, or models of its API in the form of OpenAI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BedrockSettings {
    pub region: String,
    pub credentials: AwsCredentials,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AwsCredentials {
    /// Requests are signed (SigV4).
    AccessKey { access_key_id: String, secret_access_key: Secret, session_token: Option<Secret> },
    /// An API key of Bedrock.
    ApiKey(Secret),
    /// Those of the role that the gateway has where it runs. Renewed before they expire.
    Role(AwsRoleSource),
}

/// Where credentials of a role come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AwsRoleSource {
    /// The endpoint of a container: of ECS, or of EKS Pod Identity.
    Container { url: String, token: Option<ContainerToken> },
    /// The metadata service of a machine of EC2 (IMDSv2). `None`: at its usual address.
    Instance { url: Option<String> },
    /// The token service, for a token of Kubernetes (IAM roles for service accounts). `None`: that
    /// of the region.
    WebIdentity { role_arn: String, session_name: String, token_file: PathBuf, url: Option<String> },
}

/// What the endpoint of a container wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerToken {
    Text(Secret),
    /// Read for every request, because it is replaced.
    File(PathBuf),
}

/// Azure OpenAI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureSettings {
    /// Of the API with deployments in the path. `None`: the v1 API, which has no versions.
    pub api_version: Option<String>,
    /// `None`: the provider's key.
    pub entra: Option<EntraSettings>,
}

/// An application registered with Microsoft Entra.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntraSettings {
    pub tenant: String,
    pub client_id: String,
    pub client_secret: Secret,
    /// `None`: that of the public cloud.
    pub authority: Option<String>,
}

/// One of several keys or regions of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSettings {
    /// Names it in errors and metrics.
    pub name: String,
    /// `None`: the provider's.
    pub base_url: Option<String>,
    /// `None`: the provider's.
    pub api_key: Option<Secret>,
    /// Region of a cloud. `None`: the provider's.
    pub region: Option<String>,
    pub weight: u32,
}

impl EndpointSettings {
    pub const DEFAULT_WEIGHT: u32 = 1;
}

/// Timeouts of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderTimeouts {
    /// Until the complete response, or the first event of a streamed one.
    pub answer: Duration,
    /// Between two events of a stream.
    pub silence: Duration,
    /// Until a realtime session is accepted.
    pub connect: Duration,
}

impl Default for ProviderTimeouts {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(120),
            silence: Duration::from_secs(60),
            connect: Duration::from_secs(5),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// OpenAI and compatible APIs.
    OpenAi,
    Anthropic,
    Gemini,
    /// Realtime sessions only.
    Deepgram,
    /// Built in: no key, no network.
    Offline,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    pub name: String,
    /// The provider's name of the model.
    pub id: String,
    /// `None`: the model runs in this process.
    pub provider: Option<String>,
    /// In tokens.
    pub context_window: u32,
    /// Tokens reserved for the answer.
    pub max_output: u32,
    pub tool_mode: ToolMode,
    pub api: ProviderApi,
    /// Whether the provider may keep conversations, where its API has a choice.
    pub store: bool,
    /// Name of a model that takes the same options, for a name that does not tell. `None`: `id`.
    pub behaves_like: Option<String>,
    pub pool: PoolSettings,
}

/// Where a model is served, if it has several providers, and how one of them is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolSettings {
    /// Empty: the provider of the model. Otherwise that is the first of these.
    pub providers: Vec<ModelProviderSettings>,
    /// `None`: see [`ModelSettings::route`].
    pub route: Option<RoutePolicy>,
    /// A second provider is asked if the first sends no token within this time.
    pub hedge_after: Option<Duration>,
}

/// A model at one of its providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelProviderSettings {
    pub provider: String,
    /// The provider's name of the model.
    pub id: String,
    pub weight: u32,
    /// Of a million tokens, in millionths of the currency; for [`RoutePolicy::Cost`].
    pub price: Option<u64>,
}

/// How the endpoint of a request is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutePolicy {
    /// As listed.
    Order,
    /// At random, by weight.
    Weight,
    /// The fastest by measured time to first token and tokens per second.
    Latency,
    /// The cheapest.
    Cost,
}

impl RoutePolicy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Weight => "weight",
            Self::Latency => "latency",
            Self::Cost => "cost",
        }
    }
}

impl ModelSettings {
    /// Name of the model whose options it takes.
    pub fn capability_model(&self) -> &str {
        self.behaves_like.as_deref().unwrap_or(&self.id)
    }

    /// The built-in model, which always exists.
    pub fn offline() -> Self {
        Self {
            name: OFFLINE.to_owned(),
            id: OFFLINE.to_owned(),
            provider: None,
            context_window: 8_192,
            max_output: 2_048,
            tool_mode: ToolMode::Native,
            api: ProviderApi::Chat,
            store: false,
            behaves_like: None,
            pool: PoolSettings::default(),
        }
    }

    /// The keys of one provider share the load; several providers are in order of preference.
    pub fn route(&self) -> RoutePolicy {
        let usual =
            if self.pool.providers.len() > 1 { RoutePolicy::Order } else { RoutePolicy::Weight };
        self.pool.route.unwrap_or(usual)
    }

    /// The model at its providers; empty if it runs in this process.
    pub(crate) fn providers(&self) -> Vec<ModelProviderSettings> {
        if !self.pool.providers.is_empty() {
            return self.pool.providers.clone();
        }
        let one = |provider: &String| ModelProviderSettings {
            provider: provider.clone(),
            id: self.id.clone(),
            weight: EndpointSettings::DEFAULT_WEIGHT,
            price: None,
        };
        self.provider.iter().map(one).collect()
    }

    /// Whether the model only supports realtime sessions at a provider of this kind.
    pub(crate) fn is_live_at(&self, kind: ProviderKind) -> bool {
        self.api == ProviderApi::Realtime || kind == ProviderKind::Deepgram
    }
}

/// Source of embeddings for the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddingSettings {
    /// A model behind `/embeddings` of one of the providers, which is of kind `openai`.
    Served(RemoteEmbeddingSettings),
    /// A directory with a static model, read in this process.
    Local(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteEmbeddingSettings {
    /// Name of a provider.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    /// Vector dimensions, for models that support fewer. `None`: the model's default.
    pub dimensions: Option<u32>,
    /// Prefix that some models need before a passage, such as `passage: `; usually empty.
    pub passage_prefix: String,
    /// Prefix before a question.
    pub question_prefix: String,
}

/// Which API of a provider is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderApi {
    Chat,
    Responses,
    /// Realtime sessions only, of any provider.
    Realtime,
}

/// How a model is given tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolMode {
    Native,
    /// Through constrained JSON, for models that cannot call tools reliably.
    Schema,
    /// Native; calls written as text are recovered.
    Auto,
}
