//! Messages of Twilio Media Streams, read and written. No state: what may follow what is decided by
//! the call.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

/// Limit on one message, in bytes. Twilio's own have about 300.
pub(super) const MAX_FRAME_BYTES: usize = 64 << 10;
/// The only format of a stream: µ-law at 8 kHz, one channel.
const ENCODING: &str = "audio/x-mulaw";
const SAMPLE_RATE: u32 = 8_000;

/// A message from Twilio.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TwilioFrame {
    Connected,
    Start(StreamStart),
    /// Audio of the caller, in base64, checked.
    Media {
        stream: String,
        payload: String,
    },
    Dtmf {
        stream: String,
        digit: char,
    },
    /// What was sent before this mark has been played, or was cleared.
    Mark {
        stream: String,
        name: String,
    },
    Stop {
        stream: String,
    },
    /// Audio of the other direction, or an event that is not known here.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StreamStart {
    pub(super) stream: String,
    pub(super) call: String,
    /// Custom parameters: names and values, as the TwiML has them.
    pub(super) parameters: BTreeMap<String, String>,
}

/// Why a message of a stream cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error("a message is not JSON of Media Streams: {0}")]
    Malformed(String),
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("a payload is not base64")]
    BadPayload,
    #[error("a digit is none of 0-9, *, # and A-D")]
    BadDigit,
    #[error("the stream is not µ-law audio at 8 kHz with one channel")]
    OtherFormat,
}

