//! Telephone lines of the config that are in force, and what they remember: tokens of streams that
//! are expected, deliveries of tool calls.

mod lines;
mod settings;
mod stream_tokens;
mod tool_deliveries;

pub(crate) use lines::{LineSettings, PhoneLine, PhoneLineRegistry};
pub use settings::{
    DtmfMode, HmacAlgorithm, HmacScheme, LineAccess, RetellLine, SignatureEncoding,
    TelephonySettings, TwilioLine, VapiAuth, VapiLine,
};
pub(crate) use stream_tokens::{CallFacts, TokenError};
pub(crate) use tool_deliveries::{AnswerSender, Delivery, DeliveryKey, ToolAnswer};
