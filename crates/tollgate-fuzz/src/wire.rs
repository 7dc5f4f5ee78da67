//! What peers send: JSON-RPC, JSON, server-sent events, lines of a pipe.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt as _;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, ReadBuf};
use tollgate_core::json::{self, JsonBounds, MAX_TREE_VALUES, MalformedJsonError, Object};
use tollgate_mcp::envelope::{JsonRpcMessage, JsonRpcRequest, write};
use tollgate_mcp::line::{LineRead, LineReader};
use tollgate_mcp::sse::{SseDecoder, SseEvent};

/// What is read is JSON, and written again it reads the same; what is refused gets an answer that can be read.
pub(crate) fn envelope(data: &[u8]) {
    let raw = |params: Option<&RawValue>| params.map_or("{}", RawValue::get).to_owned();
    let written = match JsonRpcMessage::parse_bytes(data) {
        Ok(JsonRpcMessage::Request(JsonRpcRequest { id, method, params })) => {
            write::request(&id, &method, &raw(params))
        }
        Ok(JsonRpcMessage::Notification { method, params }) => {
            write::notification(&method, &raw(params))
        }
        Ok(JsonRpcMessage::Response { id: Some(id), outcome: Ok(result) }) => {
            write::result(&id, result.get())
        }
        Ok(JsonRpcMessage::Response { id, outcome: Err(error) }) => {
            write::error(id.as_ref(), &error)
        }
        Ok(JsonRpcMessage::Response { id: None, outcome: Ok(_) }) => return,
        Err(invalid) => {
            let answer = write::error(invalid.id.as_ref(), &invalid.error);
            assert!(answer.len() < 8 << 10, "a refusal of {} bytes", answer.len());
            let read = JsonRpcMessage::parse(&answer).expect("a refusal can be read");
            assert!(matches!(read, JsonRpcMessage::Response { outcome: Err(_), .. }), "{read:?}");
            return;
        }
    };
    let valid: Result<&RawValue, _> = serde_json::from_slice(data);
    assert!(valid.is_ok(), "what was read as a message is JSON");
    let again = JsonRpcMessage::parse(&written).expect("what is written can be read");
    assert_eq!(reencode(&again), written, "a message stays the same");
}

fn reencode(message: &JsonRpcMessage<'_>) -> String {
    let raw = |params: Option<&RawValue>| params.map_or("{}", RawValue::get).to_owned();
    match message {
        JsonRpcMessage::Request(it) => write::request(&it.id, &it.method, &raw(it.params)),
        JsonRpcMessage::Notification { method, params } => {
            write::notification(method, &raw(*params))
        }
        JsonRpcMessage::Response { id: Some(id), outcome: Ok(result) } => {
            write::result(id, result.get())
        }
        JsonRpcMessage::Response { id, outcome: Err(error) } => write::error(id.as_ref(), error),
        JsonRpcMessage::Response { id: None, outcome: Ok(_) } => {
            panic!("nothing like it was written")
        }
    }
}

/// The strict reader takes what `serde_json` takes, but for duplicate keys and too many values.
pub(crate) fn json(data: &[u8]) {
    let Some(text) = crate::text(data) else {
        assert!(Object::parse_bytes(data).is_err(), "not UTF-8, so not JSON");
        return;
    };
    let size = JsonBounds { values: usize::MAX, depth: usize::MAX }.check(data);
    let size = size.expect("there is no bound");
    let ours = json::value(text);
    let theirs = serde_json::from_str::<Value>(text);
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs);
            assert_eq!(count(theirs), size.values, "values are counted before they are read");
        }
        (Ok(_), Err(error)) => panic!("serde_json refuses it: {error}"),
        (Err(MalformedJsonError::OutOfBounds(_)), _) => assert!(size.values > MAX_TREE_VALUES),
        (Err(MalformedJsonError::Duplicate { .. }), Ok(theirs)) => {
            assert!(count(theirs) < size.values, "no key stands twice");
        }
        (Err(error), Ok(_)) => panic!("serde_json takes it: {error}"),
        (Err(_), Err(_)) => return,
    }
    if theirs.is_ok() {
        assert!(!json::is_deeper_than(size.depth, text));
        assert!(size.depth == 0 || json::is_deeper_than(size.depth - 1, text));
    }
    if let Ok(value) = &ours {
        check_canonical(value);
        check_object(text, value);
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn check_canonical(value: &Value) {
    // Fractions are read to the nearest number or its neighbour: such texts need not be stable.
    if has_fraction(value) {
        return;
    }
    let canonical = json::canonical(value);
    let again = json::value(&canonical).expect("canonical text is JSON");
    assert_eq!(again, *value);
    assert_eq!(json::canonical(&again), canonical);
}

fn has_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fraction),
        Value::Object(fields) => fields.values().any(has_fraction),
        _ => false,
    }
}

