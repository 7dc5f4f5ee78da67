//! Event guard: a passed-through stream only has whole events, and an end of its dialect.
//!
//! Events are forwarded as they came. The beginning of an event is held until the rest of it has
//! arrived, so that an error event can take its place if the provider breaks off.

use bytes::{Bytes, BytesMut};
use memchr::memmem;
use serde_json::value::RawValue;

use super::error::PassThroughError;
use crate::dialect::Dialect;
use crate::error::LlmError;
use crate::format;

/// Bytes of an event that are held. What is longer is forwarded before it is whole, and cannot be
/// replaced any more.
const MAX_HELD_BYTES: usize = 256 << 10;
/// The longest end of a line that an empty line can begin with.
const MAX_LINE_END_BYTES: usize = 3;

const CHAT_DONE: &[u8] = b"data: [DONE]\n\n";

/// What a client is told of a stream that broke off. `None`: it ended without its last event.
pub(in crate::provider) type DescribeInterruption =
    dyn Fn(Option<&PassThroughError>) -> LlmError + Send;

pub(in crate::provider) struct EventGuard {
    dialect: Dialect,
    describe: Box<DescribeInterruption>,
    /// The beginning of an event.
    held: BytesMut,
    /// Whether bytes of the current event were forwarded.
    is_torn: bool,
    progress: StreamProgress,
    /// Of the last event that had one.
    sequence_number: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StreamProgress {
    Open,
    /// The answer is whole; the last event, which says nothing, is missing.
    Complete,
    Ended,
}

/// How the events of a dialect say that there will be no more.
struct EndMarkers {
    /// Beginnings of lines.
    lines: &'static [&'static str],
    /// Anywhere: quotes in a text are escaped.
    fields: &'static [&'static str],
}

const CHAT_END: EndMarkers = EndMarkers {
    lines: &["data: [DONE]", "data:[DONE]", "data: {\"error\"", "data:{\"error\""],
    fields: &[],
};
const CHAT_COMPLETE: EndMarkers =
    EndMarkers { lines: &[], fields: &["\"finish_reason\":\"", "\"finish_reason\": \""] };
const RESPONSES_END: EndMarkers = EndMarkers {
    lines: &[
        "event: response.completed",
        "event: response.incomplete",
        "event: response.failed",
        "event: error",
    ],
    fields: &[
        "\"type\":\"response.completed\"",
        "\"type\":\"response.incomplete\"",
        "\"type\":\"response.failed\"",
        "\"type\":\"error\"",
        "\"type\": \"response.completed\"",
        "\"type\": \"response.incomplete\"",
        "\"type\": \"response.failed\"",
        "\"type\": \"error\"",
    ],
};
const ANTHROPIC_END: EndMarkers = EndMarkers {
    lines: &["event: message_stop", "event: error"],
    fields: &[
        "\"type\":\"message_stop\"",
        "\"type\":\"error\"",
        "\"type\": \"message_stop\"",
        "\"type\": \"error\"",
    ],
};
const GEMINI_END: EndMarkers = EndMarkers {
    lines: &["data: {\"error\"", "data:{\"error\""],
    fields: &["\"finishReason\":", "\"blockReason\":"],
};

impl EndMarkers {
    fn are_in(&self, text: &[u8]) -> bool {
        let is_line = |at: usize| at == 0 || matches!(text[at - 1], b'\n' | b'\r');
        let begins_line = |line: &&str| memmem::find_iter(text, line.as_bytes()).any(is_line);
        let is_there = |field: &&str| memmem::find(text, field.as_bytes()).is_some();
        self.lines.iter().any(begins_line) || self.fields.iter().any(is_there)
    }
}

impl EventGuard {
    pub(in crate::provider) fn new(dialect: Dialect, describe: Box<DescribeInterruption>) -> Self {
        Self {
            dialect,
            describe,
            held: BytesMut::new(),
            is_torn: false,
            progress: StreamProgress::Open,
            sequence_number: None,
        }
    }

