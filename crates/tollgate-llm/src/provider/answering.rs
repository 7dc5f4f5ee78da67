//! An answer that is being given, step by step.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::time::timeout;
use tollgate_engine::spans::Span;
use tollgate_mcp::web::body::EventStream;

use super::ask_error::AskError;
use super::label::Label;
use super::question;
use super::remote::Remote;
use super::slots::Slot;
use super::verdict;
use crate::delta::Delta;
use crate::failure::Failure;
use crate::format::{Broken, Malformed, StreamReader};

/// Dropping it tells the provider to stop: its connection is closed.
pub struct Answering {
    ready: VecDeque<Delta>,
    source: Option<Box<Streaming>>,
    span: Span,
}

/// Where the rest comes from.
pub(super) struct Streaming {
    pub(super) events: EventStream,
    pub(super) reader: Box<dyn StreamReader>,
    pub(super) label: Arc<Label>,
    pub(super) remote: Arc<Remote>,
    /// Held until the stream is dropped.
    pub(super) _slot: Slot,
}

impl Answering {
    /// Of steps that are all there.
    pub(super) fn spoken(steps: Vec<Delta>) -> Self {
        Self { ready: steps.into(), source: None, span: Span::default() }
    }

    pub(super) fn streaming(streaming: Streaming) -> Self {
        let source = Some(Box::new(streaming));
        Self { ready: VecDeque::new(), source, span: Span::default() }
    }

    /// The same, of which this span tells. Something was said by now.
    pub(super) fn told_by(mut self, mut span: Span) -> Self {
        let first = span.lasted();
        span.tell(|said| {
            said.set_some("gen_ai.response.time_to_first_chunk", first);
            for delta in &self.ready {
                if let Delta::Start { id, model, .. } = delta {
                    question::named(said, (id, model));
                }
            }
        });
        self.span = span;
        self
    }

    /// The next step; behind a failure and behind [`Delta::End`] there is none. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Delta, Failure>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                if let Delta::End { stop, usage, .. } = &delta {
                    self.span.tell(|said| question::ended(said, stop, usage));
                    self.span.done();
                    drop(std::mem::take(&mut self.span));
                    self.finish();
                }
                return Some(Ok(delta));
            }
            let streaming = self.source.as_mut()?;
            let limit = streaming.remote.settings.patience.silence;
            let read = match timeout(limit, streaming.read()).await {
                Ok(read) => read,
                Err(_) => Err(verdict::stalled(&streaming.label, limit)),
            };
            match read {
                Ok(deltas) => self.ready.extend(deltas),
                Err(error) => {
                    self.source = None;
                    question::failed(&mut self.span, &error.failure);
                    drop(std::mem::take(&mut self.span));
                    return Some(Err(error.failure));
                }
            }
        }
    }

    /// Waits until something was said: that it begins says nothing.
    pub(super) async fn begin(&mut self) -> Result<(), AskError> {
        while self.ready.iter().all(|delta| matches!(delta, Delta::Start { .. })) {
            let Some(streaming) = self.source.as_mut() else { return Ok(()) };
            self.ready.extend(streaming.read().await?);
        }
        Ok(())
    }

    /// Nothing more is expected. Lets the stream end by itself, so that its connection is reused.
    fn finish(&mut self) {
        self.ready.clear();
        if let Some(streaming) = self.source.take() {
            let Streaming { events, remote, .. } = *streaming;
            events.finish(remote.drains());
        }
    }
}

impl Streaming {
    /// What the next event says; it may be nothing. Cancel-safe.
    async fn read(&mut self) -> Result<Vec<Delta>, AskError> {
        let read = match self.events.next().await {
            Some(Ok(event)) => self.reader.read(event.name.as_deref(), &event.data),
            Some(Err(fault)) => Err(Broken::Malformed(Malformed(fault.to_string()))),
            None => self.ended(),
        };
        read.map_err(|broken| verdict::broken(&self.label, &broken, self.events.broken()))
    }

    /// The stream is over; whether it was whole is the reader's to say.
    fn ended(&mut self) -> Result<Vec<Delta>, Broken> {
        let last = self.reader.end()?;
        match last.iter().any(|delta| matches!(delta, Delta::End { .. })) {
            true => Ok(last),
            false => Err(Broken::Short),
        }
    }
}
