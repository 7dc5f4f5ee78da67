//! Bounded queue of spans to export. Instead of back-pressure it drops and counts: calls never
//! block and take no lock.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tollgate_core::trace::{Sampling, SpanContext, TraceId};
use tollgate_engine::spans::{FinishedSpan, SpanProcessor};

use super::sampler::Sampler;
use super::settings::OtlpSettings;

pub(super) struct SpanQueue {
    spans: mpsc::Sender<FinishedSpan>,
    lost: AtomicU64,
    closing: CancellationToken,
    sampler: Sampler,
    signals: ExportedSignals,
}

/// Signals derived from spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExportedSignals {
    Traces,
    Metrics,
    Both,
}

impl SpanQueue {
    pub(super) fn new(settings: &OtlpSettings) -> (Self, mpsc::Receiver<FinishedSpan>) {
        let (spans, receiver) = mpsc::channel(settings.queue);
        let signals = match (&settings.traces, &settings.metrics) {
            (Some(_), None) => ExportedSignals::Traces,
            (None, _) => ExportedSignals::Metrics,
            (Some(_), Some(_)) => ExportedSignals::Both,
        };
        let lost = AtomicU64::new(0);
        let closing = CancellationToken::new();
        (Self { spans, lost, closing, sampler: settings.sampler, signals }, receiver)
    }

    /// No more spans will come.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    pub(super) async fn wait_closed(&self) {
        self.closing.cancelled().await;
    }

    pub(super) fn lose(&self, spans: usize) {
        self.lost.fetch_add(spans as u64, Ordering::Relaxed);
    }

    /// Spans dropped since the start.
    pub(super) fn lost_spans(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl SpanProcessor for SpanQueue {
    fn samples(&self, parent: Option<&SpanContext>, trace: TraceId) -> Sampling {
        match self.signals {
            ExportedSignals::Metrics => Sampling::Dropped,
            ExportedSignals::Traces | ExportedSignals::Both => self.sampler.samples(parent, trace),
        }
    }

    fn heeds(&self, sampling: Sampling) -> bool {
        sampling == Sampling::Sampled || self.signals != ExportedSignals::Traces
    }

    fn tells(&self) -> bool {
        self.signals != ExportedSignals::Metrics
    }

    fn on_end(&self, span: FinishedSpan) {
        if self.spans.try_send(span).is_err() {
            self.lose(1);
        }
    }
}
