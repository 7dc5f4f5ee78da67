//! Masks secret values in responses. All text that a front writes about servers, configs and
//! failures passes here. Output of servers was masked before, on arrival.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{HeaderMap, header};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tollgate_core::secret_values::{self, StreamMask};
use tollgate_mcp::offload::{is_too_large_here, offload_if_large};

/// Larger responses are masked as a stream.
const MAX_WHOLE: u64 = 4 << 20;
/// The same for a response that is still arriving: collecting it would cost memory.
const MAX_WHOLE_FORWARDED: u64 = 64 << 10;

/// Marks a response that is forwarded while it arrives. It is never completely in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForwardedResponse;

/// Masks secret values in a response. Bodies that are not text, such as files of the page, pass
/// unchanged.
pub(crate) async fn mask_response(response: Response) -> Response {
    let matcher = secret_values::current();
    if matcher.is_empty() || !is_text(response.headers()) {
        return response;
    }
    let is_forwarded = response.extensions().get::<ForwardedResponse>().is_some();
    let (mut parts, body) = response.into_parts();
    let max_whole = if is_forwarded { MAX_WHOLE_FORWARDED } else { MAX_WHOLE };
    if body.size_hint().exact().is_none_or(|size| size > max_whole) {
        parts.headers.remove(header::CONTENT_LENGTH);
        let masked = MaskedBody { body, masking: Masking::Idle(StreamMask::default()) };
        return Response::from_parts(parts, Body::new(masked));
    }
    // Most bodies are complete by now. A provider's response may still be arriving.
    let bytes = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) => return Response::from_parts(parts, error_body(error)),
    };
    let size = bytes.len();
    let masked = offload_if_large(size, move || {
        let masked = match matcher.mask_bytes(&bytes) {
            Cow::Owned(masked) => Some(Bytes::from(masked)),
            Cow::Borrowed(_) => None,
        };
        masked.unwrap_or(bytes)
    })
    .await;
    if masked.len() != size && parts.headers.contains_key(header::CONTENT_LENGTH) {
        parts.headers.insert(header::CONTENT_LENGTH, masked.len().into());
    }
    Response::from_parts(parts, Body::from(masked))
}

/// The source was cut off, so the response is, too.
fn error_body(error: axum::Error) -> Body {
    Body::from_stream(futures_util::stream::iter([Err::<Bytes, _>(error)]))
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default();
    let is_page = kind.starts_with("text/html") || kind.starts_with("text/css");
    let is_encoded = headers.contains_key(header::CONTENT_ENCODING);
    let is_written = kind.starts_with("text/") || kind.contains("json") || kind.contains("yaml");
    is_written && !is_page && !kind.contains("javascript") && !is_encoded
}

struct MaskedBody {
    body: Body,
    masking: Masking,
}

/// State of masking a body's frames.
enum Masking {
    Idle(StreamMask),
    /// A large frame is searched on the threads for large work.
    Offloaded(BoxFuture<'static, (StreamMask, Bytes)>),
    Over,
}

/// The part of the chunk that may be sent, together with what was held back before.
fn mask_chunk(stream: &mut StreamMask, chunk: Bytes) -> Bytes {
    // Also mask tokens that were obtained since the stream began.
    let matcher = secret_values::current();
    let masked = match stream.push(&matcher, &chunk) {
        Cow::Borrowed(same) if same.len() == chunk.len() => None,
        changed => Some(Bytes::from(changed.into_owned())),
    };
    masked.unwrap_or(chunk)
}

impl http_body::Body for MaskedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        loop {
            let stream = match &mut this.masking {
                Masking::Over => return Poll::Ready(None),
                Masking::Offloaded(masking) => {
                    let (stream, masked) = ready!(masking.as_mut().poll(context));
                    this.masking = Masking::Idle(stream);
                    if masked.is_empty() {
                        continue;
                    }
                    return Poll::Ready(Some(Ok(Frame::data(masked))));
                }
                Masking::Idle(stream) => stream,
            };
            let Some(frame) = ready!(Pin::new(&mut this.body).poll_frame(context)) else {
                let rest = stream.finish();
                this.masking = Masking::Over;
                let last = (!rest.is_empty()).then(|| Ok(Frame::data(Bytes::from(rest))));
                return Poll::Ready(last);
            };
            let chunk = match frame.map(Frame::into_data) {
                Ok(Ok(chunk)) => chunk,
                Ok(Err(other)) => return Poll::Ready(Some(Ok(other))),
                Err(error) => return Poll::Ready(Some(Err(error))),
            };
            if is_too_large_here(chunk.len()) {
                let mut stream = std::mem::take(stream);
                let masking = offload_if_large(chunk.len(), move || {
                    let masked = mask_chunk(&mut stream, chunk);
                    (stream, masked)
                });
                this.masking = Masking::Offloaded(masking.boxed());
                continue;
            }
            let masked = mask_chunk(stream, chunk);
            if !masked.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(masked))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.masking, Masking::Over)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::response::Response;
    use bytes::Bytes;
    use futures_util::stream;
    use http::header;
    use http_body_util::BodyExt as _;
    use tollgate_core::secret_values;

    use super::mask_response;

    fn response(kind: &str, body: Body) -> Response {
        Response::builder().header(header::CONTENT_TYPE, kind).body(body).unwrap()
    }

    async fn text(response: Response) -> String {
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn s_23_answers_and_streams_leave_without_secret_values() {
        secret_values::configure(["canary-of-the-fronts"]);
        let whole = "{\"a\":\"canary-of-the-fronts\"}";
        let mut sized = response("application/json", Body::from(whole));
        sized.headers_mut().insert(header::CONTENT_LENGTH, whole.len().into());
        let sized = mask_response(sized).await;
        let length = sized.headers()[header::CONTENT_LENGTH].to_str().unwrap().to_owned();
        let sent = text(sized).await;
        assert_eq!(sent, "{\"a\":\"[masked:secret]\"}");
        assert_eq!(length, sent.len().to_string());
        let chunks = ["data: can", "ary-of-the-", "fronts\n\n", "data: cana"];
        let chunks = chunks.map(|chunk| Ok::<_, Infallible>(Bytes::from(chunk)));
        let stream = response("text/event-stream", Body::from_stream(stream::iter(chunks)));
        assert_eq!(text(mask_response(stream).await).await, "data: [masked:secret]\n\ndata: cana");
        let page = response("text/html", Body::from("canary-of-the-fronts"));
        assert_eq!(text(mask_response(page).await).await, "canary-of-the-fronts");
    }
}
