//! Token endpoint discovery: protected-resource metadata (RFC 9728), then the metadata of the
//! authorization server (RFC 8414, or OpenID Connect), each verified to match its issuer.

use serde_json::Value;

use super::challenge::Challenge;
use super::fetch::OperatorHttpClient;
use super::oauth_error::OauthError;
use super::place::OauthUrl;

/// Where and how to request a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenEndpoint {
    pub(super) url: String,
    pub(super) resource: String,
    pub(super) method: ClientAuthMethod,
    /// Scopes that the server asks for, if the config has none.
    pub(super) scopes: Vec<String>,
}

/// Client authentication method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientAuthMethod {
    Basic,
    Post,
    /// Not specified: basic, which every server must support, then post.
    Either,
}

pub(crate) struct ProtectedResource {
    name: String,
    issuers: Vec<String>,
    scopes: Vec<String>,
}

pub(super) async fn discover(
    fetch: &OperatorHttpClient,
    server: &OauthUrl,
    challenge: &Challenge,
) -> Result<TokenEndpoint, OauthError> {
    let resource = resource(fetch, server, challenge).await?;
    let (name, issuers, offered) = match resource {
        Some(found) => (found.name, found.issuers, found.scopes),
        // Without protected-resource metadata, the server is its own authorization server (older
        // specification).
        None => (server.resource(), vec![server.origin.clone()], Vec::new()),
    };
    let mut trouble = OauthError::NoAuthorizationServer;
    for issuer in issuers.iter().take(4) {
        match authorization_server(fetch, server, issuer).await {
            Ok((url, method)) => {
                let requests = &challenge.scopes;
                let scopes = if requests.is_empty() { offered } else { requests.clone() };
                return Ok(TokenEndpoint { url, resource: name, method, scopes });
            }
            Err(reason) => trouble = reason,
        }
    }
    Err(trouble)
}

async fn resource(
    fetch: &OperatorHttpClient,
    server: &OauthUrl,
    challenge: &Challenge,
) -> Result<Option<ProtectedResource>, OauthError> {
    const NAME: &str = "oauth-protected-resource";
    let mut places = vec![server.insert_well_known(NAME), server.at_root(NAME)];
    if let Some(named) = &challenge.resource_metadata {
        // The metadata must be on the server's own origin.
        if OauthUrl::parse(named)?.origin != server.origin {
            return Err(OauthError::ForeignChallenge);
        }
        places.insert(0, named.clone());
    }
    places.dedup();
    for place in places {
        let fetched = fetch.get(&place).await?;
        if let (true, Some(body)) = (fetched.status.is_success(), &fetched.body) {
            return read_resource(server, body).map(Some);
        }
    }
    Ok(None)
}

/// Verifies that protected-resource metadata is for this server, and reads its authorization
/// servers.
pub(crate) fn read_resource(
    server: &OauthUrl,
    body: &Value,
) -> Result<ProtectedResource, OauthError> {
    let name = body.get("resource").and_then(Value::as_str);
    let name = name.ok_or(OauthError::UnnamedResource)?;
    if !OauthUrl::parse(name)?.covers(server) {
        return Err(OauthError::OtherResource);
    }
    Ok(ProtectedResource {
        name: name.to_owned(),
        issuers: strings(body, "authorization_servers"),
        scopes: strings(body, "scopes_supported"),
    })
}

async fn authorization_server(
    fetch: &OperatorHttpClient,
    server: &OauthUrl,
    issuer: &str,
) -> Result<(String, ClientAuthMethod), OauthError> {
    let place = OauthUrl::parse(issuer)?;
    place.may_get_the_secret_for(server)?;
    let mut places = vec![
        place.insert_well_known("oauth-authorization-server"),
        place.insert_well_known("openid-configuration"),
        place.append_well_known("openid-configuration"),
    ];
    places.dedup();
    for url in places {
        let fetched = fetch.get(&url).await?;
        if let (true, Some(body)) = (fetched.status.is_success(), &fetched.body) {
            return read_authorization_server(server, issuer, body);
        }
    }
    Err(OauthError::NoMetadata(place.origin))
}

pub(crate) fn read_authorization_server(
    server: &OauthUrl,
    issuer: &str,
    body: &Value,
) -> Result<(String, ClientAuthMethod), OauthError> {
    if body.get("issuer").and_then(Value::as_str) != Some(issuer) {
        return Err(OauthError::OtherIssuer);
    }
    let url = body.get("token_endpoint").and_then(Value::as_str);
    let url = url.ok_or(OauthError::NoTokenEndpoint)?;
    OauthUrl::parse(url)?.may_get_the_secret_for(server)?;
    let methods = strings(body, "token_endpoint_auth_methods_supported");
    let knows = |name: &str| methods.iter().any(|method| method == name);
    let method = match (knows("client_secret_basic"), knows("client_secret_post")) {
        (true, _) => ClientAuthMethod::Basic,
        (false, true) => ClientAuthMethod::Post,
        (false, false) => ClientAuthMethod::Either,
    };
    Ok((url.to_owned(), method))
}

fn strings(body: &Value, key: &str) -> Vec<String> {
    let items = body.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).take(64).collect()
}
