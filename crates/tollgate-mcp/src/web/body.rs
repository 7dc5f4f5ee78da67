//! Response bodies, read within limits: whole, or as an event stream.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use http::{HeaderMap, Response, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::answer_budget::AnswerPermit;
use crate::memory_budget::NoRoomError;
use crate::sse::{SseDecoder, SseError, SseEvent};
use crate::tasks::TaskGroup;

/// How long to drain a stream after its answer, so that its connection can be reused.
const DRAIN: Duration = Duration::from_secs(1);

/// Why a body could not be read completely.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyReadError {
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the response was interrupted: {0}")]
    Broken(String),
    #[error("there is no memory for the answer: {0}")]
    NoRoom(#[from] NoRoomError),
}

pub fn is_event_stream(headers: &HeaderMap) -> bool {
    let stated = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = stated.and_then(|stated| stated.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("text/event-stream")
}

/// The whole body, if it is not larger than `limit`. Waits while there is no memory for it.
pub async fn read_whole(mut body: Incoming, limit: usize) -> Result<Bytes, BodyReadError> {
    let too_large = || BodyReadError::TooLarge { limit };
    // The declared length; zero if unknown.
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if stated > limit {
        return Err(too_large());
    }
    let mut permit = AnswerPermit::default();
    permit.cover(stated).await?;
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| BodyReadError::Broken(error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            return Err(too_large());
        }
        permit.cover_growing(first.len() + rest.len() + data.len()).await?;
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                // Reserve once, instead of repeated doubling.
                rest.reserve(stated.max(first.len() + data.len()));
                rest.extend_from_slice(&first);
                first = Bytes::new();
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(permit.attach_to(if rest.is_empty() { first } else { rest.freeze() }))
}

/// Reads the rest of the body, within limits, so that the connection can be reused.
pub async fn discard(response: Response<Incoming>) {
    let _ = tokio::time::timeout(DRAIN, read_whole(response.into_body(), 64 << 10)).await;
}

/// The events of a response.
pub struct EventStream {
    body: Incoming,
    decoder: SseDecoder,
    chunk: Bytes,
    broken: Option<String>,
    whole: Option<AnswerSizeBudget>,
    /// Memory for the current event, held until the next one is read.
    permit: AnswerPermit,
}

/// The remaining size of a stream that is a single answer.
struct AnswerSizeBudget {
    limit: usize,
    left: usize,
}

impl EventStream {
    pub fn new(response: Response<Incoming>, limit: usize) -> Self {
        let body = response.into_body();
        let decoder = SseDecoder::new(limit);
        let permit = AnswerPermit::default();
        Self { body, decoder, chunk: Bytes::new(), broken: None, whole: None, permit }
    }

    /// For a stream that is a single answer: invalid if an event is missing, and at most `limit`
    /// bytes. An excess is reported at once, not with the next event.
    #[must_use]
    pub fn at_most(self, limit: usize) -> Self {
        Self { whole: Some(AnswerSizeBudget { limit, left: limit }), ..self }
    }

    /// `None`: the stream has ended, cleanly or not. Waits while there is no memory for a large
    /// event, and then drops the event. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<SseEvent, SseError>> {
        if self.decoder.buffered_bytes() == 0 {
            self.permit = AnswerPermit::default();
        }
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
            if self.permit.cover_growing(self.decoder.buffered_bytes()).await.is_err() {
                self.decoder.drop_event(SseError::NoRoom);
                self.permit = AnswerPermit::default();
                continue;
            }
            // Even an empty slice would keep the connection's buffer from being reused.
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

    /// The memory of the event that was returned last.
    pub fn take_permit(&mut self) -> AnswerPermit {
        std::mem::take(&mut self.permit)
    }

    /// Why the stream did not end cleanly, once it has ended.
    pub fn break_reason(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub fn last_id(&self) -> Option<&str> {
        self.decoder.last_id()
    }

    pub fn retry(&self) -> Option<Duration> {
        self.decoder.retry()
    }

    /// The answer is complete: drains the stream for a moment, in the background.
    pub fn finish(mut self, drains: &TaskGroup) {
        let ended = self.body.frame().now_or_never().is_some_and(|frame| frame.is_none());
        if !ended && !self.body.is_end_stream() {
            let drained = async move {
                let drain = async { while let Some(Ok(_)) = self.body.frame().await {} };
                let _ = tokio::time::timeout(DRAIN, drain).await;
            };
            // At the task limit the connection is closed instead.
            let _ = drains.spawn(drained);
        }
    }
}
