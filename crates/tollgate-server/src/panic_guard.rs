//! Catches panics while a response body is streamed: the stream ends with an error in the format of
//! its API. This connection and all others stay open.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::Uri;
use http_body::Frame;
use tollgate_core::failpoint;

use crate::api_error::{ApiErrorFormat, FAULT};
use crate::events;

/// Contains a panic of the response's body. `uri` is that of the request.
pub(crate) fn catch_panics(response: Response, style: ApiErrorFormat, uri: Uri) -> Response {
    let is_events = tollgate_mcp::web::body::is_event_stream(response.headers());
    let last = if is_events { last_event(style) } else { Bytes::new() };
    response.map(|body| Body::new(PanicCatchingBody { body: Some(body), last, uri }))
}

fn last_event(style: ApiErrorFormat) -> Bytes {
    match style {
        ApiErrorFormat::JsonRpc => events::event(Some("message"), FAULT.in_style(style)),
        ApiErrorFormat::Gemini => events::event(None, FAULT.in_style(style)),
        ApiErrorFormat::OpenAi | ApiErrorFormat::Anthropic | ApiErrorFormat::ProblemDetails => {
            events::event(Some("error"), FAULT.in_style(style))
        }
    }
}

struct PanicCatchingBody {
    /// `None` at the end.
    body: Option<Body>,
    /// Sent after a panic.
    last: Bytes,
    uri: Uri,
}

impl http_body::Body for PanicCatchingBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let polled = catch_unwind(AssertUnwindSafe(|| {
            failpoint::hit_at("stream", this.uri.path());
            Pin::new(body).poll_frame(context)
        }));
        match polled {
            Ok(Poll::Ready(None)) => {
                this.body = None;
                Poll::Ready(None)
            }
            Ok(polled) => polled,
            Err(_) => {
                tracing::error!("a request panicked");
                this.body = None;
                if this.last.is_empty() {
                    Poll::Ready(None)
                } else {
                    Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut this.last)))))
                }
            }
        }
    }
}
