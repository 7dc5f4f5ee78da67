//! Settings of telephony: phone lines at Twilio, and the platforms whose agents call tools here.
//! Built from the config, compared at a reload.

use std::time::Duration;

use tollgate_core::rate::RateLimit;
use tollgate_core::secret::Secret;

/// All lines, by vendor. Names are unique within a vendor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TelephonySettings {
    pub twilio: Vec<TwilioLine>,
    pub vapi: Vec<VapiLine>,
    pub retell: Vec<RetellLine>,
}

/// For whom the calls of a line are made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineAccess {
    /// `None`: the default agent.
    pub agent: Option<String>,
    /// Name of the key whose rights and limits apply. `None`: the line is a principal of its own,
    /// which may do nothing but call tools.
    pub key: Option<String>,
    /// Limit on tool calls of a line without a key.
    pub rate_limit: Option<RateLimit>,
}

/// A line whose calls arrive as Twilio Media Streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwilioLine {
    pub name: String,
    pub access: LineAccess,
    pub auth_token: Secret,
    /// Public URL of the stream. `None`: by the `host` header of the request.
    pub url: Option<String>,
    /// `None`: the agent's own realtime model.
    pub model: Option<String>,
    pub voice: Option<String>,
    /// Model that transcribes the caller, so that the tier can follow the words. `None`: nobody.
    pub transcription: Option<String>,
    pub dtmf: DtmfMode,
    /// Silence after which collected digits are complete.
    pub dtmf_pause: Duration,
    /// Custom parameters of the stream that become variables of the prompt.
    pub parameters: Vec<String>,
    /// Accept only streams of the gateway's own TwiML.
    pub requires_token: bool,
}

/// What becomes of the keys that a caller presses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DtmfMode {
    /// Collected until `#` or a pause, then told to the model.
    #[default]
    Collect,
    /// Each is told at once.
    Each,
    Ignore,
}

impl DtmfMode {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "collect" => Some(Self::Collect),
            "each" => Some(Self::Each),
            "ignore" => Some(Self::Ignore),
            _ => None,
        }
    }
}

/// A server URL of Vapi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VapiLine {
    pub name: String,
    pub access: LineAccess,
    pub auth: VapiAuth,
    /// Time until the answer; Vapi itself gives up after 20 s unless told otherwise.
    pub timeout: Duration,
    /// The assistant that answers an `assistant-request`.
    pub assistant: Option<String>,
}

/// How Vapi proves that a request is its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VapiAuth {
    /// A bearer token, or the same in `x-vapi-secret`.
    Token(Secret),
    Hmac(HmacScheme),
}

/// An HMAC credential of Vapi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HmacScheme {
    pub secret: Secret,
    pub algorithm: HmacAlgorithm,
    pub signature_header: String,
    /// The signed text is the time, a dot and the body. `None`: the body alone.
    pub timestamp_header: Option<String>,
    /// In front of the signature, such as `sha256=`.
    pub prefix: String,
    pub encoding: SignatureEncoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HmacAlgorithm {
    Sha1,
    #[default]
    Sha256,
    Sha512,
}

impl HmacAlgorithm {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "sha1" => Some(Self::Sha1),
            "sha256" => Some(Self::Sha256),
            "sha512" => Some(Self::Sha512),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SignatureEncoding {
    #[default]
    Hex,
    Base64,
}

impl SignatureEncoding {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "hex" => Some(Self::Hex),
            "base64" => Some(Self::Base64),
            _ => None,
        }
    }
}

/// Custom functions of Retell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetellLine {
    pub name: String,
    pub access: LineAccess,
    /// The API key with the webhook badge, which signs the requests.
    pub api_key: Secret,
    /// Time until the answer; Retell itself gives up after 120 s unless told otherwise.
    pub timeout: Duration,
}
