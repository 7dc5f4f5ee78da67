//! Telephony: phone calls that become realtime sessions (Twilio), and platforms whose voice agents
//! call tools here (Vapi, Retell). Requests prove themselves by the vendor's signature, not by a
//! key.

use http::StatusCode;

use crate::api_error::ApiError;
use crate::webhook;
use signature::SignatureError;

mod caller;
mod retell;
mod signature;
mod tool_calls;
mod twilio;
mod vapi;

pub use crate::phone_lines::{
    DtmfMode, HmacAlgorithm, HmacScheme, LineAccess, RetellLine, SignatureEncoding,
    TelephonySettings, TwilioLine, VapiAuth, VapiLine,
};
pub(crate) use retell::{retell, retell_line, retell_tool};
pub(crate) use twilio::{stream, stream_of_line, voice, voice_of_line};
pub(crate) use vapi::{vapi, vapi_line};

/// Limit on a webhook's body: platforms send transcripts.
const MAX_WEBHOOK_BYTES: usize = 2 << 20;

/// Below it every request has a vendor's signature instead of a key.
pub(crate) const PATH: &str = "/v1/telephony/";

fn signature_error(error: SignatureError) -> ApiError {
    webhook::signature_error(error.to_string())
}

fn bad_message(why: &str) -> ApiError {
    let detail = format!("this is not a message of the platform: {why}");
    ApiError::with_detail(StatusCode::BAD_REQUEST, "bad_message", detail)
}
