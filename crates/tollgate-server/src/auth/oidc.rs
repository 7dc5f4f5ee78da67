//! JWT authentication: accepts tokens of an OpenID Connect issuer instead of a key. A token is
//! validated here and never forwarded: it is meant for this gateway only.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use http::StatusCode;
use parking_lot::Mutex;
use serde_json::Value;
use tollgate_core::id::AgentId;
use tollgate_core::lease::{LeaseTerm, RevokedError};
use tollgate_core::turn::{Principal, PrincipalGrant};

use super::{AccessPermissions, AuthenticatedCaller, CallerLease, Fingerprint, Right, Rights};
use crate::api_error::ApiError;

mod issuer;
mod jwk;
mod jwt;
pub(crate) mod resource;

use issuer::{Issuer, JwkLookup};
use jwt::{Jwt, JwtRequirements};

/// Token settings of the config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcConfig {
    /// Compared exactly with the `iss` claim.
    pub issuer: String,
    /// Required audience of a token.
    pub audience: String,
    /// URL of the issuer's keys. `None`: taken from its metadata.
    pub jwks_url: Option<String>,
    /// The URL by which clients know `/mcp`.
    pub resource: String,
    /// Scopes that clients are told to request.
    pub scopes: Vec<String>,
    /// The claim that identifies the caller.
    pub claim: String,
    /// The first match wins. Without rules, only scopes grant rights.
    pub rules: Vec<TokenRule>,
}

/// Permissions of matching tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRule {
    /// `None`: every token.
    pub when: Option<ClaimMatcher>,
    /// `None`: every agent.
    pub agents: Option<Vec<AgentId>>,
    pub rights: Rights,
    pub grant: PrincipalGrant,
}

/// Matches a claim with this value, or with this value in its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimMatcher {
    pub name: String,
    pub value: String,
}

/// Prefix of a scope that grants the right of that name.
const SCOPE: &str = "tollgate:";
/// Longer tokens are refused. No issuer makes them.
const MAX_TOKEN_BYTES: usize = 16 << 10;
const MAX_PRINCIPAL_LEN: usize = 256;

/// Authenticates tokens of one issuer.
pub(crate) struct Oidc {
    pub(crate) auth: OidcConfig,
    issuer: Issuer,
    /// Tokens with work running under them, by fingerprint. `None` once other rules apply.
    in_use: Mutex<Option<HashMap<u128, TokenInUse>>>,
}

/// A token in use, kept so that it can be checked again when the rules change.
struct TokenInUse {
    claims: Value,
    term: LeaseTerm,
}

/// Number of tokens from which unused ones are removed.
const MANY_TOKENS: usize = 1_024;

/// Permissions of a token under the rules.
struct TokenGrant<'r> {
    principal: Principal,
    agents: Option<&'r [AgentId]>,
    rights: Rights,
    grant: &'r PrincipalGrant,
}

const NO_RULE: ApiError = ApiError::new(
    StatusCode::FORBIDDEN,
    "no_rule",
    "the token is valid, but no rule of the config matches it",
);
pub(super) const UNREACHABLE: ApiError = ApiError::new(
    StatusCode::SERVICE_UNAVAILABLE,
    "issuer_unreachable",
    "the keys of the token's issuer have not been fetched yet; try again",
);

impl Oidc {
    /// Fetches the issuer's keys at most once per `pause`. Must be called within a runtime.
    pub(crate) fn new(auth: OidcConfig, pause: Duration) -> Self {
        let issuer = Issuer::new(&auth, pause);
        Self { auth, issuer, in_use: Mutex::new(Some(HashMap::new())) }
    }

    /// Hands over to new rules. Tokens that lose permissions are revoked with everything that runs
    /// under them. The others stay valid.
    pub(super) fn give_way(&self, next: Option<&Self>) {
        let Some(in_use) = self.in_use.lock().take() else { return };
        for (fingerprint, token) in in_use {
            let Some(next) = next else {
                token
                    .term
                    .end(RevokedError::because("tokens of the issuer are no longer accepted"));
                continue;
            };
            match self.lost_by(&token.claims, next) {
                Some(lost) => {
                    let why = format!("the rules for tokens were changed: {lost}");
                    token.term.end(RevokedError::because(why));
                }
                None => {
                    if let Some(taken_over) = &mut *next.in_use.lock() {
                        taken_over.insert(fingerprint, token);
                    }
                }
            }
        }
    }

    /// Description of what a token loses under the next rules.
    fn lost_by(&self, claims: &Value, next: &Self) -> Option<String> {
        let terms =
            |auth: &OidcConfig| (auth.issuer.clone(), auth.audience.clone(), auth.claim.clone());
        if terms(&self.auth) != terms(&next.auth) {
            return Some("they match other tokens".to_owned());
        }
        let (Ok(before), Ok(after)) = (self.resolve_grant(claims), next.resolve_grant(claims))
        else {
            return Some("none matches this token".to_owned());
        };
        let lost = before.permissions().lost_by(&after.permissions())?;
        Some(format!("`{}` lost {lost}", before.principal.as_str()))
    }

    /// Three parts, the first of which is a JSON object in Base64: no key of ours looks like that.
    pub(super) fn is_token(presented: &[u8]) -> bool {
        presented.starts_with(b"eyJ") && presented.iter().filter(|byte| **byte == b'.').count() == 2
    }

