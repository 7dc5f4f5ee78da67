//! Bodies of responses, read within limits: whole, or as a stream of events.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use http::{HeaderMap, Response, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::sse::{Event, SseDecoder, SseError};
use crate::tasks::TaskGroup;

/// How long a stream may take to end after its last word, so that its connection can be reused.
const DRAIN: Duration = Duration::from_secs(1);

/// Why a body could not be read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyReadError {
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the response was interrupted: {0}")]
    Broken(String),
}

pub fn is_event_stream(headers: &HeaderMap) -> bool {
    let stated = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = stated.and_then(|stated| stated.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("text/event-stream")
}

/// The whole body, if it is not larger than `limit`.
pub async fn whole(mut body: Incoming, limit: usize) -> Result<Bytes, BodyReadError> {
    let too_large = || BodyReadError::TooLarge { limit };
    // What the server says; zero if it does not.
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if stated > limit {
        return Err(too_large());
    }
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| BodyReadError::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            return Err(too_large());
        }
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                // Once, and not again each time it has grown twice as large.
                rest.reserve(stated.max(first.len() + data.len()));
                rest.extend_from_slice(&first);
                first = Bytes::new();
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// Reads what is left, within reason, so that the connection can be reused.
pub async fn discard(response: Response<Incoming>) {
    let _ = tokio::time::timeout(DRAIN, whole(response.into_body(), 64 << 10)).await;
}

/// The events of a response.
pub struct EventStream {
    body: Incoming,
    decoder: SseDecoder,
    chunk: Bytes,
    broken: Option<String>,
    whole: Option<AnswerSizeBudget>,
}

/// What may still come of a stream that is one answer.
struct AnswerSizeBudget {
    limit: usize,
    left: usize,
}

impl EventStream {
    pub fn new(response: Response<Incoming>, limit: usize) -> Self {
        let body = response.into_body();
        let decoder = SseDecoder::new(limit);
        Self { body, decoder, chunk: Bytes::new(), broken: None, whole: None }
    }

    /// For a stream that is one answer: worthless without any of its events, and of `limit` bytes
    /// at most. What is too large is told at once, and not when the next event comes.
    #[must_use]
    pub fn at_most(self, limit: usize) -> Self {
        Self { whole: Some(AnswerSizeBudget { limit, left: limit }), ..self }
    }

    /// `None`: the stream has ended, in good order or not. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Event, SseError>> {
        loop {
            let mut rest: &[u8] = &self.chunk;
            let event = self.decoder.next(&mut rest);
            let used = self.chunk.len() - rest.len();
            self.chunk.advance(used);
            if event.is_some() {
                return event;
            }
            if let (Some(_), Some(fault)) = (&self.whole, self.decoder.fault()) {
                return Some(Err(fault));
            }
            // Even an empty rest would keep the connection's buffer from being used again.
            self.chunk = Bytes::new();
            match self.body.frame().await? {
                Ok(frame) => {
                    self.chunk = frame.into_data().unwrap_or_default();
                    if let Some(whole) = &mut self.whole {
                        match whole.left.checked_sub(self.chunk.len()) {
                            Some(left) => whole.left = left,
                            None => return Some(Err(SseError::TooMuch { limit: whole.limit })),
                        }
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "an event stream was interrupted");
                    self.broken = Some(error.to_string());
                    return None;
                }
            }
        }
    }

    /// Why the stream has not ended in good order, once it has ended.
    pub fn break_reason(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub fn last_id(&self) -> Option<&str> {
        self.decoder.last_id()
    }

    pub fn retry(&self) -> Option<Duration> {
        self.decoder.retry()
    }

    /// Nothing more is expected: lets the stream end by itself, for a moment.
    pub fn finish(mut self, drains: &TaskGroup) {
        let ended = self.body.frame().now_or_never().is_some_and(|frame| frame.is_none());
        if !ended && !self.body.is_end_stream() {
            let drained = async move {
                let drain = async { while let Some(Ok(_)) = self.body.frame().await {} };
                let _ = tokio::time::timeout(DRAIN, drain).await;
            };
            // If too many drain already, this one's connection is closed instead.
            let _ = drains.spawn(drained);
        }
    }
}
