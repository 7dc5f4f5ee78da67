//! A server reached by URL: address, headers, and authentication.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue, Uri};
use tollgate_core::secret::Secret;
use tollgate_engine::settings::{ClientCredentials, HttpEndpoint, OauthLoginSettings, ServerAuth};

use super::super::diagnostic::Problems;
use super::super::raw::{SectionFields, Spanned};

/// Headers that belong to the transport or to the protocol.
const OURS: [&str; 14] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn endpoint(fields: &SectionFields, problems: &mut Problems) -> Option<HttpEndpoint> {
    let mut headers = headers(fields, problems);
    let auth = fields
        .section("auth")
        .map_or(ServerAuth::None, |section| auth(section, &mut headers, problems));
    if auth != ServerAuth::None && headers.contains_key("authorization") {
        problems
            .error(fields.place("headers"), &fields.path("headers"), "two ways to authorize")
            .help("remove `authorization` from `headers`, or remove `auth`");
    }
    let text = fields.text("url")?;
    let url = url(text, &fields.path("url"), problems)?;
    if auth != ServerAuth::None || headers.contains_key("authorization") {
        warn_of_open_wire(text, &fields.path("url"), problems);
    }
    Some(HttpEndpoint { url, headers, auth })
}

/// http or https, with a host, without credentials.
pub(super) fn url(text: Spanned<&str>, path: &str, problems: &mut Problems) -> Option<String> {
    let value = text.value.trim();
    let key = path.rsplit('.').next().unwrap_or(path);
    let rest = value.split_once("://").map(|(_, rest)| rest);
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if authority.contains('@') {
        problems.hide(text.at);
        problems
            .error(text.at, path, format!("`{key}` must not contain a user and a password"))
            .help("use `auth:` or `headers:`, which are not logged");
        return None;
    }
    let is_web = matches!(value.split_once("://"), Some(("http" | "https", _)));
    let wrong = match value.parse::<Uri>() {
        _ if !is_web => Some("must begin with http:// or https://"),
        _ if authority.is_empty() => Some("has no host"),
        Err(_) => Some("is not a URL"),
        Ok(uri) if uri.host().is_none_or(str::is_empty) => Some("has no host"),
        Ok(uri) if has_bad_port(&uri) => Some("has a port that is not from 1 to 65535"),
        Ok(_) => None,
    };
    if let Some(wrong) = wrong {
        problems
            .error(text.at, path, format!("`{key}` {wrong}: `{value}`"))
            .help("like `https://tools.example.com/mcp`");
        return None;
    }
    Some(value.to_owned())
}

fn has_bad_port(uri: &Uri) -> bool {
    let (Some(authority), Some(host)) = (uri.authority(), uri.host()) else { return true };
    let port = authority.as_str().strip_prefix(host).and_then(|rest| rest.strip_prefix(':'));
    port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port != 0))
}

pub(super) fn headers(fields: &SectionFields, problems: &mut Problems) -> BTreeMap<String, Secret> {
    let path = fields.path("headers");
    let mut headers = BTreeMap::new();
    for (name, value) in fields.table("headers") {
        let lower = name.value.to_lowercase();
        if HeaderName::from_bytes(lower.as_bytes()).is_err() {
            let message = format!("`{}` is not a valid header name", name.value);
            problems.error(name.at, &path, message).help("letters, digits and `-`");
        } else if OURS.contains(&lower.as_str()) {
            let message = format!("the header `{}` is set by the gateway", name.value);
            problems.error(name.at, &path, message).help("remove it");
        } else if HeaderValue::from_str(value).is_err() {
            let message = format!("the value of the header `{}` contains a line break", name.value);
            problems.error(name.at, &path, message).help("one line of visible ASCII characters");
        } else if headers.insert(lower, Secret::new(value)).is_some() {
            let message = format!("duplicate header `{}`", name.value);
            problems.error(name.at, &path, message).help("header names are case-insensitive");
        }
    }
    headers
}

