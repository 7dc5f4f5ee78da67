//! Decodes the binary event stream of Amazon Web Services: frames with checksums, and the events of
//! a model in them. Pure: bytes in, events out.

use aws_smithy_eventstream::frame::read_message_from;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Buf as _, Bytes, BytesMut};
use serde_json::Value;

use super::aws_error;
use crate::format::ProviderErrorReport;

/// Lengths and the checksum of both.
const PRELUDE_BYTES: usize = 12;
/// A frame without headers and content.
const MIN_FRAME_BYTES: usize = PRELUDE_BYTES + 4;

/// Cuts bytes into frames. Memory is bounded by the limit, for any chunking.
pub(super) struct AwsEventDecoder {
    limit: usize,
    buffered: BytesMut,
}

/// Why the stream cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum AwsEventError {
    #[error("a frame is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// Also a checksum that does not match.
    #[error("a frame is invalid: {0}")]
    Invalid(String),
    /// The service reports an error within the stream.
    #[error("{}", .0.message)]
    Reported(ProviderErrorReport),
}

impl AwsEventDecoder {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, buffered: BytesMut::new() }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffered.extend_from_slice(chunk);
    }

    /// Bytes of incomplete and unread frames.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.buffered.len()
    }

    /// JSON of the next event. `None`: its frame is incomplete.
    pub(super) fn next(&mut self) -> Option<Result<String, AwsEventError>> {
        loop {
            let frame = match self.next_frame()? {
                Ok(frame) => frame,
                Err(error) => return Some(Err(error)),
            };
            match read_frame(frame) {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn next_frame(&mut self) -> Option<Result<Bytes, AwsEventError>> {
        let mut stated = self.buffered.get(..PRELUDE_BYTES)?;
        let length = usize::try_from(stated.get_u32()).unwrap_or(usize::MAX);
        if length > self.limit {
            return Some(Err(AwsEventError::TooLarge { limit: self.limit }));
        }
        if length < MIN_FRAME_BYTES {
            return Some(Err(AwsEventError::Invalid(format!("it has {length} bytes"))));
        }
        (self.buffered.len() >= length).then(|| Ok(self.buffered.split_to(length).freeze()))
    }
}

/// JSON of the event in a frame; `None`: a kind of event that did not exist when this was written.
fn read_frame(frame: Bytes) -> Result<Option<String>, AwsEventError> {
    let invalid = |why: String| AwsEventError::Invalid(why);
    let message = read_message_from(frame).map_err(|error| invalid(error.to_string()))?;
    let header = |name: &str| {
        let found = message.headers().iter().find(|header| header.name().as_str() == name)?;
        found.value().as_string().ok().map(|text| text.as_str())
    };
    match header(":message-type") {
        Some("event") => {}
        Some("exception") => {
            let code = header(":exception-type").unwrap_or_default();
            return Err(AwsEventError::Reported(aws_error::in_stream(code, message.payload())));
        }
        Some("error") => {
            let code = header(":error-code").unwrap_or_default();
            let words = header(":error-message").unwrap_or_default();
            let body = serde_json::json!({ "message": words }).to_string();
            return Err(AwsEventError::Reported(aws_error::in_stream(code, body.as_bytes())));
        }
        kind => return Err(invalid(format!("its type is `{}`", kind.unwrap_or_default()))),
    }
    if header(":event-type") != Some("chunk") {
        return Ok(None);
    }
    let content: Value = serde_json::from_slice(message.payload())
        .map_err(|error| invalid(format!("its content is not JSON: {error}")))?;
    let encoded = content["bytes"].as_str().ok_or_else(|| invalid("it has no `bytes`".into()))?;
    let bytes =
        STANDARD.decode(encoded).map_err(|error| invalid(format!("its `bytes`: {error}")))?;
    let event = String::from_utf8(bytes).map_err(|_| invalid("it is not UTF-8".into()))?;
    Ok(Some(event))
}

#[cfg(test)]
mod tests;
