//! One-time tokens that admit a stream: each is made with TwiML for one call, and bound to it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::unproven_senders::{UnprovenPlace, UnprovenSenders};

/// Twilio opens the stream as soon as it has read the TwiML.
const TOKEN_LIFETIME: Duration = Duration::from_secs(60);
/// Calls of one line that ring at once.
const MAX_TOKENS: usize = 2_048;
/// Streams of one line without a signature that have not brought a token yet.
const MAX_UNPROVEN_STREAMS: usize = 256;

/// What the signed webhook told of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallFacts {
    /// Twilio's id of the call (`CallSid`).
    pub(crate) call: String,
    /// Of the other person.
    pub(crate) number: Option<String>,
    pub(crate) direction: Option<String>,
}

/// Why a token admits no stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the token is unknown, was used before, or has expired")]
    Unknown,
    #[error("the token is of another call")]
    OtherCall,
    #[error("too many calls begin at once")]
    TooMany,
    #[error("the system's random number generator failed")]
    NoRandomness,
}

/// The tokens of one line.
#[derive(Debug)]
pub(crate) struct StreamTokens {
    tokens: Mutex<HashMap<[u8; 32], StreamToken>>,
    unproven: Arc<UnprovenSenders>,
}

impl Default for StreamTokens {
    fn default() -> Self {
        Self { tokens: Mutex::default(), unproven: UnprovenSenders::new(MAX_UNPROVEN_STREAMS) }
    }
}

#[derive(Debug)]
struct StreamToken {
    facts: CallFacts,
    expires: Instant,
}

impl StreamTokens {
    pub(crate) fn issue(&self, facts: CallFacts, now: Instant) -> Result<String, TokenError> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| TokenError::NoRandomness)?;
        let token = URL_SAFE_NO_PAD.encode(bytes);
        let mut tokens = self.tokens.lock();
        tokens.retain(|_, token| now < token.expires);
        if tokens.len() >= MAX_TOKENS {
            return Err(TokenError::TooMany);
        }
        tokens.insert(hash(&token), StreamToken { facts, expires: now + TOKEN_LIFETIME });
        Ok(token)
    }

    /// Uses a token up, whether or not it fits.
    pub(crate) fn redeem(
        &self,
        token: &str,
        call: &str,
        now: Instant,
    ) -> Result<CallFacts, TokenError> {
        let found = self.tokens.lock().remove(&hash(token));
        match found {
            Some(token) if now >= token.expires => Err(TokenError::Unknown),
            Some(token) if token.facts.call != call => Err(TokenError::OtherCall),
            Some(token) => Ok(token.facts),
            None => Err(TokenError::Unknown),
        }
    }

    /// A place for a stream without proof. It is needed for seconds at most.
    pub(crate) fn enter(&self, from: Option<IpAddr>) -> UnprovenPlace {
        self.unproven.enter(from)
    }

    /// Whether a stream without a signature may be one that was announced.
    pub(crate) fn is_expected(&self, now: Instant) -> bool {
        self.tokens.lock().values().any(|token| now < token.expires)
    }
}

/// The time of a lookup tells of a digest, not of a token.
fn hash(token: &str) -> [u8; 32] {
    digest(&SHA256, token.as_bytes()).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use tollgate_engine::clock::{Clock as _, SystemClock};

    use super::*;

    fn facts(call: &str) -> CallFacts {
        CallFacts { call: call.to_owned(), number: Some("+1".to_owned()), ..CallFacts::default() }
    }

    #[test]
    fn a_token_admits_its_call_once_and_not_for_long() {
        let now = SystemClock.now();
        let tokens = StreamTokens::default();
        assert!(!tokens.is_expected(now));
        let token = tokens.issue(facts("CA1"), now).unwrap();
        assert!(tokens.is_expected(now));
        assert_eq!(tokens.redeem(&token, "CA1", now), Ok(facts("CA1")));
        assert_eq!(tokens.redeem(&token, "CA1", now), Err(TokenError::Unknown), "a replay");
        assert!(!tokens.is_expected(now));
        let other = tokens.issue(facts("CA2"), now).unwrap();
        assert_eq!(tokens.redeem(&other, "CA1", now), Err(TokenError::OtherCall));
        assert_eq!(tokens.redeem(&other, "CA2", now), Err(TokenError::Unknown), "it is used up");
        let late = tokens.issue(facts("CA3"), now).unwrap();
        let later = now + TOKEN_LIFETIME;
        assert_eq!(tokens.redeem(&late, "CA3", later), Err(TokenError::Unknown));
        assert_eq!(tokens.redeem("", "", now), Err(TokenError::Unknown));
    }

    #[test]
    fn tokens_are_bounded_and_expired_ones_make_room() {
        let now = SystemClock.now();
        let tokens = StreamTokens::default();
        for _ in 0..MAX_TOKENS {
            tokens.issue(facts("CA1"), now).unwrap();
        }
        assert_eq!(tokens.issue(facts("CA1"), now), Err(TokenError::TooMany));
        assert!(!tokens.is_expected(now + TOKEN_LIFETIME));
        tokens.issue(facts("CA1"), now + TOKEN_LIFETIME).unwrap();
        assert_eq!(tokens.tokens.lock().len(), 1);
    }
}
