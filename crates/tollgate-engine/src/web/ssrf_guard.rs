//! SSRF guard, deciding side: which addresses a URL may lead to, by its origin, and the allowlist
//! of private hosts. Pure.

use std::net::IpAddr;
use std::sync::Arc;

use tollgate_core::address::{AddressScope, address_scope};

use super::fetch_error::FetchError;
use super::target_url::TargetUrl;

/// Where a request may connect to, by the origin of its URL.
#[derive(Debug, Clone)]
pub(crate) enum SsrfRule {
    /// From the operator: anywhere.
    Operator,
    /// Untrusted: the public web, and the operator's allowlist.
    Stranger(Arc<[AllowedHost]>),
    /// From a server that the operator named: the public web, or the server's own address scope.
    Beside(AddressScope),
}

/// An allowlist entry: a host that untrusted URLs may reach, wherever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    /// As in a URL: lower case, IPv6 addresses in brackets.
    host: String,
    /// `None`: the default ports.
    port: Option<u16>,
}

/// Text that is no allowlist entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither `host` nor `host:port`")]
pub struct AllowedHostError(String);

impl AllowedHost {
    /// `host` or `host:port`; the host may be an address.
    pub fn parse(text: &str) -> Result<Self, AllowedHostError> {
        let unfit = || AllowedHostError(text.to_owned());
        let with_scheme = format!("http://{text}");
        let target = TargetUrl::parse(&with_scheme).map_err(|_| unfit())?;
        if text.ends_with(':') || target.path() != "/" || text.contains(['/', '?', '#', '@', '*']) {
            return Err(unfit());
        }
        // The URL parser drops the default port 80, so parse it from the text.
        let named = text.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        Ok(Self { host: without_trailing_dot(target.host_str()).to_owned(), port: named })
    }

    fn covers(&self, target: &TargetUrl) -> bool {
        let port = match self.port {
            Some(port) => port == target.port(),
            None => target.has_usual_port(),
        };
        port && self.host == without_trailing_dot(target.host_str())
    }
}

/// Without the trailing dot: `localhost.` is `localhost`.
fn without_trailing_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

impl SsrfRule {
    /// Checks the URL before any name is resolved.
    pub(crate) fn admits_url(&self, target: &TargetUrl) -> Result<(), FetchError> {
        match self {
            Self::Operator | Self::Beside(_) => Ok(()),
            Self::Stranger(opened) if opened.iter().any(|it| it.covers(target)) => Ok(()),
            Self::Stranger(_) if target.has_usual_port() => Ok(()),
            Self::Stranger(_) => Err(FetchError::Port(target.port())),
        }
    }

    pub(crate) fn admits(&self, target: &TargetUrl, address: IpAddr) -> bool {
        let found = address_scope(address);
        match self {
            Self::Operator => true,
            Self::Stranger(opened) => {
                found == AddressScope::Public || opened.iter().any(|it| it.covers(target))
            }
            Self::Beside(home) => match found {
                AddressScope::Public => true,
                AddressScope::Network => {
                    matches!(home, AddressScope::Network | AddressScope::Machine)
                }
                AddressScope::Machine => *home == AddressScope::Machine,
                AddressScope::Nowhere => false,
            },
        }
    }
}
