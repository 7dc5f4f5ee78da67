//! Bodies of responses, read within limits: whole, or as a stream of events.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use http::{HeaderMap, Response, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::client::RequestError;
use crate::sse::{Decoder, Event, Fault};
use crate::tasks::Group;

/// How long a stream may take to end after its last word, so that its connection can be reused.
const DRAIN: Duration = Duration::from_secs(1);

pub(in crate::client) fn is_event_stream(headers: &HeaderMap) -> bool {
    let stated = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = stated.and_then(|stated| stated.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("text/event-stream")
}

/// The whole body, if it is not larger than `limit`.
pub(super) async fn whole(mut body: Incoming, limit: usize) -> Result<Bytes, RequestError> {
    let too_large = || RequestError::TooLarge { limit };
    // What the server says; zero if it does not.
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if stated > limit {
        return Err(too_large());
    }
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(&error))?;
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
pub(super) async fn discard(response: Response<Incoming>) {
    let _ = tokio::time::timeout(DRAIN, whole(response.into_body(), 64 << 10)).await;
}

fn broken(error: &hyper::Error) -> RequestError {
    RequestError::Lost(format!("the server's answer broke off: {error}"))
}

/// The events of a response.
pub(in crate::client) struct EventStream {
    body: Incoming,
    decoder: Decoder,
    chunk: Bytes,
}

impl EventStream {
    pub(in crate::client) fn new(response: Response<Incoming>, limit: usize) -> Self {
        let body = response.into_body();
        Self { body, decoder: Decoder::new(limit), chunk: Bytes::new() }
    }

    /// `None`: the stream has ended, in good order or not. Cancel-safe.
    pub(in crate::client) async fn next(&mut self) -> Option<Result<Event, Fault>> {
        loop {
            let mut rest: &[u8] = &self.chunk;
            let event = self.decoder.next(&mut rest);
            let used = self.chunk.len() - rest.len();
            self.chunk.advance(used);
            if event.is_some() {
                return event;
            }
            match self.body.frame().await? {
                Ok(frame) => self.chunk = frame.into_data().unwrap_or_default(),
                Err(error) => {
                    tracing::debug!(%error, "an event stream broke off");
                    return None;
                }
            }
        }
    }

    pub(super) fn last_id(&self) -> Option<&str> {
        self.decoder.last_id()
    }

    pub(super) fn retry(&self) -> Option<Duration> {
        self.decoder.retry()
    }

    /// Nothing more is expected: lets the stream end by itself, for a moment.
    pub(super) fn finish(mut self, drains: &Group) {
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
