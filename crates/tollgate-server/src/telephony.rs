//! Telephony: phone calls that become realtime sessions (Twilio), and platforms whose voice agents
//! call tools here (Vapi, Retell). Requests prove themselves by the vendor's signature, not by a
//! key.

mod caller;
mod retell;
mod signature;
mod tool_calls;
mod twilio;
mod vapi;
mod webhook;

pub use crate::phone_lines::{
    DtmfMode, HmacAlgorithm, HmacScheme, LineAccess, RetellLine, SignatureEncoding,
    TelephonySettings, TwilioLine, VapiAuth, VapiLine,
};
pub(crate) use retell::{retell, retell_line, retell_tool};
pub(crate) use twilio::{stream, stream_of_line, voice, voice_of_line};
pub(crate) use vapi::{vapi, vapi_line};

/// Below it every request has a vendor's signature instead of a key.
pub(crate) const PATH: &str = "/v1/telephony/";
