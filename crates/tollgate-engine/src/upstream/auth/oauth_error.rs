//! Why there is no token for a server. The messages are for operators and people who log in; they
//! contain no code, token or secret.

use tollgate_core::id::ServerId;
use tollgate_mcp::client::CredentialsError;

use super::fetch::ExchangeError;
use super::place::OauthUrlError;
use crate::web::FetchError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OauthError {
    #[error(transparent)]
    Url(#[from] OauthUrlError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    #[error("the server's OAuth metadata needs more than {0} requests")]
    TooManyRequests(u32),
    #[error("the server's OAuth metadata took more than {0} s to read")]
    TooSlow(u64),
    #[error("the server's challenge points to another origin")]
    ForeignChallenge,
    #[error("the resource metadata does not say which resource it is about")]
    UnnamedResource,
    #[error("the resource metadata is about another resource")]
    OtherResource,
    #[error("the resource metadata names no authorization server")]
    NoAuthorizationServer,
    #[error("no metadata for the authorization server `{0}`")]
    NoMetadata(String),
    #[error("the server publishes no usable OAuth metadata ({answers}); {why}")]
    UnusableMetadata { answers: String, why: String },
    #[error("the authorization server's metadata names no issuer")]
    NoIssuer,
    #[error("the authorization server's metadata names another issuer")]
    OtherIssuer,
    #[error("the authorization server names no token endpoint")]
    NoTokenEndpoint,
    #[error("the authorization server's `{name}`: {cause}")]
    Endpoint { name: &'static str, cause: OauthUrlError },
    #[error(
        "the authorization server does not say that it supports PKCE with S256 \
         (`code_challenge_methods_supported`), so the login was not started"
    )]
    NoPkce,
    #[error(
        "the server's authorization server is `{found}`, and not `{configured}` as `issuer` says"
    )]
    IssuerMismatch { found: String, configured: String },
    #[error(
        "the server's authorization server was `{before}` and is `{found}` now; the client secret \
         is not sent there unless `issuer` says so"
    )]
    IssuerChanged { before: String, found: String },
    #[error("nobody completed the login within 10 minutes")]
    ConsentTimeout,
    #[error("{0}")]
    Consent(String),
    #[error("the authorization server refused: `{0}`")]
    ConsentRefused(String),
    #[error("needs login: run `tollgate servers login {0}`")]
    NeedsLogin(ServerId),
    #[error("no login is stored: only configured servers can log in")]
    NoStore,
    #[error("the login store failed")]
    StoreCrashed,
    #[error("{0}")]
    Store(String),
    #[error("the token has characters that are not allowed in a header")]
    InvalidToken,
    /// In the words of the token endpoint or of rmcp, safe to display.
    #[error("{0}")]
    Refused(String),
}

impl From<OauthError> for CredentialsError {
    fn from(error: OauthError) -> Self {
        Self::new(error)
    }
}

/// The user could not be asked, or did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConsentPromptError(pub String);

impl From<ConsentPromptError> for OauthError {
    fn from(error: ConsentPromptError) -> Self {
        Self::Consent(error.0)
    }
}
