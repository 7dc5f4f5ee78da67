//! Where spans wait to be sent. The only part that calls touch: it never blocks and takes no lock.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tollgate_core::trace::{Context, Sampling, TraceId};
use tollgate_engine::spans::{Ended, Follower};

use super::sampler::Sampler;
use super::settings::Settings;

pub(super) struct Queue {
    spans: mpsc::Sender<Ended>,
    lost: AtomicU64,
    closing: CancellationToken,
    sampler: Sampler,
    wanted: Wanted,
}

/// What is made of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Traces,
    Metrics,
    Both,
}

impl Queue {
    pub(super) fn new(settings: &Settings) -> (Self, mpsc::Receiver<Ended>) {
        let (spans, heard) = mpsc::channel(settings.queue);
        let wanted = match (&settings.traces, &settings.metrics) {
            (Some(_), None) => Wanted::Traces,
            (None, _) => Wanted::Metrics,
            (Some(_), Some(_)) => Wanted::Both,
        };
        let (lost, closing) = (AtomicU64::new(0), CancellationToken::new());
        (Self { spans, lost, closing, sampler: settings.sampler, wanted }, heard)
    }

    /// Nothing more will come.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    pub(super) async fn closed(&self) {
        self.closing.cancelled().await;
    }

    pub(super) fn lose(&self, spans: usize) {
        self.lost.fetch_add(spans as u64, Ordering::Relaxed);
    }

    /// Spans that nobody heard of, since the beginning.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Follower for Queue {
    fn samples(&self, parent: Option<&Context>, trace: TraceId) -> Sampling {
        match self.wanted {
            Wanted::Metrics => Sampling::Dropped,
            Wanted::Traces | Wanted::Both => self.sampler.samples(parent, trace),
        }
    }

    fn heeds(&self, sampling: Sampling) -> bool {
        sampling == Sampling::Kept || self.wanted != Wanted::Traces
    }

    fn tells(&self) -> bool {
        self.wanted != Wanted::Metrics
    }

    fn ended(&self, span: Ended) {
        if self.spans.try_send(span).is_err() {
            self.lose(1);
        }
    }
}
