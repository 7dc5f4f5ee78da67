//! JWT bearer tokens (`auth:`): trusted issuer, audience, and the rights of scopes.

use http::Uri;
use tollgate_core::glob::Glob;
use tollgate_core::turn::PrincipalGrant;
use tollgate_server::oidc::{ClaimMatcher, OidcConfig, TokenRule};
use tollgate_server::{KeyRole, Rights};

use super::super::diagnostic::Problems;
use super::super::raw::{SectionFields, Spanned};
use super::access::{key_agents, rights};
use super::endpoint::url;
use super::memory::tenant;
use super::model_usage::model_limits;
use super::rate::rate_limit;

const USUAL_SCOPE: &str = "tollgate:execute";

pub(super) fn auth(top: &SectionFields, problems: &mut Problems) -> Option<OidcConfig> {
    let fields = top.section("auth")?;
    let issuer = fields
        .text("issuer")
        .and_then(|text| require_https(text, &fields.path("issuer"), problems));
    let jwks = fields.text("jwks_url");
    let jwks_url = jwks.map(|text| require_https(text, &fields.path("jwks_url"), problems));
    let audience = fields.text("audience");
    let resource = fields.text("resource");
    let Some(known_as) = resource.or(audience) else {
        problems
            .error(fields.at, &fields.path("resource"), "`resource` is missing")
            .help("the public URL of `/mcp`: `https://gate.example/mcp`");
        return None;
    };
    let resource = resource_url(known_as, &fields.path("resource"), problems);
    let agents: Vec<&str> =
        top.named_sections("agents").iter().map(|(name, _)| name.value.as_str()).collect();
    let rules: Vec<TokenRule> =
        fields.entries("rules").iter().map(|it| rule(it, &agents, problems)).collect();
    let claim = fields.section("principals").and_then(|it| it.text("claim"));
    let scopes: Vec<String> = if fields.has("scopes") {
        fields.texts("scopes").iter().map(|scope| scope.value.to_owned()).collect()
    } else {
        vec![USUAL_SCOPE.to_owned()]
    };
    check_scopes(fields, &scopes, problems);
    Some(OidcConfig {
        issuer: issuer?,
        audience: audience.map_or_else(|| resource.clone(), |text| Some(text.value.to_owned()))?,
        jwks_url: match jwks_url {
            Some(url) => Some(url?),
            None => None,
        },
        resource: resource?,
        scopes,
        claim: claim.map_or("sub", |text| text.value).to_owned(),
        rules,
    })
}

/// An attacker who could change this traffic could authenticate as anybody.
fn require_https(text: Spanned<&str>, path: &str, problems: &mut Problems) -> Option<String> {
    let checked = url(text, path, problems)?;
    let uri: Uri = checked.parse().ok()?;
    let is_local = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if uri.scheme_str() != Some("https") && !is_local {
        problems
            .error(text.at, path, format!("`{checked}` is not https"))
            .help("unencrypted keys could be forged");
        return None;
    }
    Some(checked)
}

fn resource_url(text: Spanned<&str>, path: &str, problems: &mut Problems) -> Option<String> {
    let checked = url(text, path, problems)?;
    if checked.ends_with('/') || checked.contains(['?', '#', '"']) {
        problems
            .error(text.at, path, format!("`{checked}` ends with `/`, or has a query"))
            .help("the public URL of `/mcp`: `https://gate.example/mcp`");
        return None;
    }
    Some(checked)
}

/// RFC 6749: characters allowed in a scope.
fn check_scopes(fields: &SectionFields, scopes: &[String], problems: &mut Problems) {
    let is_scope = |scope: &String| {
        !scope.is_empty() && scope.bytes().all(|c| c.is_ascii_graphic() && c != b'"' && c != b'\\')
    };
    if let Some(odd) = scopes.iter().find(|scope| !is_scope(scope)) {
        let message = format!("`{odd}` is not a scope");
        problems
            .error(fields.place("scopes"), &fields.path("scopes"), message)
            .help("visible ASCII characters without quotes and spaces");
    }
}

fn rule(fields: &SectionFields, agents: &[&str], problems: &mut Problems) -> TokenRule {
    let when = match (fields.text("claim"), fields.text("value")) {
        (Some(name), Some(value)) => {
            Some(ClaimMatcher { name: name.value.to_owned(), value: value.value.to_owned() })
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            problems
                .error(fields.at, &fields.path, "a rule has `claim` and `value`, or neither")
                .help("without both it would match every token");
            None
        }
    };
    let named = fields.has("rights").then(|| rights(fields));
    let role = fields.text("role").and_then(|text| KeyRole::parse(text.value));
    TokenRule {
        when,
        agents: key_agents(fields, agents, problems),
        rights: role.map_or(named.unwrap_or(Rights::NONE), |role| role.rights(named)),
        grant: PrincipalGrant {
            tools: fields
                .has("tools")
                .then(|| fields.texts("tools").iter().map(|text| Glob::new(text.value)).collect()),
            rate_limit: rate_limit(fields, problems),
            model_limits: model_limits(fields, problems),
            concurrent: fields.whole("concurrent").and_then(|it| u32::try_from(it.value).ok()),
            tenant: tenant(fields, problems),
        },
    }
}
