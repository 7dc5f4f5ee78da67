//! The target URL of a request, parsed as browsers do, so that `0x7f.1`, `①②⑦.0.0.1` and
//! `2130706433` are recognized as addresses, and the checked host is the one connected to. Pure.

use url::{Host, Url};

use super::fetch_error::FetchError;

const MAX_URL_BYTES: usize = 4_096;

/// Invariant: http or https, with a host, without user, password and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetUrl {
    url: Url,
}

impl TargetUrl {
    pub(crate) fn parse(text: &str) -> Result<Self, FetchError> {
        let text = text.trim_matches(' ');
        if text.len() > MAX_URL_BYTES {
            return Err(FetchError::Unfit(format!("the URL is longer than {MAX_URL_BYTES} bytes")));
        }
        // The parser would drop tabs and line breaks, and so read another URL than a person sees.
        if text.chars().any(char::is_control) {
            return unfit("the URL contains invisible characters");
        }
        if text.contains('\\') {
            return unfit("the URL contains `\\`; write `/`, or `%5C` for a literal backslash");
        }
        Self::check(Url::parse(text).map_err(|error| {
            FetchError::Unfit(format!("the URL is invalid ({error}); start it with `https://`"))
        })?)
    }

    /// The target of a redirect.
    pub(crate) fn join(&self, location: &str) -> Result<Self, FetchError> {
        match self.url.join(location) {
            Ok(url) if url.as_str().len() <= MAX_URL_BYTES => Self::check(url),
            _ => unfit("the page redirects to an invalid URL"),
        }
    }

    fn check(mut url: Url) -> Result<Self, FetchError> {
        if !matches!(url.scheme(), "http" | "https") {
            return unfit("only `http` and `https` URLs can be fetched");
        }
        if url.host_str().is_none_or(str::is_empty) {
            return unfit("the URL names no host");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return unfit("the URL contains a user or a password; remove them");
        }
        url.set_fragment(None);
        Ok(Self { url })
    }

    pub(crate) fn as_str(&self) -> &str {
        self.url.as_str()
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    pub(crate) fn host(&self) -> Host<&str> {
        self.url.host().expect("it was checked to have one")
    }

    /// As in the URL: IPv6 addresses in brackets.
    pub(crate) fn host_str(&self) -> &str {
        self.url.host_str().expect("it was checked to have one")
    }

    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().expect("http and https have one")
    }

    pub(crate) fn has_usual_port(&self) -> bool {
        matches!(self.port(), 80 | 443)
    }

    /// The value of the `host` header.
    pub(crate) fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host_str()),
            None => self.host_str().to_owned(),
        }
    }

    /// Path and query, as in the request line.
    pub(crate) fn path(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.url.origin() == other.url.origin()
    }
}

fn unfit<T>(words: &str) -> Result<T, FetchError> {
    Err(FetchError::Unfit(words.to_owned()))
}
