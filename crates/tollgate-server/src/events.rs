//! Server-sent event streams with keep-alive comments, so that proxies and clients see that the
//! connection is alive. Dropping the body drops the source.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt};
use http::{HeaderValue, header};
use http_body::Frame;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{Sleep, sleep};
use tollgate_core::lease::RevokedError;
use tollgate_mcp::line::on_one_line;

/// One event.
#[derive(Debug)]
pub(crate) struct ServerSentEvent {
    pub(crate) name: &'static str,
    /// Event id, from which a disconnected client can resume.
    pub(crate) id: Option<u64>,
    /// JSON.
    pub(crate) data: String,
}

impl ServerSentEvent {
    pub(crate) fn new(name: &'static str, data: &impl Serialize) -> Self {
        let data = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
        Self { name, id: None, data }
    }

    fn into_bytes(self) -> Bytes {
        match self.id {
            None => event(Some(self.name), self.data),
            Some(id) => {
                let rest = event(Some(self.name), self.data);
                [format!("id: {id}\n").as_bytes(), &rest].concat().into()
            }
        }
    }
}

/// Encodes one event. `data` is JSON, or one word.
pub(crate) fn event(name: Option<&str>, data: String) -> Bytes {
    let data = on_one_line(data);
    let mut out = String::with_capacity(name.map_or(0, str::len) + data.len() + 20);
    for part in name.iter().flat_map(|name| ["event: ", name, "\n"]) {
        out.push_str(part);
    }
    for part in ["data: ", &data, "\n\n"] {
        out.push_str(part);
    }
    out.into()
}

/// A comment, which every client ignores.
pub(crate) fn comment(text: String) -> Bytes {
    let text = on_one_line(text);
    format!(": {text}\n\n").into()
}

/// Streams `source` until it ends.
pub(crate) fn response<S>(source: S, keep_alive: Duration) -> Response
where
    S: Stream<Item = ServerSentEvent> + Send + 'static,
{
    encoded_response(source.map(ServerSentEvent::into_bytes), Some(keep_alive))
}

/// The same for streams that may be silent at first: sends a comment at once. Headers are flushed
/// with the first bytes, and a browser treats a stream as open only then.
pub(crate) fn listening<S>(source: S, keep_alive: Duration) -> Response
where
    S: Stream<Item = ServerSentEvent> + Send + 'static,
{
    let opening = stream::once(async { Bytes::from_static(b":\n\n") });
    encoded_response(opening.chain(source.map(ServerSentEvent::into_bytes)), Some(keep_alive))
}

