//! JSON Web Token (JWT): strict parsing and validation of claims. Pure: no network, no clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use tollgate_core::json;

use super::jwk::{Jwk, JwtAlgorithm};

/// Tolerated clock skew.
const SKEW: Duration = Duration::from_secs(60);
const MAX_KID_LEN: usize = 256;

#[derive(Debug)]
pub(super) struct Jwt<'t> {
    pub(super) algorithm: JwtAlgorithm,
    pub(super) kid: Option<String>,
    /// Not trusted before [`Self::verify`] and [`Self::check`].
    pub(super) claims: Value,
    signed: &'t str,
    signature: Vec<u8>,
}

/// Required claims of a token.
pub(super) struct JwtRequirements<'t> {
    pub(super) issuer: &'t str,
    /// One of them must be in `aud`.
    pub(super) audiences: &'t [Option<String>],
    pub(super) now: SystemTime,
}

/// Why a token is invalid.
type JwtError = &'static str;

impl<'t> Jwt<'t> {
    pub(super) fn parse(presented: &'t [u8]) -> Result<Self, JwtError> {
        let malformed = "the token is malformed";
        let text = std::str::from_utf8(presented).map_err(|_| malformed)?;
        let (signed, signature) = text.rsplit_once('.').ok_or(malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(malformed)?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed);
        // Refuse duplicate keys: parsers disagree on them.
        let object = |part: &str| {
            let bytes = bytes(part)?;
            let text = std::str::from_utf8(&bytes).map_err(|_| malformed)?;
            json::value(text).ok().filter(Value::is_object).ok_or(malformed)
        };
        let header = object(header)?;
        if header.get("crit").is_some() {
            return Err("the token has unsupported critical headers (`crit`)");
        }
        let algorithm = header.get("alg").and_then(Value::as_str).and_then(JwtAlgorithm::parse);
        let algorithm =
            algorithm.ok_or("the token must be signed with RS256, PS256, ES256 or EdDSA")?;
        let kid = match header.get("kid") {
            None => None,
            Some(Value::String(kid)) if kid.len() <= MAX_KID_LEN => Some(kid.clone()),
            Some(_) => return Err("the token has an invalid `kid`"),
        };
        let claims = object(claims)?;
        let signature = bytes(signature)?;
        Ok(Self { algorithm, kid, claims, signed, signature })
    }

    pub(super) fn verify(&self, key: &Jwk) -> Result<(), JwtError> {
        let is_signed = key.verifies(self.algorithm, self.signed.as_bytes(), &self.signature);
        is_signed.then_some(()).ok_or("the signature of the token is invalid")
    }

    /// Checks the claims and returns the expiry.
    pub(super) fn check(&self, terms: &JwtRequirements<'_>) -> Result<SystemTime, JwtError> {
        if self.claims.get("iss").and_then(Value::as_str) != Some(terms.issuer) {
            return Err("the token is of another issuer");
        }
        let ours =
            |audience: &str| terms.audiences.iter().any(|known| known.as_deref() == Some(audience));
        let is_ours = match self.claims.get("aud") {
            Some(Value::String(audience)) => ours(audience),
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).any(ours),
            _ => false,
        };
        if !is_ours {
            return Err("the token is for another audience (`aud`)");
        }
        let ends = self.moment("exp")?.ok_or("the token has no expiry (`exp`)")? + SKEW;
        if terms.now >= ends {
            return Err("the token has expired");
        }
        if self.moment("nbf")?.is_some_and(|begins| terms.now + SKEW < begins) {
            return Err("the token is not valid yet");
        }
        Ok(ends)
    }

    /// Seconds since the Unix epoch, possibly fractional.
    fn moment(&self, claim: &str) -> Result<Option<SystemTime>, JwtError> {
        let Some(value) = self.claims.get(claim) else { return Ok(None) };
        let span = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        // Larger values are not meaningful, and arithmetic on them could overflow.
        let span = span.filter(|span| span.as_secs() < 1 << 40);
        span.map(|span| Some(UNIX_EPOCH + span)).ok_or("a time in the token is invalid")
    }
}
