//! An answer as an event stream: what is said as it comes, and comments while nothing is said,
//! so that proxies and clients see that the connection lives. Dropping the body drops the
//! exchange.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Sleep, sleep};

use super::super::dress::Text;
use super::super::exchange::{Exchange, Step};

pub(super) fn response(
    exchange: Exchange,
    first: Option<String>,
    keep_alive: Duration,
) -> Response {
    let sleep = Box::pin(sleep(keep_alive));
    super::event_stream(Body::new(Stream { exchange: Some(exchange), first, sleep, keep_alive }))
}

struct Stream {
    /// `None` after the end.
    exchange: Option<Exchange>,
    first: Option<String>,
    sleep: Pin<Box<Sleep>>,
    keep_alive: Duration,
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        let text = match this.first.take() {
            Some(first) => Some(first),
            None => match this.poll_said(context) {
                Poll::Ready(Some(text)) => Some(text),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => match this.sleep.as_mut().poll(context) {
                    Poll::Ready(()) => None,
                    Poll::Pending => return Poll::Pending,
                },
            },
        };
        this.sleep = Box::pin(sleep(this.keep_alive));
        let frame = text.map_or_else(|| Bytes::from_static(b":\n\n"), super::event);
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }
}

impl Stream {
    /// The next message; nothing after the last.
    fn poll_said(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        let Some(exchange) = &mut self.exchange else { return Poll::Ready(None) };
        match exchange.poll_next(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Step::Say(text)) => Poll::Ready(Some(text)),
            Poll::Ready(Step::Done(answer)) => {
                self.exchange = None;
                Poll::Ready(answer.text.map(Text::into_string))
            }
        }
    }
}
