//! Browser logins: each holds a random token in a cookie, exchanged for a key. A login is valid as
//! long as its key, and at most until the process ends.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq as _;
use tollgate_core::lease::{LeaseTerm, RevokedError};

use super::Fingerprint;
use super::secret::{self, SecretKind};
use crate::api_error::ApiError;

/// Lifetime of a login.
pub(crate) const LOGIN_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// Logins per key. One more evicts the oldest.
const MAX_LOGINS_PER_KEY: usize = 32;
/// Header with the CSRF token. It proves that the page made a request that changes something.
const PROOF: &str = "x-tollgate-csrf";

const NO_PROOF: ApiError = ApiError::new(
    StatusCode::FORBIDDEN,
    "no_csrf",
    "a changing request with a cookie requires `x-tollgate-csrf` from `/api/login`",
);

#[derive(Default)]
pub(crate) struct BrowserLogins {
    open: Mutex<HashMap<u128, BrowserLogin>>,
}

struct BrowserLogin {
    word: Fingerprint,
    key: Fingerprint,
    until: SystemTime,
    /// Ended with the login. All leases under it end, too.
    term: LeaseTerm,
}

impl Drop for BrowserLogin {
    fn drop(&mut self) {
        self.term.end(RevokedError::because("the browser was logged out"));
    }
}

/// Address of the peer, and whether the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionPeer {
    pub(crate) address: Option<IpAddr>,
    pub(crate) line: TransportSecurity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransportSecurity {
    Plain,
    Tls,
}

/// The values sent to a browser after a login.
pub(crate) struct LoginCookie {
    pub(crate) cookie: String,
    pub(crate) proof: String,
    pub(crate) until: SystemTime,
}

/// The login that a browser's cookie names.
pub(super) struct VerifiedLogin {
    pub(super) key: Fingerprint,
    pub(super) proof: String,
    pub(super) until: SystemTime,
    pub(super) term: LeaseTerm,
}

impl BrowserLogins {
    /// Opens a login for this key. `None`: the system has no randomness.
    pub(crate) fn open(
        &self,
        key: Fingerprint,
        sent: &Parts,
        now: SystemTime,
    ) -> Option<LoginCookie> {
        let word = secret::make(SecretKind::Login)?;
        let until = now + LOGIN_LIFETIME;
        let term = LeaseTerm::new();
        let login =
            BrowserLogin { word: Fingerprint::of(word.reveal().as_bytes()), key, until, term };
        let mut open = self.open.lock();
        open.retain(|_, login| login.until > now);
        let of_key = || open.iter().filter(|(_, login)| login.key.is(&key));
        if of_key().count() >= MAX_LOGINS_PER_KEY {
            let oldest = of_key().min_by_key(|(_, login)| login.until).map(|(place, _)| *place);
            oldest.and_then(|place| open.remove(&place));
        }
        open.insert(login.word.place(), login);
        let cookie = cookie(sent, word.reveal(), LOGIN_LIFETIME);
        Some(LoginCookie { cookie, proof: proof(word.reveal()), until })
    }

    /// Ends the login of this request. Returns a cookie that clears its own.
    pub(crate) fn close(&self, sent: &Parts) -> String {
        for word in words(sent) {
            self.open.lock().remove(&Fingerprint::of(word.as_bytes()).place());
        }
        cookie(sent, "", Duration::ZERO)
    }

    /// The login of a request's cookie. Accepted only on routes that the page uses: any page can
    /// open a WebSocket, and routes not meant for browsers need no cookie.
    pub(super) fn read_login(
        &self,
        sent: &Parts,
        now: SystemTime,
    ) -> Result<Option<VerifiedLogin>, ApiError> {
        if !counts(sent) {
            return Ok(None);
        }
        let Some((word, shown)) = words(sent).find_map(|word| Some((word, self.find(word, now)?)))
        else {
            return Ok(None);
        };
        if sent.method == Method::GET || sent.method == Method::HEAD || is_proven(sent, word) {
            Ok(Some(shown))
        } else {
            Err(NO_PROOF)
        }
    }

    fn find(&self, word: &str, now: SystemTime) -> Option<VerifiedLogin> {
        let found = Fingerprint::of(word.as_bytes());
        let open = self.open.lock();
        let login = open.get(&found.place()).filter(|it| it.word.is(&found) && it.until > now)?;
        let BrowserLogin { key, until, ref term, .. } = *login;
        Some(VerifiedLogin { key, proof: proof(word), until, term: term.clone() })
    }
}

fn counts(sent: &Parts) -> bool {
    let path = sent.uri.path();
    let is_asked = ["/api/", "/v1/", "/mcp/test/"].iter().any(|prefix| path.starts_with(prefix))
        || matches!(path, "/mcp/status" | "/metrics");
    is_asked && !sent.headers.contains_key(header::UPGRADE)
}

fn is_proven(sent: &Parts, word: &str) -> bool {
    let sent = sent.headers.get(PROOF).map(|value| value.as_bytes());
    sent.is_some_and(|sent| sent.ct_eq(proof(word).as_bytes()).into())
}

/// Derived from the token, so nothing needs to be stored, and it reveals nothing about the token.
fn proof(word: &str) -> String {
    let made = digest(&SHA256, format!("proof of {word}").as_bytes());
    made.as_ref().iter().take(16).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether the connection from the browser to us, or to the proxy before us, is encrypted. The
/// browser shows that by the `Origin` of a POST and by a cookie that it sends over TLS only.
pub(crate) fn line(sent: &Parts) -> TransportSecurity {
    let own =
        sent.extensions.get::<ConnectionPeer>().map_or(TransportSecurity::Plain, |peer| peer.line);
    let is_tls = match sent.headers.get(header::ORIGIN) {
        Some(origin) => origin.as_bytes().starts_with(b"https://"),
        None => {
            cookies(&sent.headers).any(|(known, _)| known == name(sent, TransportSecurity::Tls))
        }
    };
    if is_tls { TransportSecurity::Tls } else { own }
}

/// Cookies ignore ports: without the port in the name, gateways on one host would share them.
fn name(sent: &Parts, line: TransportSecurity) -> String {
    let host = sent.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':')).map_or("", |(_, port)| port);
    match line {
        TransportSecurity::Tls => format!("__Host-tollgate-{port}"),
        TransportSecurity::Plain => format!("tollgate-{port}"),
    }
}

fn cookie(sent: &Parts, word: &str, lasts: Duration) -> String {
    let line = line(sent);
    let name = name(sent, line);
    let age = lasts.as_secs();
    let secure = match line {
        TransportSecurity::Tls => "; Secure",
        TransportSecurity::Plain => "",
    };
    format!("{name}={word}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
}

/// A browser may still hold an old cookie. At most one of them belongs to an open login.
fn words(sent: &Parts) -> impl Iterator<Item = &str> {
    let names = [TransportSecurity::Tls, TransportSecurity::Plain].map(|line| name(sent, line));
    let ours = cookies(&sent.headers).filter(move |(known, _)| names.iter().any(|it| it == known));
    ours.map(|(_, word)| word)
}

pub(crate) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(';')).filter_map(|one| one.trim().split_once('='))
}