    /// Takes what arrived, and returns what may be forwarded.
    pub(super) fn push(&mut self, mut data: Bytes) -> Option<Bytes> {
        if self.held.is_empty()
            && let Some(end) = end_of_events(&data, 0)
        {
            let rest = data.split_off(end);
            self.held.extend_from_slice(&rest);
            return Some(self.release_events(data));
        }
        let known = self.held.len();
        self.held.extend_from_slice(&data);
        if let Some(end) = end_of_events(&self.held, known) {
            let events = self.held.split_to(end).freeze();
            return Some(self.release_events(events));
        }
        if self.held.len() <= MAX_HELD_BYTES {
            return None;
        }
        let part = self.held.split_to(self.held.len() - MAX_LINE_END_BYTES).freeze();
        self.note(&part);
        self.is_torn = true;
        Some(part)
    }

    fn release_events(&mut self, events: Bytes) -> Bytes {
        self.note(&events);
        self.is_torn = false;
        events
    }

    /// The last bytes of the stream. Fails if an event was torn: nothing can come behind it.
    pub(super) fn close(
        &mut self,
        broken: Option<PassThroughError>,
    ) -> Result<GuardedEnd, PassThroughError> {
        if self.is_torn {
            return Err(broken.unwrap_or(PassThroughError::Cut));
        }
        let mut last = std::mem::take(&mut self.held);
        // Some providers leave out the empty line behind the last event.
        if broken.is_none() && is_whole_event(&last) {
            self.note(&last);
            last.extend_from_slice(b"\n\n");
        } else {
            last.clear();
        }
        let failure = match self.progress {
            StreamProgress::Ended => None,
            StreamProgress::Complete => {
                last.extend_from_slice(CHAT_DONE);
                None
            }
            StreamProgress::Open => {
                let failure = (self.describe)(broken.as_ref());
                let codec = format::of(self.dialect);
                let event = codec.write_stream_error(&failure, self.sequence_number);
                last.extend_from_slice(event.to_sse().as_bytes());
                Some(failure)
            }
        };
        Ok(GuardedEnd { last: last.freeze(), failure })
    }

    fn note(&mut self, text: &[u8]) {
        let progress = match self.dialect {
            Dialect::OpenAiChat if CHAT_END.are_in(text) => StreamProgress::Ended,
            Dialect::OpenAiChat if CHAT_COMPLETE.are_in(text) => StreamProgress::Complete,
            Dialect::OpenAiResponses if RESPONSES_END.are_in(text) => StreamProgress::Ended,
            Dialect::Anthropic if ANTHROPIC_END.are_in(text) => StreamProgress::Ended,
            Dialect::Gemini if GEMINI_END.are_in(text) => StreamProgress::Ended,
            _ => StreamProgress::Open,
        };
        self.progress = self.progress.max(progress);
        if self.dialect == Dialect::OpenAiResponses {
            self.sequence_number = last_sequence_number(text).or(self.sequence_number);
        }
    }
}

/// How a guarded stream ends.
pub(super) struct GuardedEnd {
    /// Possibly nothing.
    pub(super) last: Bytes,
    /// What `last` tells the client, if it is an error.
    pub(super) failure: Option<LlmError>,
}

/// Where the last whole event ends. There is no end before `known`.
fn end_of_events(text: &[u8], known: usize) -> Option<usize> {
    let from = known.saturating_sub(MAX_LINE_END_BYTES);
    let end = |line: &[u8]| memmem::rfind(&text[from..], line).map(|at| from + at + line.len());
    [&b"\n\n"[..], b"\n\r\n", b"\r\r"].into_iter().filter_map(end).max()
}

/// Whether the data of an event without its empty line is whole.
fn is_whole_event(text: &[u8]) -> bool {
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    let data = lines.filter_map(|line| line.strip_prefix(b"data:"));
    let data = data.collect::<Vec<_>>().join(&b'\n');
    let data = data.trim_ascii();
    data == b"[DONE]" || serde_json::from_slice::<&RawValue>(data).is_ok()
}

fn last_sequence_number(text: &[u8]) -> Option<u64> {
    const KEY: &[u8] = b"\"sequence_number\":";
    let rest = text[memmem::rfind(text, KEY)? + KEY.len()..].trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
