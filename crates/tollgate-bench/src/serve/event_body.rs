//! A response body of server-sent events, as a model streams them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// Between the first word of a stream and the others.
const STREAM_PAUSE: Duration = Duration::from_millis(1);

/// The first frame at once, the others after one pause, each after a pause, or never.
pub(crate) struct EventBody {
    frames: VecDeque<Bytes>,
    /// Nothing comes after the first frame, and the stream does not end.
    stalls: bool,
    /// Between two frames. `None`: only one pause, after the first frame.
    pace: Option<Duration>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl EventBody {
    pub(crate) fn new(frames: VecDeque<Bytes>, stalls: bool) -> Self {
        Self { frames, stalls, pace: None, pause: None }
    }

    pub(crate) fn paced(frames: VecDeque<Bytes>, pace: Duration) -> Self {
        Self { frames, stalls: false, pace: Some(pace), pause: None }
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let stalls = self.stalls;
        let Some(pause) = &mut self.pause else {
            self.pause = Some(Box::pin(sleep(self.pace.unwrap_or(STREAM_PAUSE))));
            return Poll::Ready(self.frames.pop_front().map(|frame| Ok(Frame::data(frame))));
        };
        if stalls {
            return Poll::Pending;
        }
        if !pause.is_elapsed() && pause.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        if let Some(pace) = self.pace {
            self.pause = Some(Box::pin(sleep(pace)));
        }
        Poll::Ready(self.frames.pop_front().map(|frame| Ok(Frame::data(frame))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
