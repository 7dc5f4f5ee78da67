//! Meters the token usage of a passed-through answer. Keeps its beginning and its end until it is
//! over, without a copy.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tollgate_engine::model_usage::{ModelReservation, ModelTokens};
use tollgate_llm::conversation::TokenUsage;
use tollgate_llm::provider::StreamInterruption;
use tollgate_llm::provider::usage::{HEAD_BYTES, TAIL_BYTES, scan_usage};
use tollgate_llm::usage::{AnswerTextMeter, model_tokens};

/// What an answer used.
#[derive(Debug, Default)]
pub(super) struct MeteredUsage {
    /// As its provider counted. `None`: it did not, or the answer was cut before.
    pub(super) counted: Option<TokenUsage>,
    /// Bytes of text that have passed.
    pub(super) text_bytes: usize,
    pub(super) is_complete: bool,
}

impl MeteredUsage {
    /// Some providers count the question at the beginning of a stream. If it is cut, that is no count
    /// of the answer.
    pub(super) fn tokens(&self, interruption: &StreamInterruption) -> ModelTokens {
        match &self.counted {
            None => ModelTokens::default(),
            Some(usage) if self.is_complete && !interruption.has_happened() => model_tokens(usage),
            Some(usage) => {
                let arrived = ModelReservation::estimate_output(self.text_bytes);
                let counted = model_tokens(usage);
                ModelTokens { output: counted.output.max(arrived), ..counted }
            }
        }
    }
}

pub(super) struct UsageMeteredBody<B, N: FnMut(&MeteredUsage)> {
    body: B,
    text: AnswerTextMeter,
    head: Vec<u8>,
    tail: VecDeque<Bytes>,
    held: usize,
    is_complete: bool,
    /// Called once, when the body ends or is dropped.
    note: N,
}

impl<B, N: FnMut(&MeteredUsage)> UsageMeteredBody<B, N> {
    pub(super) fn new(body: B, note: N) -> Self {
        Self {
            body,
            text: AnswerTextMeter::default(),
            head: Vec::new(),
            tail: VecDeque::new(),
            held: 0,
            is_complete: false,
            note,
        }
    }

    fn look(&mut self, data: &Bytes) {
        self.text.read(data);
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

impl<B: Body<Data = Bytes> + Unpin, N: FnMut(&MeteredUsage) + Unpin> Body
    for UsageMeteredBody<B, N>
{
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
        this.is_complete |= matches!(polled, Poll::Ready(None)) || this.body.is_end_stream();
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B, N: FnMut(&MeteredUsage)> Drop for UsageMeteredBody<B, N> {
    fn drop(&mut self) {
        let tail = self.tail.make_contiguous().concat();
        let from = tail.len().saturating_sub(TAIL_BYTES);
        let counted = scan_usage(&self.head, &tail[from..]);
        let Self { is_complete, .. } = *self;
        (self.note)(&MeteredUsage { counted, text_bytes: self.text.bytes(), is_complete });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use bytes::Bytes;
    use futures_util::{FutureExt as _, stream};
    use http_body_util::{BodyExt as _, StreamBody};

    use super::{Frame, MeteredUsage, TAIL_BYTES, UsageMeteredBody};

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
        let metered = UsageMeteredBody::new(body, |metered: &MeteredUsage| {
            let counted = metered.counted.as_ref().unwrap();
            noted.borrow_mut().push((counted.input, counted.output, metered.text_bytes));
        });
        let read = metered.collect().now_or_never().unwrap().unwrap().to_bytes();
        assert_eq!(read, parts.concat());
        assert_eq!(*noted.borrow(), [(4, 9, TAIL_BYTES * 2)]);
    }
}
