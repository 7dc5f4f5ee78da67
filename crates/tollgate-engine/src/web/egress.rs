//! Fetches untrusted URLs from the web, behind the SSRF guard: URLs of a model, or redirects of a
//! page. Requests never carry credentials, so none can reach the wrong host.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::Full;
use tokio::sync::Semaphore;

use super::body;
pub use super::body::BodyEnd;
use super::dial::{Answered, Dialer};
use super::fetch_error::FetchError;
use super::ssrf_guard::{AllowedHost, SsrfRule};
use super::target_url::TargetUrl;
use crate::clock::{Clock as _, SystemClock};

/// For one URL including its redirects, whatever the caller's deadline.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 3;
const MAX_CONCURRENT_FETCHES: usize = 64;

const AGENT: HeaderValue = HeaderValue::from_static(concat!(
    "Mozilla/5.0 (compatible; Tollgate/",
    env!("CARGO_PKG_VERSION"),
    ")"
));
const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

pub struct Egress {
    dialer: Dialer,
    opened: Arc<[AllowedHost]>,
    slots: Semaphore,
}

/// A request for a page, and its bounds.
#[derive(Debug, Clone, Copy)]
pub struct PageRequest {
    /// The value of the `accept` header.
    pub accept: &'static str,
    /// Whether a response of this media type is read at all.
    pub takes: fn(&str) -> bool,
    /// On the wire, and again after decompression. Longer content is cut.
    pub most_bytes: usize,
    /// Deadline of the caller.
    pub until: Option<Instant>,
}

/// A successful (2xx) response, after all redirects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    pub url: String,
    /// Lower case, without parameters; empty if the server sent none.
    pub media_type: String,
    pub charset: Option<String>,
    pub bytes: Vec<u8>,
    pub ended: BodyEnd,
}

impl Egress {
    pub fn new(opened: &[AllowedHost]) -> Self {
        Self::over(Dialer::system(), opened)
    }

    pub(crate) fn over(dialer: Dialer, opened: &[AllowedHost]) -> Self {
        Self { dialer, opened: opened.into(), slots: Semaphore::new(MAX_CONCURRENT_FETCHES) }
    }

    pub async fn get(&self, url: &str, wish: &PageRequest) -> Result<FetchedPage, FetchError> {
        let _slot = self.slots.try_acquire().map_err(|_| FetchError::Busy)?;
        let latest = SystemClock.now() + PAGE_TIMEOUT;
        let until = wish.until.map_or(latest, |until| until.min(latest));
        tokio::time::timeout_at(until.into(), self.follow(url, wish))
            .await
            .unwrap_or(Err(FetchError::TooSlow))
    }

    async fn follow(&self, url: &str, wish: &PageRequest) -> Result<FetchedPage, FetchError> {
        let rule = SsrfRule::Stranger(Arc::clone(&self.opened));
        let mut target = TargetUrl::parse(url)?;
        for _ in 0..=MAX_REDIRECTS {
            let answered = self.dialer.send(&target, &rule, request(wish)).await?;
            match next(&target, &answered)? {
                Some(next) => target = next,
                None => return page(&target, answered, wish).await,
            }
        }
        Err(FetchError::Redirects(MAX_REDIRECTS))
    }
}

fn request(wish: &PageRequest) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::default());
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(wish.accept));
    headers.insert(ACCEPT_ENCODING, GZIP);
    headers.insert(USER_AGENT, AGENT);
    headers.insert(CONNECTION, CLOSE);
    request
}

/// The target of a redirect, if the response is one.
fn next(target: &TargetUrl, answered: &Answered) -> Result<Option<TargetUrl>, FetchError> {
    let response = &answered.response;
    let moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = response.headers().get(LOCATION).filter(|_| moved) else {
        return Ok(None);
    };
    // Should be ASCII, but is not always.
    let location = String::from_utf8_lossy(location.as_bytes());
    let next = target.join(&location)?;
    if target.is_secure() && !next.is_secure() {
        return Err(FetchError::Downgrade);
    }
    Ok(Some(next))
}

async fn page(
    target: &TargetUrl,
    answered: Answered,
    wish: &PageRequest,
) -> Result<FetchedPage, FetchError> {
    let status = answered.response.status();
    if !status.is_success() || status == StatusCode::NO_CONTENT {
        return Err(FetchError::Status(status.as_u16()));
    }
    let (media_type, charset) = media_type(answered.response.headers());
    if !(wish.takes)(&media_type) {
        return Err(FetchError::Kind(media_type.chars().take(80).collect()));
    }
    let content = body::read(answered, wish.most_bytes).await?;
    Ok(FetchedPage {
        url: target.as_str().to_owned(),
        media_type,
        charset,
        bytes: content.bytes,
        ended: content.ended,
    })
}

/// The media type and the charset of the header, if they can be parsed.
fn media_type(headers: &HeaderMap) -> (String, Option<String>) {
    let value = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let value = value.unwrap_or_default().to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default().to_owned();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim_end() == "charset" && !value.is_empty()).then(|| value.to_owned())
    });
    (essence, charset)
}
