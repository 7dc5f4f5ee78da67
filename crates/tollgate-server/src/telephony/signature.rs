//! Signatures of webhooks and WebSocket handshakes. All comparisons take constant time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use crate::phone_lines::{HmacAlgorithm, HmacScheme, SignatureEncoding};

/// A signed time may differ this much from the clock.
const SIGNATURE_WINDOW: Duration = Duration::from_secs(300);
/// Times above it are in milliseconds.
const MAX_SECONDS: u64 = 100_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SignatureError {
    #[error("the signature is missing")]
    Missing,
    #[error("the signature is malformed")]
    Malformed,
    #[error("the signature is older than five minutes, or its time is in the future")]
    Stale,
    #[error(
        "the signature does not match: compare the secret and the public URL with the vendor's"
    )]
    Wrong,
}

/// Checks `X-Twilio-Signature`: HMAC-SHA1 over the URL and the sorted form fields.
pub(super) fn check_twilio(
    token: &str,
    url: &str,
    fields: &[(String, String)],
    presented: &str,
) -> Result<(), SignatureError> {
    let tag = STANDARD.decode(presented).map_err(|_| SignatureError::Malformed)?;
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, token.as_bytes());
    let mut sorted: Vec<&(String, String)> = fields.iter().collect();
    sorted.sort();
    sorted.dedup();
    let fields: String =
        sorted.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect();
    let is_signed =
        |url: &String| hmac::verify(&key, format!("{url}{fields}").as_bytes(), &tag).is_ok();
    // Whether Twilio signs the port, and a slash at the end, depends on the product.
    let is_signed = twilio_urls(url).iter().any(is_signed);
    if is_signed { Ok(()) } else { Err(SignatureError::Wrong) }
}

/// The URL as it is, without its port, with the port of its scheme; and each with a slash at the end.
fn twilio_urls(url: &str) -> Vec<String> {
    let mut urls = vec![url.to_owned()];
    if let Some((scheme, rest)) = url.split_once("://") {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let host = match authority.rsplit_once(':') {
            // The colons of an IPv6 address are inside of its brackets.
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => authority,
        };
        let port = if matches!(scheme, "https" | "wss") { 443 } else { 80 };
        urls.push(format!("{scheme}://{host}{path}"));
        if host == authority {
            urls.push(format!("{scheme}://{host}:{port}{path}"));
        }
    }
    let with_slash: Vec<String> = urls
        .iter()
        .filter(|url| !url.ends_with('/') && !url.contains('?'))
        .map(|url| format!("{url}/"))
        .collect();
    urls.extend(with_slash);
    urls
}

/// Checks `X-Retell-Signature`: `v=MILLISECONDS,d=HEX` over the body and the time.
pub(super) fn check_retell(
    api_key: &str,
    body: &[u8],
    presented: &str,
    now: SystemTime,
) -> Result<(), SignatureError> {
    let parts = presented.strip_prefix("v=").and_then(|rest| rest.split_once(",d="));
    let (time, digest) = parts.ok_or(SignatureError::Malformed)?;
    check_time(time, now)?;
    let tag = decode_hex(digest).ok_or(SignatureError::Malformed)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, api_key.as_bytes());
    verify(&key, &[body, time.as_bytes()].concat(), &tag)
}

/// What a request has of an HMAC credential.
#[derive(Debug, Clone, Copy)]
pub(super) struct PresentedHmac<'r> {
    pub(super) signature: &'r str,
    pub(super) time: Option<&'r str>,
}

pub(super) fn check_hmac(
    scheme: &HmacScheme,
    body: &[u8],
    presented: PresentedHmac<'_>,
    now: SystemTime,
) -> Result<(), SignatureError> {
    let digest = presented.signature.strip_prefix(&*scheme.prefix);
    let digest = digest.ok_or(SignatureError::Malformed)?;
    let tag = match scheme.encoding {
        SignatureEncoding::Hex => decode_hex(digest),
        SignatureEncoding::Base64 => STANDARD.decode(digest).ok(),
    };
    let tag = tag.ok_or(SignatureError::Malformed)?;
    let algorithm = match scheme.algorithm {
        HmacAlgorithm::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        HmacAlgorithm::Sha256 => hmac::HMAC_SHA256,
        HmacAlgorithm::Sha512 => hmac::HMAC_SHA512,
    };
    let key = hmac::Key::new(algorithm, scheme.secret.reveal().as_bytes());
    if scheme.timestamp_header.is_none() {
        return verify(&key, body, &tag);
    }
    let time = presented.time.ok_or(SignatureError::Missing)?;
    check_time(time, now)?;
    verify(&key, &[time.as_bytes(), b".", body].concat(), &tag)
}

fn verify(key: &hmac::Key, message: &[u8], tag: &[u8]) -> Result<(), SignatureError> {
    hmac::verify(key, message, tag).map_err(|_| SignatureError::Wrong)
}

/// Unix time in seconds or milliseconds.
fn check_time(text: &str, now: SystemTime) -> Result<(), SignatureError> {
    let given: u64 = text.parse().map_err(|_| SignatureError::Malformed)?;
    let unit = if given > MAX_SECONDS { Duration::from_millis } else { Duration::from_secs };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let is_near = now.abs_diff(unit(given)) <= SIGNATURE_WINDOW;
    if is_near { Ok(()) } else { Err(SignatureError::Stale) }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| u8::try_from(value(*high)? * 16 + value(*low)?).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

#[cfg(test)]
mod tests;
