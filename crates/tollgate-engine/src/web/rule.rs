//! Who may be led where. Pure.

use std::net::IpAddr;
use std::sync::Arc;

use tollgate_core::address::{Realm, realm};

use super::refused::Refused;
use super::target::Target;

/// What a request may connect to, by who named its URL.
#[derive(Debug, Clone)]
pub(crate) enum Rule {
    /// The operator: anywhere.
    Operator,
    /// A stranger: the public web, and what the operator opened.
    Stranger(Arc<[Opened]>),
    /// A server that the operator named: the public web, or the realm that it is in itself.
    Beside(Realm),
}

/// A place that the operator opened for strangers' URLs, wherever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// As in a URL: lower case, IPv6 addresses in brackets.
    host: String,
    /// `None`: the usual ones.
    port: Option<u16>,
}

impl Opened {
    /// `host`, `host:port`; addresses too.
    pub fn parse(text: &str) -> Result<Self, String> {
        let unfit = || format!("`{text}` is neither `host` nor `host:port`");
        let with_scheme = format!("http://{text}");
        let target = Target::parse(&with_scheme).map_err(|_| unfit())?;
        if text.ends_with(':') || target.path() != "/" || text.contains(['/', '?', '#', '@', '*']) {
            return Err(unfit());
        }
        // 80 is what the parser leaves out.
        let named = text.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        Ok(Self { host: plain(target.host_str()).to_owned(), port: named })
    }

    fn covers(&self, target: &Target) -> bool {
        let port = match self.port {
            Some(port) => port == target.port(),
            None => target.has_usual_port(),
        };
        port && self.host == plain(target.host_str())
    }
}

/// `localhost.` is `localhost`.
fn plain(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

impl Rule {
    /// Before any name is looked up.
    pub(crate) fn admits_url(&self, target: &Target) -> Result<(), Refused> {
        match self {
            Self::Operator | Self::Beside(_) => Ok(()),
            Self::Stranger(opened) if opened.iter().any(|it| it.covers(target)) => Ok(()),
            Self::Stranger(_) if target.has_usual_port() => Ok(()),
            Self::Stranger(_) => Err(Refused::Port(target.port())),
        }
    }

    pub(crate) fn admits(&self, target: &Target, address: IpAddr) -> bool {
        let found = realm(address);
        match self {
            Self::Operator => true,
            Self::Stranger(opened) => {
                found == Realm::Public || opened.iter().any(|it| it.covers(target))
            }
            Self::Beside(home) => match found {
                Realm::Public => true,
                Realm::Network => matches!(home, Realm::Network | Realm::Machine),
                Realm::Machine => *home == Realm::Machine,
                Realm::Nowhere => false,
            },
        }
    }
}