/// The same, for encoded events. Without `keep_alive` no comments are sent.
pub(crate) fn encoded_response<S>(source: S, keep_alive: Option<Duration>) -> Response
where
    S: Stream<Item = Bytes> + Send + 'static,
{
    let silence = keep_alive.map(KeepAliveTimer::new);
    let body = Body::new(SseBody { source: Box::pin(source), silence });
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Marks a response that is a stream of unbounded length, of whatever type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamingResponse;

/// Whether the response is a stream of unbounded length.
pub(crate) fn is_stream(response: &Response) -> bool {
    response.extensions().get::<StreamingResponse>().is_some()
        || tollgate_mcp::web::body::is_event_stream(response.headers())
}

/// Marks a response that ends by itself when its caller's lease is revoked, with a reason in its
/// own format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndsOnRevocation;

/// How long such a response may take to end.
pub(crate) const REVOCATION_GRACE: Duration = Duration::from_millis(500);

/// Ends the stream when it is revoked, with `last` as its final event.
pub(crate) fn until_revoked<E>(
    response: Response,
    revoked: E,
    last: impl FnOnce(&RevokedError) -> Bytes + Send + Unpin + 'static,
) -> Response
where
    E: Future<Output = RevokedError> + Send + 'static,
{
    let patience = response
        .extensions()
        .get::<EndsOnRevocation>()
        .map_or(Duration::ZERO, |_| REVOCATION_GRACE);
    let ending = RevocationPhase::Awaited(Box::pin(revoked));
    response.map(|body| Body::new(RevocableBody { body, ending, patience, last: Some(last) }))
}

struct RevocableBody<E, L> {
    body: Body,
    ending: RevocationPhase<E>,
    /// How long the body may take to end by itself.
    patience: Duration,
    last: Option<L>,
}

enum RevocationPhase<E> {
    Awaited(Pin<Box<E>>),
    /// The body may still send its own last event. These bytes are sent if it does not.
    Revoked(Pin<Box<Sleep>>, Bytes),
    Over,
}

impl<E, L> http_body::Body for RevocableBody<E, L>
where
    E: Future<Output = RevokedError>,
    L: FnOnce(&RevokedError) -> Bytes + Unpin,
{
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if let RevocationPhase::Awaited(revoked) = &mut this.ending
            && let Poll::Ready(why) = revoked.as_mut().poll(context)
        {
            let last = this.last.take().map_or_else(Bytes::new, |last| last(&why));
            this.ending = RevocationPhase::Revoked(Box::pin(sleep(this.patience)), last);
        }
        if let RevocationPhase::Revoked(patience, last) = &mut this.ending
            && (this.patience.is_zero() || patience.as_mut().poll(context).is_ready())
        {
            let last = std::mem::take(last);
            this.ending = RevocationPhase::Over;
            // Stop the source now, not when the client closes.
            this.body = Body::empty();
            if !last.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(last))));
            }
        }
        match &this.ending {
            RevocationPhase::Over => Poll::Ready(None),
            RevocationPhase::Awaited(_) | RevocationPhase::Revoked(..) => {
                Pin::new(&mut this.body).poll_frame(context)
            }
        }
    }
}

/// Yields what is received while `last` runs, then the result of `last`.
pub(crate) fn before<T: Send + 'static, E: Send + 'static>(
    last: impl Future<Output = E> + Send + 'static,
    mut receiver: mpsc::Receiver<T>,
    mut put: impl FnMut(T) -> Option<E> + Send + 'static,
) -> impl Stream<Item = E> + Send + 'static {
    let mut running = Some(Box::pin(last));
    let mut last = None;
    stream::poll_fn(move |context| {
        loop {
            match receiver.poll_recv(context) {
                Poll::Ready(Some(one)) => match put(one) {
                    Some(event) => return Poll::Ready(Some(event)),
                    None => continue,
                },
                Poll::Ready(None) if running.is_none() => return Poll::Ready(last.take()),
                Poll::Ready(None) | Poll::Pending => {}
            }
            let Some(making) = &mut running else { return Poll::Pending };
            match making.as_mut().poll(context) {
                // Items that were sent before the end are delivered before it.
                Poll::Ready(event) => (running, last) = (None, Some(event)),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
}

struct SseBody<S> {
    source: Pin<Box<S>>,
    silence: Option<KeepAliveTimer>,
}

/// Time without an event.
struct KeepAliveTimer {
    sleep: Pin<Box<Sleep>>,
    longest: Duration,
}

impl KeepAliveTimer {
    fn new(longest: Duration) -> Self {
        Self { sleep: Box::pin(sleep(longest)), longest }
    }
}

impl<S: Stream<Item = Bytes>> http_body::Body for SseBody<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let bytes = match (this.source.as_mut().poll_next(context), &mut this.silence) {
            (Poll::Ready(Some(bytes)), _) => bytes,
            (Poll::Ready(None), _) => return Poll::Ready(None),
            (Poll::Pending, None) => return Poll::Pending,
            (Poll::Pending, Some(silence)) => match silence.sleep.as_mut().poll(context) {
                Poll::Ready(()) => Bytes::from_static(b":\n\n"),
                Poll::Pending => return Poll::Pending,
            },
        };
        this.silence = this.silence.take().map(|silence| KeepAliveTimer::new(silence.longest));
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests;
