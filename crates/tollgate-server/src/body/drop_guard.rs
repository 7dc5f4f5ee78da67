//! Response body with a drop guard: keeps a value, such as an in-flight permit or a span, alive as
//! long as the body.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

struct BodyWithGuard<T> {
    body: Body,
    _thing: T,
}

/// `thing` is dropped with the body.
pub(crate) fn holding(body: Body, thing: impl Send + Unpin + 'static) -> Body {
    Body::new(BodyWithGuard { body, _thing: thing })
}

impl<T: Unpin> http_body::Body for BodyWithGuard<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
