//! Reads a response of server-sent events with JSON data. The last event is the result.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, header};
use http_body::Body;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tollgate_mcp::sse::SseDecoder;

use super::complaint;
use crate::command_error::CommandError;

const LARGEST_EVENT: usize = 16 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayEvent {
    pub name: String,
    pub data: Value,
}

/// Reports every event as soon as it is complete, and keeps the last one.
pub(super) struct GatewayEventListener<'a> {
    decoder: SseDecoder,
    each: &'a mut (dyn FnMut(GatewayEvent) + Send),
    end: Option<Result<Value, CommandError>>,
}

impl<'a> GatewayEventListener<'a> {
    pub(super) fn new(each: &'a mut (dyn FnMut(GatewayEvent) + Send)) -> Self {
        Self { decoder: SseDecoder::new(LARGEST_EVENT), each, end: None }
    }

    pub(super) fn hear(&mut self, mut chunk: &[u8]) {
        while let Some(event) = self.decoder.next(&mut chunk) {
            let event = match event {
                Ok(event) => event,
                Err(fault) => {
                    self.end = Some(Err(CommandError::new(fault.to_string())));
                    continue;
                }
            };
            let data = serde_json::from_str(&event.data).unwrap_or(Value::Null);
            match event.name.unwrap_or_default() {
                name if name == "done" => self.end = Some(Ok(data)),
                name if name == "error" => {
                    let why = complaint(&data).unwrap_or("the gateway failed");
                    self.end = Some(Err(CommandError::new(why)));
                }
                name => (self.each)(GatewayEvent { name, data }),
            }
        }
    }

    pub(super) fn finish(self) -> Result<Value, CommandError> {
        let broken = || Err(CommandError::new("the gateway disconnected before it was done"));
        self.end.unwrap_or_else(broken)
    }
}

/// Reads a body to its end: streams go to `heard` as they arrive, other bodies are collected.
pub(crate) async fn read<B, E>(
    response: Response<B>,
    on_event: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<Response<Bytes>, E>
where
    B: Body<Data = Bytes, Error = E> + Unpin,
{
    let (parts, mut body) = response.into_parts();
    let streams = is_endless(&parts.headers);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(chunk) = frame?.into_data() else { continue };
        if streams { on_event(&chunk) } else { whole.extend_from_slice(&chunk) }
    }
    Ok(Response::from_parts(parts, whole.freeze()))
}

/// Whether it is a stream of server-sent events.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    kind(headers).is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Whether it is read as a stream without a size limit: events, or JSON Lines.
pub(super) fn is_endless(headers: &HeaderMap) -> bool {
    is_stream(headers) || kind(headers).is_some_and(|kind| kind.starts_with("application/x-ndjson"))
}

fn kind(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok())
}