#[derive(Deserialize)]
struct RawFrame {
    event: String,
    #[serde(rename = "streamSid")]
    stream: Option<String>,
    start: Option<RawStart>,
    media: Option<RawMedia>,
    dtmf: Option<RawDtmf>,
    mark: Option<RawMark>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawStart {
    stream_sid: Option<String>,
    call_sid: Option<String>,
    media_format: Option<RawMediaFormat>,
    #[serde(default)]
    custom_parameters: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMediaFormat {
    encoding: String,
    sample_rate: u32,
    channels: u32,
}

#[derive(Deserialize)]
struct RawMedia {
    track: Option<String>,
    payload: Option<String>,
}

#[derive(Deserialize)]
struct RawDtmf {
    digit: Option<String>,
}

#[derive(Deserialize)]
struct RawMark {
    name: Option<String>,
}

impl TwilioFrame {
    pub(super) fn parse(text: &str) -> Result<Self, FrameError> {
        let raw: RawFrame =
            serde_json::from_str(text).map_err(|error| FrameError::Malformed(error.to_string()))?;
        let stream = raw.stream;
        let stream = move || stream.ok_or(FrameError::Missing("streamSid"));
        match raw.event.as_str() {
            "connected" => Ok(Self::Connected),
            "start" => read_start(raw.start.ok_or(FrameError::Missing("start"))?),
            "media" => {
                let media = raw.media.ok_or(FrameError::Missing("media"))?;
                if media.track.is_some_and(|track| track != "inbound") {
                    return Ok(Self::Other);
                }
                let payload = media.payload.ok_or(FrameError::Missing("media.payload"))?;
                STANDARD.decode(&payload).map_err(|_| FrameError::BadPayload)?;
                Ok(Self::Media { stream: stream()?, payload })
            }
            "dtmf" => {
                let digit = raw.dtmf.and_then(|dtmf| dtmf.digit);
                let digit = digit.ok_or(FrameError::Missing("dtmf.digit"))?;
                Ok(Self::Dtmf { stream: stream()?, digit: read_digit(&digit)? })
            }
            "mark" => {
                let name = raw.mark.and_then(|mark| mark.name);
                let name = name.ok_or(FrameError::Missing("mark.name"))?;
                Ok(Self::Mark { stream: stream()?, name })
            }
            "stop" => Ok(Self::Stop { stream: stream()? }),
            _ => Ok(Self::Other),
        }
    }
}

fn read_start(start: RawStart) -> Result<TwilioFrame, FrameError> {
    let format = start.media_format.ok_or(FrameError::Missing("start.mediaFormat"))?;
    let RawMediaFormat { encoding, sample_rate, channels } = format;
    if encoding != ENCODING || sample_rate != SAMPLE_RATE || channels != 1 {
        return Err(FrameError::OtherFormat);
    }
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let parameters = start.custom_parameters.into_iter();
    Ok(TwilioFrame::Start(StreamStart {
        stream: start.stream_sid.ok_or(FrameError::Missing("start.streamSid"))?,
        call: start.call_sid.ok_or(FrameError::Missing("start.callSid"))?,
        parameters: parameters.map(|(name, value)| (name, text(value))).collect(),
    }))
}

fn read_digit(text: &str) -> Result<char, FrameError> {
    let mut signs = text.chars();
    match (signs.next(), signs.next()) {
        (Some(sign @ ('0'..='9' | '*' | '#' | 'A'..='D')), None) => Ok(sign),
        _ => Err(FrameError::BadDigit),
    }
}

/// Audio to play after what was sent before.
pub(super) fn media(stream: &str, payload: &str) -> String {
    let media = json!({ "payload": payload });
    json!({ "event": "media", "streamSid": stream, "media": media }).to_string()
}

/// Comes back once everything before it is played or cleared.
pub(super) fn mark(stream: &str, name: &str) -> String {
    let mark = json!({ "name": name });
    json!({ "event": "mark", "streamSid": stream, "mark": mark }).to_string()
}

/// Drops what is not played yet.
pub(super) fn clear(stream: &str) -> String {
    json!({ "event": "clear", "streamSid": stream }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = r#"{"event":"start","sequenceNumber":"1","streamSid":"MZ1","start":{
        "streamSid":"MZ1","accountSid":"AC1","callSid":"CA1","tracks":["inbound"],
        "mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1},
        "customParameters":{"table":"7","count":8}}}"#;

    #[test]
    fn messages_as_twilio_documents_them_are_read() {
        let stream = || "MZ1".to_owned();
        let parameters =
            [("count", "8"), ("table", "7")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let start =
            StreamStart { stream: stream(), call: "CA1".to_owned(), parameters: parameters.into() };
        for (text, expected) in [
            (
                r#"{"event":"connected","protocol":"Call","version":"1.0.0"}"#,
                TwilioFrame::Connected,
            ),
            (START, TwilioFrame::Start(start)),
            (
                r#"{"event":"media","sequenceNumber":"4","streamSid":"MZ1","media":{"track":"inbound",
                    "chunk":"2","timestamp":"5","payload":"//9/"}}"#,
                TwilioFrame::Media { stream: stream(), payload: "//9/".to_owned() },
            ),
            (
                r#"{"event":"media","streamSid":"MZ1","media":{"track":"outbound","payload":"//9/"}}"#,
                TwilioFrame::Other,
            ),
            (
                r##"{"event":"dtmf","streamSid":"MZ1","sequenceNumber":"5","dtmf":{
                    "track":"inbound_track","digit":"#"}}"##,
                TwilioFrame::Dtmf { stream: stream(), digit: '#' },
            ),
            (
                r#"{"event":"mark","sequenceNumber":"4","streamSid":"MZ1","mark":{"name":"m1"}}"#,
                TwilioFrame::Mark { stream: stream(), name: "m1".to_owned() },
            ),
            (
                r#"{"event":"stop","sequenceNumber":"5","streamSid":"MZ1","stop":{"callSid":"CA1"}}"#,
                TwilioFrame::Stop { stream: stream() },
            ),
            (r#"{"event":"news","streamSid":"MZ1"}"#, TwilioFrame::Other),
        ] {
            assert_eq!(TwilioFrame::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_twilio_never_sends_is_an_error() {
        for (text, expected) in [
            (r#"{"event":"media","media":{"payload":"//9/"}}"#, FrameError::Missing("streamSid")),
            (r#"{"event":"media","streamSid":"a"}"#, FrameError::Missing("media")),
            (
                r#"{"event":"media","streamSid":"a","media":{}}"#,
                FrameError::Missing("media.payload"),
            ),
            (
                r#"{"event":"media","streamSid":"a","media":{"payload":"%"}}"#,
                FrameError::BadPayload,
            ),
            (r#"{"event":"dtmf","streamSid":"a","dtmf":{"digit":"12"}}"#, FrameError::BadDigit),
            (r#"{"event":"dtmf","streamSid":"a","dtmf":{"digit":""}}"#, FrameError::BadDigit),
            (r#"{"event":"mark","streamSid":"a"}"#, FrameError::Missing("mark.name")),
            (r#"{"event":"start"}"#, FrameError::Missing("start")),
            (&START.replace("8000", "16000"), FrameError::OtherFormat),
            (&START.replace("\"callSid\"", "\"call\""), FrameError::Missing("start.callSid")),
        ] {
            assert_eq!(TwilioFrame::parse(text), Err(expected), "{text}");
        }
        for text in ["", "[]", "{}", r#"{"event":1}"#, r#"{"event":"media","media":[]}"#] {
            let found = TwilioFrame::parse(text);
            assert!(matches!(found, Err(FrameError::Malformed(_))), "{text}: {found:?}");
        }
    }

    #[test]
    fn payloads_may_have_any_number_of_samples() {
        for samples in [0, 1, 159, 160, 161] {
            let payload = STANDARD.encode(vec![0xff; samples]);
            let text = media("MZ1", &payload);
            let expected = TwilioFrame::Media { stream: "MZ1".to_owned(), payload };
            assert_eq!(TwilioFrame::parse(&text), Ok(expected));
        }
    }
}
