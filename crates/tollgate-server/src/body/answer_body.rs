//! Response body with the memory that is reserved for its answer. Released when the body was sent,
//! or its client is gone.
//!
//! What the connection takes from a body at once leaves this account, so large frames are passed on
//! in pieces: a client that does not read keeps the rest here.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tollgate_mcp::answer_budget::AnswerAccount;

/// Maximum size of a piece.
const PIECE: usize = 64 << 10;

struct AnswerBody {
    body: Body,
    /// The rest of a large frame.
    rest: Bytes,
    account: AnswerAccount,
}

/// The body is polled with the account, so that what it reads meanwhile is charged, too.
pub(crate) fn on_account(body: Body, account: AnswerAccount) -> Body {
    Body::new(AnswerBody { body, rest: Bytes::new(), account })
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        if this.rest.is_empty() {
            let body = Pin::new(&mut this.body);
            let polled = this.account.enter(|| body.poll_frame(context));
            let Poll::Ready(Some(Ok(frame))) = polled else { return polled };
            match frame.into_data() {
                Ok(data) => this.rest = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE));
        if this.rest.is_empty() {
            // Even an empty slice would keep the memory of the whole frame.
            this.rest = Bytes::new();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let later = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(later.lower().saturating_add(rest));
        if let Some(upper) = later.upper().and_then(|upper| upper.checked_add(rest)) {
            hint.set_upper(upper);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use bytes::Bytes;
    use http_body::Body as _;
    use http_body_util::BodyExt as _;
    use tollgate_mcp::answer_budget::AnswerAccount;

    use super::{PIECE, on_account};

    #[tokio::test]
    async fn p_21_a_large_frame_is_sent_in_pieces_and_keeps_its_size() {
        let whole: Vec<u8> = (0..PIECE * 5 / 2).map(|at| (at % 251) as u8).collect();
        let mut body = on_account(Body::from(whole.clone()), AnswerAccount::new(None));
        let mut read = Vec::new();
        let mut pieces = 0;
        while !body.is_end_stream() {
            let left = (whole.len() - read.len()) as u64;
            assert_eq!(body.size_hint().exact(), Some(left));
            let frame = body.frame().await.expect("a frame").expect("no error");
            read.extend_from_slice(&frame.into_data().expect("data"));
            pieces += 1;
        }
        assert_eq!((pieces, read == whole), (3, true));
    }

    #[tokio::test]
    async fn an_empty_body_stays_empty() {
        let body = on_account(Body::from(Bytes::new()), AnswerAccount::new(None));
        assert!(body.is_end_stream());
        assert_eq!(body.collect().await.expect("no error").to_bytes(), Bytes::new());
    }
}
