//! Body of a passed-through response: forwarded frame by frame, without copies.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};
use tollgate_engine::spans as told;

use super::error::PassThroughError;
use super::event_guard::EventGuard;
use crate::provider::concurrency_limit::ProviderPermit;

/// Dropping it closes the provider's connection, unless the body was read to its end.
pub struct PassThroughBody {
    source: PassThroughSource,
    interruption: StreamInterruption,
    /// Ends together with the body.
    span: told::TraceSpan,
}

enum PassThroughSource {
    Whole(Bytes),
    Through(Box<StreamedBody>),
}

struct StreamedBody {
    body: Incoming,
    idle: IdleTimer,
    /// Read ahead.
    first: Option<Bytes>,
    /// `None`: the body is no stream of events.
    guard: Option<EventGuard>,
    is_over: bool,
    _slot: ProviderPermit,
}

/// Runs while no data arrives.
struct IdleTimer {
    silence: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    /// Whether data arrived since the timer was set.
    has_received: bool,
}

/// Whether a stream ended with an error of the gateway.
#[derive(Debug, Clone, Default)]
pub struct StreamInterruption(Arc<AtomicBool>);

impl StreamInterruption {
    pub fn has_happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a stream is not passed through.
pub(in crate::provider) enum UnbegunStreamError {
    Failed(PassThroughError),
    /// Its first event is an error, of which this is the data.
    Reported(Bytes),
}

impl PassThroughBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self::new(PassThroughSource::Whole(bytes))
    }

    /// A body of any content, or events if there is a guard.
    pub(super) fn through(
        body: Incoming,
        slot: ProviderPermit,
        silence: Duration,
        guard: Option<EventGuard>,
    ) -> Self {
        Self::new(PassThroughSource::Through(Box::new(StreamedBody {
            body,
            idle: IdleTimer { silence, sleep: None, has_received: false },
            first: None,
            guard,
            is_over: false,
            _slot: slot,
        })))
    }

    fn new(source: PassThroughSource) -> Self {
        let interruption = StreamInterruption::default();
        Self { source, interruption, span: told::TraceSpan::default() }
    }

    /// Waits for the first event of a stream. Fails if there is none, or if it is an error.
    pub(in crate::provider) async fn begin(&mut self) -> Result<(), UnbegunStreamError> {
        let PassThroughSource::Through(through) = &mut self.source else { return Ok(()) };
        let first = std::future::poll_fn(|context| through.poll_next(context)).await;
        let first = match first {
            Some(Ok(first)) => first,
            Some(Err(failed)) => return Err(UnbegunStreamError::Failed(failed)),
            None => {
                through.only_event().ok_or(UnbegunStreamError::Failed(PassThroughError::Empty))?
            }
        };
        match error_event_data(&first) {
            Some(data) => Err(UnbegunStreamError::Reported(data)),
            None => {
                through.first = Some(first);
                Ok(())
            }
        }
    }

    /// Tells afterwards whether the stream was whole.
    pub fn interruption(&self) -> StreamInterruption {
        self.interruption.clone()
    }

    /// Attaches a span to the body.
    pub(in crate::provider) fn with_span(self, span: told::TraceSpan) -> Self {
        Self { span, ..self }
    }

    /// The end of a stream: what is missing of it, or an error.
    fn end_stream(
        &mut self,
        broken: Option<PassThroughError>,
    ) -> Option<Result<Frame<Bytes>, PassThroughError>> {
        let PassThroughSource::Through(through) = &mut self.source else { return None };
        through.is_over = true;
        let Some(guard) = &mut through.guard else { return broken.map(Err) };
        match guard.close(broken) {
            Ok(end) => {
                if let Some(failure) = &end.failure {
                    tracing::warn!(code = failure.kind.code(), %failure, "a stream broke off");
                    self.interruption.0.store(true, Ordering::Relaxed);
                    self.span.fail_quoting(failure.kind.code(), || failure.to_string());
                }
                (!end.last.is_empty()).then(|| Ok(Frame::data(end.last)))
            }
            Err(failed) => Some(Err(failed)),
        }
    }
}

