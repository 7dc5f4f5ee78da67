//! Events of a streamed response: server-sent events, or the binary event stream of AWS.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::timeout;
use tollgate_mcp::answer_budget::AnswerPermit;
use tollgate_mcp::sse::{SseError, SseEvent};
use tollgate_mcp::tasks::TaskGroup;
use tollgate_mcp::web::body::EventStream;

use super::aws_event_stream::{AwsEventDecoder, AwsEventError};
use crate::format::{BrokenStreamError, MalformedResponseError};

/// Room for the headers of a frame and the fields beside the event.
const FRAME_HEADERS: usize = 64 << 10;
/// How long the end of a stream is waited for, so that its connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Size limits of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamLimits {
    pub(super) event: usize,
    /// Of all events together.
    pub(super) whole: usize,
}

/// How the events of a response are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventFraming {
    Sse,
    /// `application/vnd.amazon.eventstream`
    Aws,
}

pub(super) enum EventSource {
    Sse(Box<EventStream>),
    Aws(Box<AwsEventSource>),
}

/// Why there is no next event.
pub(super) enum EventSourceError {
    NoRoom,
    Broken(BrokenStreamError),
}

impl EventSource {
    pub(super) fn new(
        response: Response<Incoming>,
        framing: EventFraming,
        limits: StreamLimits,
    ) -> Self {
        match framing {
            EventFraming::Sse => {
                Self::Sse(Box::new(EventStream::new(response, limits.event).at_most(limits.whole)))
            }
            EventFraming::Aws => Self::Aws(Box::new(AwsEventSource {
                body: response.into_body(),
                // Events are in base64, and in a frame with headers.
                decoder: AwsEventDecoder::new(limits.event / 3 * 4 + FRAME_HEADERS),
                limit: limits.whole,
                left: limits.whole,
                broken: None,
                permit: AnswerPermit::default(),
            })),
        }
    }

    /// `None`: the stream has ended, cleanly or not. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Result<SseEvent, EventSourceError>> {
        match self {
            Self::Sse(events) => Some(events.next().await?.map_err(|fault| match fault {
                SseError::NoRoom => EventSourceError::NoRoom,
                fault => malformed_error(fault.to_string()),
            })),
            Self::Aws(events) => events.next().await,
        }
    }

    /// Why the stream did not end cleanly, once it has ended.
    pub(super) fn break_reason(&self) -> Option<&str> {
        match self {
            Self::Sse(events) => events.break_reason(),
            Self::Aws(events) => events.broken.as_deref(),
        }
    }

    /// The answer is complete: the connection is used again if the stream ends with it.
    pub(super) fn finish(self, drains: &TaskGroup) {
        match self {
            Self::Sse(events) => events.finish(drains),
            Self::Aws(mut events) => {
                let drain = async move { while let Some(Ok(_)) = events.body.frame().await {} };
                // At the task limit the connection is closed instead.
                let _ = drains.spawn(async move {
                    let _ = timeout(DRAIN_TIMEOUT, drain).await;
                });
            }
        }
    }
}

pub(super) struct AwsEventSource {
    body: Incoming,
    decoder: AwsEventDecoder,
    limit: usize,
    left: usize,
    broken: Option<String>,
    /// Memory for what is buffered.
    permit: AnswerPermit,
}

impl AwsEventSource {
    async fn next(&mut self) -> Option<Result<SseEvent, EventSourceError>> {
        loop {
            match self.decoder.next() {
                Some(Ok(data)) => return Some(Ok(SseEvent { name: None, data })),
                Some(Err(AwsEventError::Reported(report))) => {
                    let reported = BrokenStreamError::Reported(report);
                    return Some(Err(EventSourceError::Broken(reported)));
                }
                Some(Err(fault)) => return Some(Err(malformed_error(fault.to_string()))),
                None => {}
            }
            let buffered = self.decoder.buffered_bytes();
            if buffered == 0 {
                self.permit = AnswerPermit::default();
            } else if self.permit.cover_growing(buffered).await.is_err() {
                return Some(Err(EventSourceError::NoRoom));
            }
            if self.body.is_end_stream() {
                return self.end();
            }
            let chunk: Bytes = match self.body.frame().await {
                None => return self.end(),
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(error)) => {
                    tracing::debug!(%error, "an event stream was interrupted");
                    self.broken = Some(error.to_string());
                    return None;
                }
            };
            match self.left.checked_sub(chunk.len()) {
                Some(left) => self.left = left,
                None => {
                    return Some(Err(malformed_error(
                        SseError::TooMuch { limit: self.limit }.to_string(),
                    )));
                }
            }
            self.decoder.push(&chunk);
        }
    }

    fn end(&mut self) -> Option<Result<SseEvent, EventSourceError>> {
        if self.decoder.buffered_bytes() > 0 {
            self.broken = Some("it ended in the middle of a frame".to_owned());
        }
        None
    }
}

fn malformed_error(why: String) -> EventSourceError {
    EventSourceError::Broken(BrokenStreamError::Malformed(MalformedResponseError(why)))
}
