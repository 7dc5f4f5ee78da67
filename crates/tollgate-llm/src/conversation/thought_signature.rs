//! Signatures of reasoning, and the form in which clients carry them between two requests.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::BASE64_STANDARD;

use crate::dialect::Dialect;

/// Prefix of a signature that says which model made it, as clients keep it.
const ENCODED_PREFIX: &str = "tollgate:";

/// How the JSON string of such a signature begins: as text, and in base64.
pub const ENCODED_SIGNATURE_STARTS: [&str; 2] = ["\"tollgate:", "\"dG9sbGdhdGU6"];

/// Signature by which a provider recognizes its own thoughts. It means nothing to other providers,
/// and thoughts signed by another provider must not be sent to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThoughtSignature {
    pub maker: Dialect,
    /// `None`: the client got it from its provider directly, or from an earlier version.
    pub origin: Option<ModelOrigin>,
    /// Number of earlier rounds of the same answer whose calls the client did not see.
    pub hidden_rounds: u32,
    /// The provider's own text. Empty: only records the other fields.
    pub text: String,
}

/// The model that signed: hashes of the names of its provider, of the model there, and of the endpoint
/// if that has a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelOrigin {
    provider: u32,
    model: u32,
    /// Zero: the provider's key.
    account: u32,
}

impl ModelOrigin {
    /// `provider` is its name in the config, `model` the provider's name of the model.
    pub fn new(provider: &str, model: &str) -> Self {
        Self { provider: fnv1a(provider), model: fnv1a(model), account: 0 }
    }

    /// At an endpoint with a key of its own, which may be that of another account.
    #[must_use]
    pub fn at_account(self, endpoint: &str) -> Self {
        Self { account: fnv1a(endpoint).max(1), ..self }
    }

    fn parse(text: &str) -> Option<Self> {
        if !matches!(text.len(), 16 | 24) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let hash = |at: usize| u32::from_str_radix(&text[at..at + 8], 16).ok();
        let account = if text.len() == 24 { hash(16)? } else { 0 };
        Some(Self { provider: hash(0)?, model: hash(8)?, account })
    }

    fn is_same_model(self, other: Self) -> bool {
        (self.provider, self.model) == (other.provider, other.model)
    }
}

impl fmt::Display for ModelOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}{:08x}", self.provider, self.model)?;
        if self.account == 0 { Ok(()) } else { write!(f, "{:08x}", self.account) }
    }
}

/// FNV-1a. Clients keep the result across versions of this program, so it must not change.
fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl ThoughtSignature {
    /// A signature as its provider wrote it.
    pub fn new(maker: Dialect, text: impl Into<String>) -> Self {
        Self { maker, origin: None, hidden_rounds: 0, text: text.into() }
    }

    /// Records the model that answered with this signature.
    #[must_use]
    pub fn with_origin(self, dialect: Dialect, origin: ModelOrigin) -> Self {
        // A provider that is a gateway like this one encodes its signatures itself.
        Self { origin: Some(origin), ..Self::new(dialect, self.for_client(dialect)) }
    }

    /// Whether a model accepts the thought. Anthropic's models read each other's; OpenAI seals
    /// reasoning for an account.
    pub fn is_readable_by(&self, dialect: Dialect, model: ModelOrigin) -> bool {
        let is_same = |origin: ModelOrigin| match dialect {
            Dialect::Anthropic => origin.provider == model.provider,
            Dialect::Gemini => origin.is_same_model(model),
            Dialect::OpenAiChat | Dialect::OpenAiResponses => origin == model,
        };
        self.maker == dialect && !self.text.is_empty() && self.origin.is_none_or(is_same)
    }

    /// Encodes the signature for clients of `dialect`. It stays as it is if there is nothing to
    /// say about it.
    pub fn for_client(&self, dialect: Dialect) -> String {
        let Self { maker, origin, hidden_rounds, text } = self;
        if *maker == dialect && origin.is_none() && *hidden_rounds == 0 {
            return text.clone();
        }
        let origin = origin.map_or_else(String::new, |origin| format!("@{origin}"));
        let rounds = match hidden_rounds {
            0 => String::new(),
            rounds => format!(".{rounds}"),
        };
        let encoded = format!("{ENCODED_PREFIX}{maker}{origin}{rounds}:{text}");
        match dialect {
            // Signatures are bytes there.
            Dialect::Gemini => BASE64_STANDARD.encode(encoded),
            Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => encoded,
        }
    }

    /// Decodes a signature that a client of `dialect` sent back.
    pub fn from_client(dialect: Dialect, stored: String) -> Self {
        let decoded = match dialect {
            Dialect::Gemini => decode_base64(&stored).and_then(|text| Self::decode(&text)),
            Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => {
                Self::decode(&stored)
            }
        };
        decoded.unwrap_or_else(|| Self::new(dialect, stored))
    }

    /// Whether a text, not in base64, looks like an encoded signature.
    pub fn is_encoded(stored: &str) -> bool {
        stored.starts_with(ENCODED_PREFIX)
    }

    fn decode(encoded: &str) -> Option<Self> {
        let (head, text) = encoded.strip_prefix(ENCODED_PREFIX)?.split_once(':')?;
        let (head, hidden_rounds) = match head.split_once('.') {
            Some((head, rounds)) => (head, rounds.parse().ok()?),
            None => (head, 0),
        };
        let (maker, origin) = match head.split_once('@') {
            Some((maker, origin)) => (maker, Some(ModelOrigin::parse(origin)?)),
            None => (head, None),
        };
        let maker = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == maker)?;
        Some(Self { maker, origin, hidden_rounds, text: text.to_owned() })
    }
}

/// Gemini's clients use both alphabets, with and without padding.
fn decode_base64(text: &str) -> Option<String> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let standard = text.replace('-', "+").replace('_', "/");
    String::from_utf8(GeneralPurpose::new(&STANDARD, lenient).decode(standard).ok()?).ok()
}

#[cfg(test)]
mod tests;