fn check_object(text: &str, value: &Value) {
    let object = Object::parse(text);
    let (Ok(object), Value::Object(fields)) = (&object, value) else {
        assert_eq!(object.is_ok(), value.is_object());
        return;
    };
    assert!(object.iter().map(|(key, _)| key).eq(fields.keys()), "keys and their order stay");
    let written = object.to_text();
    let again = Object::parse(&written).expect("an object is written as one");
    assert_eq!(again.to_text(), written);
}

/// However the bytes are cut, the same events come out, and none is larger than the limit.
pub(crate) fn sse(data: &[u8]) {
    let [size, limit, stream @ ..] = data else { return };
    let size = usize::from(*size).max(1);
    let limit = 1 + usize::from(*limit);
    let whole = events(stream, usize::MAX, 1 << 20);
    assert_eq!(events(stream, size, 1 << 20), whole, "in pieces of {size}");
    for event in events(stream, size, limit) {
        assert!(event.data.len() <= limit, "{} of {limit} bytes", event.data.len());
    }
    let written: String = whole.iter().map(encode_event).collect();
    assert_eq!(events(written.as_bytes(), usize::MAX, 1 << 20), whole, "written again");
}

fn events(mut stream: &[u8], size: usize, limit: usize) -> Vec<SseEvent> {
    let mut decoder = SseDecoder::new(limit);
    let mut events = Vec::new();
    while !stream.is_empty() {
        let (mut chunk, rest) = stream.split_at(size.min(stream.len()));
        stream = rest;
        while let Some(event) = decoder.next(&mut chunk) {
            events.extend(event.ok());
        }
    }
    events
}

fn encode_event(event: &SseEvent) -> String {
    let name = event.name.as_ref().map_or_else(String::new, |name| format!("event: {name}\n"));
    let data: String = event.data.split('\n').map(|line| format!("data: {line}\n")).collect();
    format!("{name}{data}\n")
}

/// However a pipe cuts it, each line that is short enough comes out once, in order.
pub(crate) fn stdio_lines(data: &[u8]) {
    let [size, limit, stream @ ..] = data else { return };
    // Excerpts of long lines have 64 bytes: a smaller limit would cut them.
    let size = usize::from(*size).max(1);
    let limit = 64 + usize::from(*limit);
    let pieces = ChunkedPipe { rest: stream, size };
    let mut lines = LineReader::new(pieces, limit);
    let mut texts = Vec::new();
    let mut is_skipping = false;
    while let Some(line) = lines.next().now_or_never().expect("nothing waits").expect("no error") {
        match line {
            LineRead::Text(text) => {
                assert!(!is_skipping && text.len() <= limit && !text.is_empty());
                texts.push(text.to_vec());
            }
            LineRead::TooLong { head, .. } => {
                assert!(!is_skipping && head.len() <= 64);
                is_skipping = true;
            }
            LineRead::NoRoom { .. } => panic!("there is room for small lines"),
            LineRead::Skipped { tail } => {
                assert!(is_skipping && tail.len() <= 64);
                is_skipping = false;
            }
        }
    }
    assert!(!is_skipping, "a line that was too long ends");
    let is_padding = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | 0);
    let trimmed = |line: &[u8]| -> Vec<u8> {
        let start = line.iter().position(|byte| !is_padding(byte)).unwrap_or(line.len());
        let end = line.iter().rposition(|byte| !is_padding(byte)).map_or(start, |last| last + 1);
        line[start..end].to_vec()
    };
    let is_short = |line: &&[u8]| {
        let padding = line.iter().take_while(|byte| is_padding(byte)).count();
        line.len() - padding <= limit
    };
    let short = stream.split(|byte| *byte == b'\n').filter(is_short);
    let expected: Vec<Vec<u8>> = short.map(trimmed).filter(|line| !line.is_empty()).collect();
    assert_eq!(texts, expected);
}

/// A pipe that gives a few bytes at a time.
struct ChunkedPipe<'a> {
    rest: &'a [u8],
    size: usize,
}

impl AsyncRead for ChunkedPipe<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let size = self.size.min(self.rest.len()).min(buffer.remaining());
        let (piece, rest) = self.rest.split_at(size);
        buffer.put_slice(piece);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}
