//! Private readers of hostile text, for the fuzz targets of `tollgate-fuzz` and for nobody else.

use std::net::IpAddr;

use serde_json::Value;

use crate::builtin::dice::{parse, roll as dice, speech};
use crate::builtin::files::path::RelativePath;
use crate::upstream::auth::challenge::Challenge;
use crate::upstream::auth::discovery;
use crate::web::AllowedHost;
use crate::web::place::OauthUrl;
use crate::web::ssrf_guard::SsrfRule;
use crate::web::target_url::TargetUrl;

/// How a dice expression fell.
#[derive(Debug)]
pub struct DiceRoll {
    pub total: i64,
    pub kept: usize,
    pub dropped: usize,
    pub sentence: String,
}

/// Reads and rolls a dice expression; `Err`: what the caller is told.
pub fn roll(text: &str, random: &mut dyn FnMut(u32) -> u32) -> Result<DiceRoll, String> {
    let expression = parse::parse(text).map_err(|invalid| invalid.to_string())?;
    let rolled = dice::roll(&expression, random);
    Ok(DiceRoll {
        total: rolled.total,
        kept: rolled.kept_faces().len(),
        dropped: rolled.dropped().len(),
        sentence: speech::sentence(text, &rolled),
    })
}

/// A path of the file tools, as it was understood.
pub fn relative_path(text: &str) -> Result<String, String> {
    RelativePath::parse(text).map(|path| path.to_string()).map_err(|invalid| invalid.to_string())
}

/// A URL that a stranger named, as it would be fetched.
#[derive(Debug, PartialEq, Eq)]
pub struct UntrustedUrl {
    pub url: String,
    /// Where it is an address and not a name.
    pub address: Option<IpAddr>,
    /// Whether the rule for strangers lets it connect there.
    pub admitted: bool,
}

/// A URL, or where a redirect from it leads.
pub fn stranger_url(text: &str, redirect: Option<&str>) -> Result<UntrustedUrl, String> {
    let mut target = TargetUrl::parse(text).map_err(|refused| refused.to_string())?;
    if let Some(location) = redirect {
        target = target.join(location).map_err(|refused| refused.to_string())?;
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

/// What a `www-authenticate` header asks for: where the metadata is, and scopes.
pub fn bearer_challenge(header: &str) -> (Option<String>, Vec<String>) {
    let Challenge { resource_metadata, scopes, .. } = Challenge::parse(header);
    (resource_metadata, scopes)
}

/// The token endpoint that metadata of a server leads to; `Err`: why it is not used. Both documents are read from
/// one body.
pub fn token_endpoint(server: &str, issuer: &str, body: &Value) -> Result<String, String> {
    let server = OauthUrl::parse(server)?;
    discovery::read_resource(&server, body)?;
    discovery::read_authorization_server(&server, issuer, body).map(|(url, _)| url)
}