    /// `path` is that of the request: a token may be restricted to one agent. `None`: other rules
    /// apply by now.
    pub(super) async fn admit(
        &self,
        presented: &[u8],
        path: &str,
        now: SystemTime,
    ) -> Result<Option<AuthenticatedCaller>, ApiError> {
        if presented.len() > MAX_TOKEN_BYTES {
            return Err(bad_token("the token is longer than 16 KiB"));
        }
        let token = Jwt::parse(presented).map_err(bad_token)?;
        match self.issuer.find(&token).await {
            JwkLookup::Key(key) => token.verify(&key).map_err(bad_token)?,
            JwkLookup::Unknown => {
                return Err(bad_token("the token is signed with an unknown key"));
            }
            JwkLookup::Unreachable => return Err(UNREACHABLE),
        }
        let audiences = [Some(self.auth.audience.clone()), resource::of_agent(&self.auth, path)];
        let terms = JwtRequirements { issuer: &self.auth.issuer, audiences: &audiences, now };
        let ends = token.check(&terms).map_err(bad_token)?;
        self.visitor(&token.claims, Fingerprint::of(presented), ends)
    }

    fn visitor(
        &self,
        claims: &Value,
        token: Fingerprint,
        ends: SystemTime,
    ) -> Result<Option<AuthenticatedCaller>, ApiError> {
        let TokenGrant { principal, agents, rights, grant } = self.resolve_grant(claims)?;
        let Some(term) = self.term(token, claims) else { return Ok(None) };
        let lease = CallerLease::of(&term, Some(ends));
        Ok(Some(AuthenticatedCaller::with_token(principal, agents, rights, grant, lease)))
    }

    /// The term by which the token can be revoked. `None`: other rules apply by now.
    fn term(&self, token: Fingerprint, claims: &Value) -> Option<LeaseTerm> {
        let mut in_use = self.in_use.lock();
        let in_use = in_use.as_mut()?;
        if in_use.len() >= MANY_TOKENS && !in_use.contains_key(&token.place()) {
            in_use.retain(|_, token| token.term.is_shared());
        }
        let new = || TokenInUse { claims: claims.clone(), term: LeaseTerm::new() };
        Some(in_use.entry(token.place()).or_insert_with(new).term.clone())
    }

    fn resolve_grant(&self, claims: &Value) -> Result<TokenGrant<'_>, ApiError> {
        let name = find_claim(claims, &self.auth.claim).and_then(Value::as_str);
        let is_name = |name: &&str| {
            !name.is_empty() && name.len() <= MAX_PRINCIPAL_LEN && !name.contains(char::is_control)
        };
        let name = name.filter(is_name).ok_or_else(|| bad_token("the token has no subject"))?;
        let rule =
            self.auth.rules.iter().find(|rule| rule.when.as_ref().is_none_or(|it| it.fits(claims)));
        let granted = rights_from_scopes(claims);
        let (agents, given, grant) = match rule {
            Some(rule) => (rule.agents.as_deref(), rule.rights, &rule.grant),
            None if self.auth.rules.is_empty() => (None, Rights::NONE, NO_GRANT),
            None => return Err(NO_RULE),
        };
        let principal = Principal::from_name(&format!("oidc:{name}"));
        Ok(TokenGrant { principal, agents, rights: given.with(granted), grant })
    }

    /// The scope that grants the right.
    pub(crate) fn scope_of(&self, right: Right) -> String {
        let by_rule = self.auth.rules.iter().find_map(|rule| {
            let when = rule.when.as_ref().filter(|when| when.name == "scope")?;
            rule.rights.has(right).then(|| when.value.clone())
        });
        by_rule.unwrap_or_else(|| format!("{SCOPE}{}", right.as_str()))
    }
}

impl TokenGrant<'_> {
    fn permissions(&self) -> AccessPermissions<'_> {
        AccessPermissions { rights: self.rights, agents: self.agents, grant: self.grant }
    }
}

/// Grant of a token without a rule.
const NO_GRANT: &PrincipalGrant = &PrincipalGrant {
    tools: None,
    rate_limit: None,
    model_limits: None,
    concurrent: None,
    tenant: None,
};

impl ClaimMatcher {
    fn fits(&self, claims: &Value) -> bool {
        match find_claim(claims, &self.name) {
            Some(Value::String(text)) if self.name == "scope" => {
                text.split(' ').any(|scope| scope == self.value)
            }
            Some(Value::String(text)) => *text == self.value,
            Some(Value::Array(items)) => {
                items.iter().any(|item| item.as_str() == Some(&self.value))
            }
            Some(Value::Bool(flag)) => flag.to_string() == self.value,
            Some(Value::Number(_) | Value::Null | Value::Object(_)) | None => false,
        }
    }
}

/// The claim of that name, or at that dotted path.
fn find_claim<'c>(claims: &'c Value, name: &str) -> Option<&'c Value> {
    claims.get(name).or_else(|| name.split('.').try_fold(claims, |value, part| value.get(part)))
}

/// Rights granted by scopes, which are one string or a list.
fn rights_from_scopes(claims: &Value) -> Rights {
    let texts = ["scope", "scp"].into_iter().filter_map(|name| claims.get(name));
    let scopes = texts.flat_map(|value| match value {
        Value::String(text) => text.split(' ').collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    });
    scopes.filter_map(|scope| Right::parse(scope.strip_prefix(SCOPE)?)).collect()
}

/// RFC 6750: tell the sender what is wrong with the token.
fn bad_token(detail: &'static str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "bad_token", detail)
}

#[cfg(test)]
mod tests;