fn auth(
    fields: &SectionFields,
    headers: &mut BTreeMap<String, Secret>,
    problems: &mut Problems,
) -> ServerAuth {
    if let Some(key) = credential(fields, "apiKey", problems)
        && headers.insert("x-api-key".to_owned(), key).is_some()
    {
        problems
            .error(fields.place("apiKey"), &fields.path("apiKey"), "`x-api-key` is set twice")
            .help("remove it from `headers`");
    }
    let token = credential(fields, "token", problems);
    if let Some(login) = login(fields, problems) {
        return ServerAuth::Login(login);
    }
    if let Some(oauth) = fields.section("oauth") {
        if fields.has("token") {
            problems
                .warning(fields.place("token"), &fields.path("token"), "`token` is not used")
                .help("`oauth` takes precedence; remove one of them");
        }
        return client_credentials(oauth, problems)
            .map_or(ServerAuth::None, ServerAuth::ClientCredentials);
    }
    token.map_or(ServerAuth::None, ServerAuth::Token)
}

/// OAuth login by a person, with `tollgate servers login`.
fn login(fields: &SectionFields, problems: &mut Problems) -> Option<OauthLoginSettings> {
    if fields.flag("login") != Some(true) {
        for key in ["client_id", "client_secret", "issuer", "scopes"] {
            if fields.has(key) {
                problems
                    .warning(fields.place(key), &fields.path(key), format!("`{key}` is not used"))
                    .help("it is for `login: true`; client credentials have theirs in `oauth`");
            }
        }
        return None;
    }
    for other in ["token", "oauth"] {
        if fields.has(other) {
            problems
                .error(fields.place(other), &fields.path(other), "two ways to authorize")
                .help(format!("remove `{other}` or `login`"));
        }
    }
    let text = |key: &str| fields.text(key).map(|text| text.value);
    if text("client_secret").is_some() && text("client_id").is_none() {
        problems
            .error(
                fields.place("client_secret"),
                &fields.path("client_secret"),
                "`client_secret` without `client_id`",
            )
            .help("a secret requires its client id");
    }
    let issuer = fields.text("issuer").map(|text| url(text, &fields.path("issuer"), problems));
    Some(OauthLoginSettings {
        client_id: text("client_id").map(str::to_owned),
        client_secret: text("client_secret").map(Secret::new),
        issuer: issuer.flatten(),
        scopes: fields.texts("scopes").iter().map(|scope| scope.value.to_owned()).collect(),
    })
}

/// A secret for a header, without the word Bearer.
fn credential(fields: &SectionFields, key: &str, problems: &mut Problems) -> Option<Secret> {
    let text = fields.text(key)?;
    let value = text.value.trim();
    let value = match value.split_once(char::is_whitespace) {
        Some((word, rest)) if word.eq_ignore_ascii_case("bearer") => rest.trim(),
        _ => value,
    };
    let is_bare = value.is_empty() || value.eq_ignore_ascii_case("bearer");
    if is_bare || HeaderValue::from_str(value).is_err() {
        let wrong =
            if is_bare { "is empty" } else { "has characters that are not allowed in a header" };
        problems
            .error(text.at, &fields.path(key), format!("`{key}` {wrong}"))
            .help("check the value of the variable");
        return None;
    }
    Some(Secret::new(value))
}

fn client_credentials(
    fields: &SectionFields,
    problems: &mut Problems,
) -> Option<ClientCredentials> {
    let token_url = fields.text("token_url");
    let checked = token_url.map(|text| url(text, &fields.path("token_url"), problems));
    let secret = fields.text("client_secret")?;
    if secret.value.is_empty() {
        problems
            .error(secret.at, &fields.path("client_secret"), "`client_secret` is empty")
            .help("check the value of the variable");
    }
    Some(ClientCredentials {
        client_id: fields.text("client_id")?.value.to_owned(),
        client_secret: Secret::new(secret.value),
        token_url: checked.flatten(),
        scopes: fields.texts("scopes").iter().map(|scope| scope.value.to_owned()).collect(),
    })
}

pub(super) fn warn_of_open_wire(text: Spanned<&str>, path: &str, problems: &mut Problems) {
    let Ok(uri) = text.value.trim().parse::<Uri>() else { return };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_local = host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if uri.scheme_str() == Some("http") && !is_local {
        problems.warning(text.at, path, "the credential is sent unencrypted").help("use https://");
    }
}

/// Whether `text` is a URL with one of `schemes`.
pub(super) fn has_scheme(text: &str, schemes: &[&str]) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, rest)| schemes.contains(&scheme) && !rest.is_empty())
}
