//! Meters the token usage of a passed-through answer. Keeps its beginning and its end until it is
//! over, without a copy.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tollgate_llm::conversation::TokenUsage;
use tollgate_llm::provider::usage::{HEAD_BYTES, TAIL_BYTES, scan_usage};

pub(super) struct UsageMeteredBody<B, N: FnMut(&TokenUsage)> {
    body: B,
    head: Vec<u8>,
    tail: VecDeque<Bytes>,
    held: usize,
    /// Called once, when the body ends or is dropped.
    note: N,
}

impl<B, N: FnMut(&TokenUsage)> UsageMeteredBody<B, N> {
    pub(super) fn new(body: B, note: N) -> Self {
        Self { body, head: Vec::new(), tail: VecDeque::new(), held: 0, note }
    }

    fn look(&mut self, data: &Bytes) {
        let room = HEAD_BYTES.saturating_sub(self.head.len()).min(data.len());
        self.head.extend_from_slice(&data[..room]);
        self.held += data.len();
        self.tail.push_back(data.clone());
        while let Some(first) = self.tail.front()
            && self.held - first.len() >= TAIL_BYTES
        {
            self.held -= first.len();
            self.tail.pop_front();
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin, N: FnMut(&TokenUsage) + Unpin> Body for UsageMeteredBody<B, N> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            this.look(data);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B, N: FnMut(&TokenUsage)> Drop for UsageMeteredBody<B, N> {
    fn drop(&mut self) {
        let tail = self.tail.make_contiguous().concat();
        let from = tail.len().saturating_sub(TAIL_BYTES);
        if let Some(usage) = scan_usage(&self.head, &tail[from..]) {
            (self.note)(&usage);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use bytes::Bytes;
    use futures_util::{FutureExt as _, stream};
    use http_body_util::{BodyExt as _, StreamBody};

    use super::{Frame, TAIL_BYTES, UsageMeteredBody};

    #[test]
    fn an_answer_passes_whole_and_its_cost_is_noted_once() {
        let noted = RefCell::new(Vec::new());
        let long = "x".repeat(TAIL_BYTES * 2);
        let parts = [
            "{\"text\":\"",
            &long,
            "\",\"usage\":{\"prompt_tokens\":4,",
            "\"completion_tokens\":9}}",
        ];
        let frames = parts.map(|part| {
            Ok::<_, std::io::Error>(Frame::data(Bytes::copy_from_slice(part.as_bytes())))
        });
        let body = StreamBody::new(stream::iter(frames));
        let metered =
            UsageMeteredBody::new(body, |usage: &tollgate_llm::conversation::TokenUsage| {
                noted.borrow_mut().push((usage.input, usage.output));
            });
        let read = metered.collect().now_or_never().unwrap().unwrap().to_bytes();
        assert_eq!(read, parts.concat());
        assert_eq!(*noted.borrow(), [(4, 9)]);
    }
}
