//! URLs in OAuth: locations of well-known documents, and where secrets may be sent.

use http::Uri;

/// Why a URL is not used for OAuth.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OauthUrlError {
    #[error("a URL in the OAuth metadata is invalid")]
    Invalid,
    #[error("`{0}` is not https, so credentials are not sent to it")]
    PlainText(String),
    #[error(
        "the server requests that its credentials be sent to `{0}`; set `token_url` if that is \
         correct"
    )]
    OtherOrigin(String),
}

/// An absolute http(s) URL, without query and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthUrl {
    /// `https://host:port`
    pub origin: String,
    /// Empty, or begins with `/` and does not end with one.
    pub path: String,
    /// As written, at least `/`.
    full_path: String,
    host: String,
    secure: bool,
}

impl OauthUrl {
    pub fn parse(url: &str) -> Result<Self, OauthUrlError> {
        let unfit = || OauthUrlError::Invalid;
        let uri: Uri = url.split('#').next().unwrap_or(url).parse().map_err(|_| unfit())?;
        let scheme = uri.scheme_str().ok_or_else(unfit)?;
        let authority = uri.authority().ok_or_else(unfit)?;
        if !matches!(scheme, "http" | "https") || authority.as_str().contains('@') {
            return Err(unfit());
        }
        Ok(Self {
            origin: format!("{scheme}://{}", authority.as_str().to_ascii_lowercase()),
            path: uri.path().trim_end_matches('/').to_owned(),
            full_path: uri.path().to_owned(),
            host: authority.host().to_ascii_lowercase(),
            secure: scheme == "https",
        })
    }

    /// The canonical URI of a resource (RFC 8707): no fragment, no trailing slash.
    pub fn resource(&self) -> String {
        format!("{}{}", self.origin, self.path)
    }

    /// With the name inserted between host and path (RFC 8414, RFC 9728).
    pub fn insert_well_known(&self, name: &str) -> String {
        format!("{}/.well-known/{name}{}", self.origin, self.path)
    }

    pub fn at_root(&self, name: &str) -> String {
        format!("{}/.well-known/{name}", self.origin)
    }

    /// With the name appended to the path (OpenID Connect discovery).
    pub fn append_well_known(&self, name: &str) -> String {
        format!("{}{}/.well-known/{name}", self.origin, self.path)
    }

    /// Whether `other` is this URL, or below it. `/mcp/` is below `/mcp`, and not the same.
    pub fn covers(&self, other: &Self) -> bool {
        self.origin == other.origin
            && other.full_path.strip_prefix(&self.full_path).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') || self.full_path.ends_with('/')
            })
    }

    /// Whether both URLs name the same issuer. At the root a trailing slash is ignored.
    pub fn is_same_issuer(&self, other: &Self) -> bool {
        self.origin == other.origin && self.full_path == other.full_path
    }

    /// Secrets are sent over TLS only, except on the loopback interface between two local services.
    pub fn may_get_secrets_from(&self, server: &Self) -> Result<(), OauthUrlError> {
        if self.secure || self.is_local() && server.is_local() {
            Ok(())
        } else {
            Err(OauthUrlError::PlainText(self.origin.clone()))
        }
    }

    /// A server may receive its client's secret itself, but may not have it sent elsewhere. All
    /// services on this machine count as one.
    pub fn may_get_the_secret_for(&self, server: &Self) -> Result<(), OauthUrlError> {
        self.may_get_secrets_from(server)?;
        if self.origin == server.origin || self.is_local() && server.is_local() {
            Ok(())
        } else {
            Err(OauthUrlError::OtherOrigin(self.origin.clone()))
        }
    }

    fn is_local(&self) -> bool {
        matches!(self.host.as_str(), "localhost" | "127.0.0.1" | "[::1]")
    }
}
