//! Browsers that were let in: each holds a random word in a cookie, in the place of the key that it
//! was exchanged for. A login is as good as its key: it ends when that does, or with the process.

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
use crate::access::AddressGroup;
use crate::api_error::ApiError;

/// How long a browser stays logged in.
pub(crate) const LOGIN_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// Browsers with one key; the one that came first goes when there is one more.
const MAX_LOGINS_PER_KEY: usize = 32;
/// Strangers who may send a key at the same time, and how many of them from one address.
const MAX_CONCURRENT_LOGINS: usize = 16;
const MAX_CONCURRENT_LOGINS_PER_ADDRESS: usize = 4;
/// Proves that a request which changes something was made by the page.
const PROOF: &str = "x-tollgate-csrf";

const NO_PROOF: ApiError = ApiError::new(
    StatusCode::FORBIDDEN,
    "no_csrf",
    "a changing request with a cookie requires `x-tollgate-csrf` from `/api/login`",
);

#[derive(Default)]
pub(crate) struct BrowserLogins {
    open: Mutex<HashMap<u128, BrowserLogin>>,
    /// Where those who send a key just now are.
    entering: Mutex<Vec<Option<AddressGroup>>>,
}

/// Room for one who sends a key, given back when it is dropped.
pub(crate) struct LoginPermit<'l> {
    logins: &'l BrowserLogins,
    /// `None`: whoever hides where they are.
    from: Option<AddressGroup>,
}

impl Drop for LoginPermit<'_> {
    fn drop(&mut self) {
        let mut entering = self.logins.entering.lock();
        if let Some(at) = entering.iter().position(|from| *from == self.from) {
            entering.swap_remove(at);
        }
    }
}

struct BrowserLogin {
    word: Fingerprint,
    key: Fingerprint,
    until: SystemTime,
    /// Ended when it is over: what came in by it ends with it.
    term: LeaseTerm,
}

impl Drop for BrowserLogin {
    fn drop(&mut self) {
        self.term.end(RevokedError::because("the browser was logged out"));
    }
}

/// Who a connection is from, and whether others can listen to it.
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

/// What a browser is given.
pub(crate) struct LoginCookie {
    pub(crate) cookie: String,
    pub(crate) proof: String,
    pub(crate) until: SystemTime,
}

/// What a browser's cookie says.
pub(super) struct VerifiedLogin {
    pub(super) key: Fingerprint,
    pub(super) proof: String,
    pub(super) until: SystemTime,
    pub(super) term: LeaseTerm,
}

impl BrowserLogins {
    /// A login in the place of this key. `None`: there is no randomness to make it from.
    pub(crate) fn open(
        &self,
        key: Fingerprint,
        (sent, now): (&Parts, SystemTime),
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

    /// Ends the login of this request; the cookie that takes the place of its own.
    pub(crate) fn close(&self, sent: &Parts) -> String {
        for word in words(sent) {
            self.open.lock().remove(&Fingerprint::of(word.as_bytes()).place());
        }
        cookie(sent, "", Duration::ZERO)
    }

    /// The key behind the cookie of a request. Only where the page asks: a socket is opened by any
    /// page, and what is not read by browsers needs no cookie.
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
        match sent.method == Method::GET || sent.method == Method::HEAD || is_proven(sent, word) {
            true => Ok(Some(shown)),
            false => Err(NO_PROOF),
        }
    }

    fn find(&self, word: &str, now: SystemTime) -> Option<VerifiedLogin> {
        let found = Fingerprint::of(word.as_bytes());
        let open = self.open.lock();
        let login = open.get(&found.place()).filter(|it| it.word.is(&found) && it.until > now)?;
        let BrowserLogin { key, until, ref term, .. } = *login;
        Some(VerifiedLogin { key, proof: proof(word), until, term: term.clone() })
    }

    /// Room for one who sends a key. Anybody may, so nobody is to fill the house by it, or to keep
    /// others out.
    pub(crate) fn enter(&self, address: Option<IpAddr>) -> Result<LoginPermit<'_>, ApiError> {
        let from = address.map(AddressGroup::of);
        let mut entering = self.entering.lock();
        let of_one = entering.iter().filter(|it| **it == from).count();
        if entering.len() >= MAX_CONCURRENT_LOGINS || of_one >= MAX_CONCURRENT_LOGINS_PER_ADDRESS {
            let detail = "too many logins at the same time; try again";
            let wait = Duration::from_secs(1);
            return Err(
                ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_logins", detail).later(wait)
            );
        }
        entering.push(from);
        Ok(LoginPermit { logins: self, from })
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

/// Made of the word itself: there is nothing to keep, and nothing to be had of the word.
fn proof(word: &str) -> String {
    let made = digest(&SHA256, format!("proof of {word}").as_bytes());
    made.as_ref().iter().take(16).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether nobody can listen between a browser and us, or the proxy before us: a browser says so
/// itself, by the origin of what it posts and by a cookie that it has for TLS only.
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

/// Cookies know no ports: gateways beside each other would take each other's.
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
    let (name, age) = (name(sent, line), lasts.as_secs());
    let secure = match line {
        TransportSecurity::Tls => "; Secure",
        TransportSecurity::Plain => "",
    };
    format!("{name}={word}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
}

/// A browser may still have one of another time; only one of them can be open.
fn words(sent: &Parts) -> impl Iterator<Item = &str> {
    let names = [TransportSecurity::Tls, TransportSecurity::Plain].map(|line| name(sent, line));
    let ours = cookies(&sent.headers).filter(move |(known, _)| names.iter().any(|it| it == known));
    ours.map(|(_, word)| word)
}

pub(crate) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(';')).filter_map(|one| one.trim().split_once('='))
}
