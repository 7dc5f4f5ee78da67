//! The body of an answer that is handed on: frame by frame as the provider sends them, no copies.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};
use tollgate_core::text::Span;
use tollgate_engine::spans as told;

use crate::provider::slots::Slot;

/// Dropping it closes the provider's connection, unless all of it was read.
pub struct PassedBody {
    source: Source,
    /// Ends with it.
    _told: told::Span,
}

enum Source {
    Whole(Bytes),
    Through(Box<Through>),
}

struct Through {
    body: Incoming,
    silence: Duration,
    /// Runs while nothing comes.
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether anything came since the timer was set.
    heard: bool,
    _slot: Slot,
}

/// Why the rest of an answer does not come.
#[derive(Debug, thiserror::Error)]
pub enum PassedError {
    #[error("the provider's answer broke off: {0}")]
    Broken(#[from] hyper::Error),
    #[error("the provider said nothing more for {}", Span(*.0))]
    Silent(Duration),
}

impl PassedBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self { source: Source::Whole(bytes), _told: told::Span::default() }
    }

    pub(super) fn through(body: Incoming, (slot, silence): (Slot, Duration)) -> Self {
        let through = Through { body, silence, timer: None, heard: false, _slot: slot };
        Self { source: Source::Through(Box::new(through)), _told: told::Span::default() }
    }

    /// The same, of which this span tells.
    pub(in crate::provider) fn told_by(self, span: told::Span) -> Self {
        Self { _told: span, ..self }
    }
}

impl Body for PassedBody {
    type Data = Bytes;
    type Error = PassedError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PassedError>>> {
        match &mut self.source {
            Source::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Source::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Source::Through(through) => through.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Whole(bytes) => bytes.is_empty(),
            Source::Through(through) => through.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Source::Through(through) => through.body.size_hint(),
        }
    }
}

impl Through {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PassedError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.heard = true;
            return Poll::Ready(frame.map(|frame| frame.map_err(PassedError::from)));
        }
        // The timer is not set anew for each frame, which would cost more than the frame: it is
        // looked at when it has run out. So silence may last up to twice as long.
        let heard = &mut self.heard;
        let timer = self.timer.get_or_insert_with(|| {
            *heard = false;
            Box::pin(sleep(self.silence))
        });
        while timer.as_mut().poll(context).is_ready() {
            if !std::mem::take(heard) {
                return Poll::Ready(Some(Err(PassedError::Silent(self.silence))));
            }
            let next = timer.deadline() + self.silence;
            timer.as_mut().reset(next);
        }
        Poll::Pending
    }
}
