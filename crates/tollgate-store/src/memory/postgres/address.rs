//! PostgreSQL connection URL and TLS mode, parsed once. Never quoted in messages, since it may
//! contain a password.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Why a URL is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostgresAddressError {
    #[error(
        "it is not a database URL: write `postgres://user:password@host/database`, and encode `@` \
         as `%40`, `:` as `%3A` and `/` as `%2F` in user and password"
    )]
    Unreadable,
    #[error("it has no host: write `postgres://user@host/database`")]
    NoHost,
    #[error("`sslmode` must be `disable`, `prefer`, `require` or `verify-full`")]
    SslMode,
    #[error("`sslrootcert` requires `sslmode=verify-full`")]
    UnusedRoots,
    #[error("`{}` has no usable certificates: {why}", .file.display())]
    Roots { file: PathBuf, why: String },
    #[error("cannot read the system's root certificates: {0}")]
    SystemRoots(String),
    #[error("a database connection requires the gateway's runtime")]
    NoRuntime,
}

/// A valid address.
#[derive(Debug)]
pub(super) struct PostgresAddress {
    pub(super) config: Config,
    pub(super) proof: ServerVerification,
}

/// How the server is authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerVerification {
    /// Not at all; the connection may still be encrypted.
    None,
    /// By a certificate for its host name: signed by this file, or by a system root.
    Certificate(Option<PathBuf>),
}

/// Connect timeout per host.
pub(super) const CONNECT: Duration = Duration::from_millis(800);

impl PostgresAddress {
    pub(super) fn parse(url: &str) -> Result<Self, PostgresAddressError> {
        let PostgresUrl { plain, mode, roots } = PostgresUrl::parse(url.trim())?;
        let mut config: Config = plain.parse().map_err(|_| PostgresAddressError::Unreadable)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(PostgresAddressError::NoHost);
        }
        let (mode, proof) = match (mode.as_deref(), roots) {
            (Some("verify-full"), roots) => {
                (SslMode::Require, ServerVerification::Certificate(roots))
            }
            (_, Some(_)) => return Err(PostgresAddressError::UnusedRoots),
            (Some("require"), None) => (SslMode::Require, ServerVerification::None),
            (Some("prefer") | None, None) => (SslMode::Prefer, ServerVerification::None),
            (Some("disable"), None) => (SslMode::Disable, ServerVerification::None),
            (Some(_), None) => return Err(PostgresAddressError::SslMode),
        };
        let over_the_net = |host: &Host| matches!(host, Host::Tcp(_));
        if mode != SslMode::Require && !config.get_hosts().iter().any(over_the_net) {
            config.ssl_mode(SslMode::Disable);
        } else {
            config.ssl_mode(mode);
        }
        if config.get_application_name().is_none() {
            config.application_name("tollgate");
        }
        config.connect_timeout(CONNECT);
        // Detects a vanished host on idle connections too.
        config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(2).tcp_user_timeout(Duration::from_secs(10));
        Ok(Self { config, proof })
    }
}

/// The URL without the parameters that the driver does not know, and those parameters.
struct PostgresUrl {
    plain: String,
    mode: Option<String>,
    roots: Option<PathBuf>,
}

impl PostgresUrl {
    fn parse(url: &str) -> Result<Self, PostgresAddressError> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(PostgresAddressError::Unreadable);
        }
        let (before, query) = url.split_once('?').unwrap_or((url, ""));
        let mut mode = None;
        let mut roots = None;
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", "system")) => {}
                Some(("sslrootcert", value)) => {
                    roots = Some(Path::new(&percent_decode(value)?).to_owned())
                }
                _ => others.push(pair),
            }
        }
        let query =
            if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
        Ok(Self { plain: format!("{before}{query}"), mode, roots })
    }
}

/// `%2F` is `/`.
fn percent_decode(text: &str) -> Result<String, PostgresAddressError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits =
                    std::str::from_utf8(&digits).map_err(|_| PostgresAddressError::Unreadable)?;
                let byte =
                    u8::from_str_radix(digits, 16).map_err(|_| PostgresAddressError::Unreadable)?;
                bytes.push(byte);
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).map_err(|_| PostgresAddressError::Unreadable)
}

#[cfg(test)]
mod tests;
