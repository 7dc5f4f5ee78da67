//! Body of a passed-through response: forwarded frame by frame, without copies.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};
use tollgate_core::text::HumanDuration;
use tollgate_engine::spans as told;

use crate::provider::concurrency_limit::ProviderPermit;

/// Dropping it closes the provider's connection, unless the body was read to its end.
pub struct PassThroughBody {
    source: PassThroughSource,
    /// Ends together with the body.
    _span: told::TraceSpan,
}

enum PassThroughSource {
    Whole(Bytes),
    Through(Box<StreamedBody>),
}

struct StreamedBody {
    body: Incoming,
    silence: Duration,
    /// Idle timer: runs while no data arrives.
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether data arrived since the timer was set.
    has_received: bool,
    /// Read ahead.
    first: Option<Frame<Bytes>>,
    _slot: ProviderPermit,
}

/// Why the rest of a response is missing.
#[derive(Debug, thiserror::Error)]
pub enum PassThroughError {
    #[error("the provider's response was interrupted: {0}")]
    Broken(#[from] hyper::Error),
    #[error("the provider sent nothing for {}", HumanDuration(*.0))]
    Silent(Duration),
    #[error("the provider's response ended before it began")]
    Empty,
    #[error("the provider's stream began with an error")]
    BeganWithError,
}

impl PassThroughBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self { source: PassThroughSource::Whole(bytes), _span: told::TraceSpan::default() }
    }

    pub(super) fn through(body: Incoming, slot: ProviderPermit, silence: Duration) -> Self {
        let through = StreamedBody {
            body,
            silence,
            timer: None,
            has_received: false,
            first: None,
            _slot: slot,
        };
        Self {
            source: PassThroughSource::Through(Box::new(through)),
            _span: told::TraceSpan::default(),
        }
    }

    /// Waits for the first event of a stream. Fails if there is none, or if it is an error.
    pub(in crate::provider) async fn begin(&mut self) -> Result<(), PassThroughError> {
        let PassThroughSource::Through(through) = &mut self.source else { return Ok(()) };
        let first = std::future::poll_fn(|context| through.poll(context)).await;
        let first = first.ok_or(PassThroughError::Empty)??;
        if first.data_ref().is_some_and(|data| is_error_event(data)) {
            return Err(PassThroughError::BeganWithError);
        }
        through.first = Some(first);
        Ok(())
    }

    /// Attaches a span to the body.
    pub(in crate::provider) fn with_span(self, span: told::TraceSpan) -> Self {
        Self { _span: span, ..self }
    }
}

impl Body for PassThroughBody {
    type Data = Bytes;
    type Error = PassThroughError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PassThroughError>>> {
        match &mut self.source {
            PassThroughSource::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            PassThroughSource::Whole(bytes) => {
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes)))))
            }
            PassThroughSource::Through(through) => through.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            PassThroughSource::Whole(bytes) => bytes.is_empty(),
            PassThroughSource::Through(through) => {
                through.first.is_none() && through.body.is_end_stream()
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            PassThroughSource::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            // What was read ahead is no longer counted in it.
            PassThroughSource::Through(through) if through.first.is_some() => SizeHint::new(),
            PassThroughSource::Through(through) => through.body.size_hint(),
        }
    }
}

/// How the dialects report an error in a stream: as an event of that name, or as its only field.
fn is_error_event(data: &[u8]) -> bool {
    let text = data.trim_ascii_start();
    let begins = |start: &str| text.starts_with(start.as_bytes());
    ["event: error", "event:error", "data: {\"error\"", "data:{\"error\""].into_iter().any(begins)
}

impl StreamedBody {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PassThroughError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.has_received = true;
            return Poll::Ready(frame.map(|frame| frame.map_err(PassThroughError::from)));
        }
        // The timer is not reset for each frame, which would cost more than the frame: the flag is
        // checked when the timer fires. So the idle timeout may take up to twice as long.
        let heard = &mut self.has_received;
        let timer = self.timer.get_or_insert_with(|| {
            *heard = false;
            Box::pin(sleep(self.silence))
        });
        while timer.as_mut().poll(context).is_ready() {
            if !std::mem::take(heard) {
                return Poll::Ready(Some(Err(PassThroughError::Silent(self.silence))));
            }
            let next = timer.deadline() + self.silence;
            timer.as_mut().reset(next);
        }
        Poll::Pending
    }
}