impl Body for PassThroughBody {
    type Data = Bytes;
    type Error = PassThroughError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PassThroughError>>> {
        let polled = match &mut self.source {
            PassThroughSource::Whole(bytes) if bytes.is_empty() => None,
            PassThroughSource::Whole(bytes) => Some(Ok(std::mem::take(bytes))),
            PassThroughSource::Through(through) => match ready!(through.poll(context)) {
                Some(Ok(data)) => Some(Ok(data)),
                None if through.is_over => None,
                None => return Poll::Ready(self.end_stream(None)),
                Some(Err(failed)) => return Poll::Ready(self.end_stream(Some(failed))),
            },
        };
        Poll::Ready(polled.map(|data| data.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            PassThroughSource::Whole(bytes) => bytes.is_empty(),
            PassThroughSource::Through(through) if through.guard.is_some() => {
                through.first.is_none() && through.is_over
            }
            PassThroughSource::Through(through) => {
                through.first.is_none() && through.body.is_end_stream()
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            PassThroughSource::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            // An end may have to be added.
            PassThroughSource::Through(through) if through.guard.is_some() => SizeHint::new(),
            PassThroughSource::Through(through) => through.body.size_hint(),
        }
    }
}

/// The dialects report an error in a stream as an event of that name, or as its only field.
fn error_event_data(events: &Bytes) -> Option<Bytes> {
    let text = events.trim_ascii_start();
    let begins = |start: &str| text.starts_with(start.as_bytes());
    let starts = ["event: error", "event:error", "data: {\"error\"", "data:{\"error\""];
    if !starts.into_iter().any(begins) {
        return None;
    }
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    let data = lines.filter_map(|line| line.strip_prefix(b"data:")).next().unwrap_or_default();
    Some(events.slice_ref(data.trim_ascii()))
}

impl StreamedBody {
    /// The event of a stream that ended without an empty line.
    fn only_event(&mut self) -> Option<Bytes> {
        let end = self.guard.as_mut()?.close(None).ok()?;
        self.is_over = true;
        (end.failure.is_none() && !end.last.is_empty()).then_some(end.last)
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, PassThroughError>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None if self.is_over => Poll::Ready(None),
            None => self.poll_next(context),
        }
    }

    /// What may be forwarded next. `None`: the provider has sent everything.
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, PassThroughError>>> {
        loop {
            let frame = match ready!(self.poll_frame(context)) {
                Some(Ok(frame)) => frame,
                Some(Err(failed)) => return Poll::Ready(Some(Err(failed))),
                None => return Poll::Ready(None),
            };
            // Trailers say nothing to a client.
            let Ok(data) = frame.into_data() else { continue };
            let released = match &mut self.guard {
                Some(guard) => guard.push(data),
                None => Some(data),
            };
            if let Some(released) = released {
                return Poll::Ready(Some(Ok(released)));
            }
        }
    }

    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PassThroughError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.idle.has_received = true;
            return Poll::Ready(frame.map(|frame| frame.map_err(PassThroughError::from)));
        }
        self.idle.poll(context).map(|silent| Some(Err(silent)))
    }
}

impl IdleTimer {
    /// Ready when nothing has arrived for too long.
    ///
    /// The timer is not reset for each frame, which would cost more than the frame: the flag is
    /// checked when the timer fires. So the idle timeout may take up to twice as long.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<PassThroughError> {
        let has_received = &mut self.has_received;
        let sleep = self.sleep.get_or_insert_with(|| {
            *has_received = false;
            Box::pin(sleep(self.silence))
        });
        while sleep.as_mut().poll(context).is_ready() {
            if !std::mem::take(has_received) {
                return Poll::Ready(PassThroughError::Silent(self.silence));
            }
            let next = sleep.deadline() + self.silence;
            sleep.as_mut().reset(next);
        }
        Poll::Pending
    }
}
