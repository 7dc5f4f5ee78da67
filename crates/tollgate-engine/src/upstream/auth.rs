//! Credentials for HTTP servers. Tokens and secrets stay in this module: they go into headers and
//! forms, never into an error or a log.

use std::sync::Arc;

use async_trait::async_trait;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, StatusCode};
use tollgate_core::id::ServerId;
use tollgate_core::secret::Secret;
use tollgate_core::secret_values;
use tollgate_mcp::client::{Credentials, CredentialsError};

use super::UpstreamContext;
use crate::settings::{HttpEndpoint, ServerAuth};
use crate::web::{fetch, place};

pub mod authorize;
pub(crate) mod challenge;
mod client_credentials;
pub(crate) mod discovery;
mod http_client;
pub mod login;
mod oauth_error;
mod token;

use client_credentials::ClientCredentialsGrant;
use login::{ConsentState, LoginGrant};

pub use oauth_error::{ConsentPromptError, OauthError};

/// Credentials of a server.
#[derive(Clone, Default)]
pub(super) struct ServerAccess {
    pub(super) credentials: Option<Arc<dyn Credentials>>,
    /// Only for servers that a person has to log in to.
    pub(super) consent: Option<ConsentState>,
}

/// The credentials for an endpoint's settings.
pub(super) fn access(
    server: &ServerId,
    endpoint: &HttpEndpoint,
    context: &UpstreamContext,
) -> ServerAccess {
    let clock = &context.clock;
    let mut consent = None;
    let credentials: Option<Arc<dyn Credentials>> = match &endpoint.auth {
        ServerAuth::None => None,
        ServerAuth::Token(token) => Some(Arc::new(StaticToken(token.clone()))),
        ServerAuth::ClientCredentials(config) => {
            let grant = ClientCredentialsGrant::new(config, &endpoint.url, Arc::clone(clock));
            Some(Arc::new(grant))
        }
        ServerAuth::Login(login) => {
            let store = context.store.as_ref();
            let grant = LoginGrant::new(server, login, &endpoint.url, store, Arc::clone(clock));
            consent = Some(grant.consent().clone());
            Some(Arc::new(grant))
        }
        ServerAuth::Brought(brought) => Some(Arc::clone(&brought.0)),
    };
    ServerAccess { credentials, consent }
}

/// A fixed token.
struct StaticToken(Secret);

#[async_trait]
impl Credentials for StaticToken {
    async fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialsError> {
        Ok(vec![(AUTHORIZATION, bearer(&self.0)?)])
    }

    async fn handle_refusal(&self, _: StatusCode, _: Option<&str>) -> bool {
        false
    }
}

/// Accepts the token with or without the `Bearer` prefix. It is masked in all output from now on.
fn bearer(token: &Secret) -> Result<HeaderValue, OauthError> {
    let token = token.reveal().trim();
    let bare = match token.split_once(' ') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bearer") => rest.trim_start(),
        _ => token,
    };
    secret_values::obtain(bare);
    let mut value =
        HeaderValue::try_from(format!("Bearer {bare}")).map_err(|_| OauthError::InvalidToken)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
