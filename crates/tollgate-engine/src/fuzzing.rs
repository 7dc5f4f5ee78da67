//! Private parsers of untrusted text, exported for the fuzz targets of `tollgate-fuzz` only.

use std::fmt;
use std::net::IpAddr;

use serde_json::Value;

use crate::builtin::dice::{parse, roll as dice, speech};
use crate::builtin::files::path::RelativePath;
use crate::upstream::auth::challenge::Challenge;
use crate::upstream::auth::{OauthError, discovery};
use crate::web::place::OauthUrl;
use crate::web::ssrf_guard::SsrfRule;
use crate::web::target_url::TargetUrl;
use crate::web::{AllowedHost, FetchError};

/// Rejected input: the message to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FuzzedInputError(String);

impl FuzzedInputError {
    fn new(rejected: impl fmt::Display) -> Self {
        Self(rejected.to_string())
    }
}

/// The result of a dice expression.
#[derive(Debug)]
pub struct DiceRoll {
    pub total: i64,
    pub kept_dice: usize,
    pub dropped: usize,
    pub sentence: String,
}

/// Parses and rolls a dice expression.
pub fn roll(text: &str, random: &mut dyn FnMut(u32) -> u32) -> Result<DiceRoll, FuzzedInputError> {
    let expression = parse::parse(text).map_err(FuzzedInputError::new)?;
    let rolled = dice::roll(&expression, random);
    Ok(DiceRoll {
        total: rolled.total,
        kept_dice: rolled.kept_faces().len(),
        dropped: rolled.dropped_faces().len(),
        sentence: speech::sentence(text, &rolled),
    })
}

/// A parsed path of the file tools.
pub fn relative_path(text: &str) -> Result<String, FuzzedInputError> {
    RelativePath::parse(text).map(|path| path.to_string()).map_err(FuzzedInputError::new)
}

/// An untrusted URL, as it would be fetched.
#[derive(Debug, PartialEq, Eq)]
pub struct UntrustedUrl {
    pub url: String,
    /// Set if the host is an address and not a name.
    pub address: Option<IpAddr>,
    /// Whether the SSRF guard allows the connection.
    pub admitted: bool,
}

/// A URL, or the target of a redirect from it.
pub fn stranger_url(text: &str, redirect: Option<&str>) -> Result<UntrustedUrl, FetchError> {
    let mut target = TargetUrl::parse(text)?;
    if let Some(location) = redirect {
        target = target.join(location)?;
    }
    let address = match target.host() {
        url::Host::Domain(_) => None,
        url::Host::Ipv4(address) => Some(IpAddr::V4(address)),
        url::Host::Ipv6(address) => Some(IpAddr::V6(address)),
    };
    let rule = SsrfRule::Stranger(Vec::<AllowedHost>::new().into());
    let admitted = rule.admits_url(&target).is_ok()
        && address.is_some_and(|address| rule.admits(&target, address));
    Ok(UntrustedUrl { url: target.as_str().to_owned(), address, admitted })
}

/// The metadata URL and the scopes of a `www-authenticate` header.
pub fn bearer_challenge(header: &str) -> (Option<String>, Vec<String>) {
    let Challenge { resource_metadata, scopes, .. } = Challenge::parse(header);
    (resource_metadata, scopes)
}

/// The token endpoint according to a server's metadata; `Err`: why it is rejected. Both documents
/// are read from one body.
pub fn token_endpoint(server: &str, issuer: &str, body: &Value) -> Result<String, OauthError> {
    let server = OauthUrl::parse(server)?;
    discovery::read_resource(&server, body)?;
    discovery::read_authorization_server(&server, issuer, body).map(|(url, _)| url)
}
