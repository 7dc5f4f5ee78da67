//! Why providers, models or embeddings cannot be used as they are configured.
//!
//! Returned where the config is applied; the messages are for its author.

use http::uri::InvalidUri;

#[derive(Debug, thiserror::Error)]
pub enum ModelConfigError {
    #[error("provider `{name}`: {why}")]
    Provider { name: String, why: ProviderSetupError },
    #[error("model `{name}`: {why}")]
    Model { name: String, why: ProviderUrlError },
    #[error("embedding model `{name}`: {why}")]
    EmbeddingModel { name: String, why: ProviderUrlError },
    #[error("model `{model}` names provider `{provider}`, which does not exist")]
    UnknownProvider { model: String, provider: String },
    #[error("the embedding names provider `{0}`, which does not exist")]
    UnknownEmbeddingProvider(String),
    #[error(
        "provider `{0}` has no embeddings: use a provider of kind `openai` or `gemini`, or a model \
         in a directory"
    )]
    NoEmbeddings(String),
}

/// Why a provider cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ProviderSetupError {
    #[error(transparent)]
    Url(#[from] ProviderUrlError),
    /// A message of the HTTP client.
    #[error("{0}")]
    Client(String),
    #[error("`{0}` is not a valid header name")]
    HeaderName(String),
    #[error("the value of header `{0}` is invalid")]
    HeaderValue(String),
    #[error("its `api_key` has invalid characters")]
    ApiKey,
    #[error("the private key of its service account cannot be used: {0}")]
    PrivateKey(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum ProviderUrlError {
    #[error("`base_url` is not a URL: {0}")]
    Base(InvalidUri),
    #[error("cannot build its URL: {0}")]
    Endpoint(InvalidUri),
    #[error("the URL of its access tokens is invalid: {0}")]
    Token(InvalidUri),
    #[error("the URL of its credentials is invalid: {0}")]
    AwsRole(InvalidUri),
}
